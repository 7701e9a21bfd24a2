"""Released sets: made from any stressed folder, the same text again, and refused on any other content."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from dstress.cli.main import cli
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.errors import CorpusError, DstressError, SpecError
from dstress.pipeline.manifest import choose_variants
from dstress.pipeline.stress import stress
from dstress.runs.suites import load as load_suite
from dstress.stressors import create
from dstress.stressors.released.sets import names, path_of, read_set
from tests.stressors.samples import in_memory


def reminder() -> Corpus:
    corpus = load("reminder:test", limit=6)
    return in_memory(list(corpus), corpus.schema, "reminder")


def invoke(*arguments: str) -> str:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False).stdout


@pytest.fixture(scope="module", params=["typos", "time_format"])
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of an invariant stressor, and one whose labels change."""
    folder = tmp_path_factory.mktemp("released")
    invoke("stress", "reminder:test", "--limit", "6", "--with", str(request.param), "--out", str(folder / "stressed"))
    path = folder / f"{request.param}-1.json.gz"
    invoke("release", str(folder / "stressed"), "--out", str(path), "--about", "a test", "--reading", "nobody yet")
    return path


def test_the_same_words_and_labels_again(released: Path) -> None:
    made_of = read_set(released).stressor
    corpus = reminder()
    again, first = stress(corpus, f'released("{released}")', seed=9), stress(corpus, made_of)
    assert [[(turn.user, turn.state) for turn in dialogue.turns] for dialogue in again] == [
        [(turn.user, turn.state) for turn in dialogue.turns] for dialogue in first
    ]
    assert again.stressor.effect == first.stressor.effect and again.stressor.parts[0].files() == (released,)


def test_a_set_has_nothing_of_the_corpus(released: Path) -> None:
    text = gzip.decompress(released.read_bytes()).decode()
    said = json.loads(text)["turns"]
    for dialogue in reminder():
        for number, turn in enumerate(dialogue.turns):
            assert not turn.system or turn.system not in text
            new = said.get(dialogue.id, {}).get(str(number))
            assert new is None or new[0] != turn.user


def test_another_content_is_refused(released: Path) -> None:
    corpus = reminder()
    first = next(dialogue for dialogue in corpus if dialogue.id in read_set(released).turns)
    turns = (msgspec.structs.replace(first.turns[0], user="Hm."), *first.turns[1:])
    others = [msgspec.structs.replace(first, turns=turns), *(each for each in corpus if each.id != first.id)]
    with pytest.raises(CorpusError, match="other words or labels here"):
        stress(in_memory(others, corpus.schema), f'released("{released}")')
    with pytest.raises(CorpusError, match=r"not for this corpus: .* are not there\n.*reminder:test"):
        stress("reminder:dev", f'released("{released}")')
    with pytest.raises(CorpusError, match="other words or labels here"):
        stress(corpus, f'entities+released("{released}")')


def test_a_suite_takes_the_set_on_the_corpus_that_it_is_for(released: Path, tmp_path: Path) -> None:
    name = read_set(released).stressor
    suite = tmp_path / "suite.toml"
    suite.write_text(
        f"""title = "Mine"
stressors = ["{name}", "disfluency"]
table = [{{ column = "stressed", variant = "{name}", metric = "jga" }}]
released = {{ "{name}" = ["{released}"] }}
"""
    )
    chosen, made = choose_variants(load_suite(str(suite)), load("reminder:test"), only=(name,))
    spec = create(f'released("{released}")').spec
    assert chosen.variants == ("original", spec) and list(made) == [spec]
    assert [column.variant for column in chosen.table] == [spec]
    elsewhere, _ = choose_variants(load_suite(str(suite)), load("reminder:dev"))
    assert elsewhere.variants == ("original", name, "disfluency")


@pytest.mark.parametrize(("suite", "stressors"), [("coco", 7), ("checkdst", 1)])
def test_papers_suites_take_the_sets_that_are_built_in(suite: str, stressors: int) -> None:
    sets = [name for sets in load_suite(suite).released.values() for name in sets]
    assert len(load_suite(suite).released) == stressors and set(sets) <= set(names())


def test_noise_may_follow(released: Path) -> None:
    corpus = reminder()
    alone = [turn.user for dialogue in stress(corpus, f'released("{released}")') for turn in dialogue.turns]
    noisy = [turn.user for dialogue in stress(corpus, f'released("{released}")+disfluency') for turn in dialogue.turns]
    assert alone != noisy


def test_what_cannot_work_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="dstress list released"):
        stress(reminder(), "released")
    with pytest.raises(DstressError, match="dstress list released"):
        create("released(mwz21-nothing-1)")
    (tmp_path / "broken.json.gz").write_bytes(gzip.compress(b"{}"))
    with pytest.raises(DstressError, match="this is no released set"):
        create(f'released("{tmp_path / "broken.json.gz"}")')
    schema_variants = tmp_path / "stressed"
    invoke("stress", "reminder:test", "--limit", "2", "--with", "entities", "--out", str(schema_variants))
    result = CliRunner().invoke(
        cli, ["release", str(schema_variants), "--with", "entities", "--out", str(tmp_path / "x.json.gz")]
    )
    assert isinstance(result.exception, DstressError) and "changes more than single user turns" in str(result.exception)


def test_built_in_sets_are_whole_and_small() -> None:
    listed = json.loads(invoke("list", "released", "--json"))
    assert sorted(listed) == names()
    assert sum(path_of(name).stat().st_size for name in names()) < 3_000_000
    for name in names():
        released = read_set(path_of(name))
        assert released.name == name and released.size == listed[name]["turns"] > 0
        assert all((released.about, released.recipe, released.licence, released.reading, released.signature))
