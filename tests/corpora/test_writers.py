"""What is written in a layout is read back as the dialogues and states that it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from dstress import corpora
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, State
from dstress.errors import CorpusError
from dstress.pipeline.stress import write_corpus
from tests.corpora import layouts

Told = list[tuple[str, list[tuple[str, str, State]]]]


def told(corpus: Iterable[Dialogue]) -> Told:
    return [(one.id, [(turn.system, turn.user, turn.state) for turn in one.turns]) for one in corpus]


def again(corpus: Corpus, layout: str, folder: Path) -> Corpus:
    write_corpus(corpus, folder, layout)
    read = corpora.load(f"{folder}:{corpus.split}")
    assert read.split == corpus.split
    return read


@pytest.mark.parametrize("layout", ["dstress", "sgd", "unified"])
def test_any_corpus(layout: str, tmp_path: Path) -> None:
    corpus = corpora.load("reminder:test")
    read = again(corpus, layout, tmp_path / "written")
    assert told(read) == told(corpus) and list(read.schema.slots) == list(corpus.schema.slots)


@pytest.mark.parametrize("layout", ["trade", "multiwoz", "unified", "sgd"])
@pytest.mark.parametrize("source", [layouts.trade, layouts.multiwoz_single, layouts.multiwoz23])
def test_multiwoz(layout: str, source: Callable[[Path], Path], tmp_path: Path) -> None:
    corpus = corpora.load(f"{source(tmp_path / 'multiwoz21')}:test")
    expected = told(corpus)
    if layout == "trade":  # which has one form of a value
        for _, turns in expected:
            turns[:] = [(system, user, {slot: forms[:1] for slot, forms in s.items()}) for system, user, s in turns]
    assert told(again(corpus, layout, tmp_path / "written")) == expected


@pytest.mark.parametrize(
    ("layout", "source"), [("sgd", layouts.sgd), ("multiwoz", layouts.multiwoz23), ("trade", layouts.trade)]
)
def test_a_layout_keeps_all_of_its_own(layout: str, source: Callable[[Path], Path], tmp_path: Path) -> None:
    """Acts, spans, intents, coreferences and goals too."""
    corpus = corpora.load(f"{source(tmp_path / 'it')}:test")
    assert list(again(corpus, layout, tmp_path / "written")) == list(corpus)


def test_a_written_split_can_be_imported(tmp_path: Path) -> None:
    corpus = corpora.load(f"{layouts.multiwoz_single(tmp_path / 'it')}:dev")
    write_corpus(corpus, tmp_path / "written", "multiwoz")
    (entry,) = corpora.add("again", tmp_path / "written")
    assert list(entry.splits) == ["dev"]


@pytest.mark.parametrize("layout", ["trade", "multiwoz", "unified"])
def test_no_dialogues_at_all_are_json_too(layout: str, tmp_path: Path) -> None:
    nothing = corpora.load(f"{layouts.trade(tmp_path / 'it')}:dev")[:0]
    corpora.importers.create(layout).write(nothing, tmp_path / "written")
    for file in (tmp_path / "written").glob("*.json"):
        json.loads(file.read_text())


@pytest.mark.parametrize("layout", ["trade", "multiwoz"])
def test_multiwoz_layouts_take_no_other_slots(layout: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"MultiWOZ's slots only.*\n.*sgd or unified"):
        write_corpus(corpora.load("reminder:test"), tmp_path / "written", layout)
    assert not (tmp_path / "written").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "layout"), [("multiwoz21-trade/test_dials.json.zip", "trade"), ("sgd/test.tar.xz", "sgd")]
)
def test_real_corpora(source: str, layout: str, tmp_path: Path, shared: Path) -> None:
    corpora.add("real", shared / "data" / source)
    corpus = corpora.load("real:test")
    assert list(again(corpus, layout, tmp_path / "written")) == list(corpus)


@pytest.mark.slow
def test_real_multiwoz(tmp_path: Path, shared: Path) -> None:
    corpora.add("multiwoz21", shared / "data/multiwoz21-raw/test.json.zip")
    corpus = corpora.load("multiwoz21:test")
    for layout in ("multiwoz", "unified", "sgd"):
        assert told(again(corpus, layout, tmp_path / layout)) == told(corpus)
