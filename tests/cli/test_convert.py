"""`dstress convert` as a person meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress import corpora
from dstress.cli.main import cli, main
from dstress.errors import PredictionError, UnknownNameError
from dstress.pipeline.convert import convert
from dstress.predictions import Prediction, detect, read_predictions, write_predictions
from dstress.storage.sources import open_source
from tests.fakes.predictions import perfect
from tests.predictions.examples import EXAMPLES

WRITTEN = ("dstress", "trade", "sgd", "checkdst", "mwzeval", "csv")


def run(*arguments: str) -> str:
    answer = CliRunner().invoke(cli, ["convert", *arguments], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_format_becomes_our_own(tmp_path: Path, name: str) -> None:
    source, out = EXAMPLES[name].written(tmp_path), tmp_path / "out.jsonl"
    said = run(str(source), "--out", str(out))
    read = list(read_predictions(source))
    assert f"{len(read)} turns written to" in said
    assert list(read_predictions(out)) == read


@pytest.mark.parametrize("to", WRITTEN)
def test_every_written_format_holds_the_states(tmp_path: Path, to: str) -> None:
    out = tmp_path / "dialogues_001.json"
    convert(EXAMPLES["gca"].written(tmp_path), out, to)
    with open_source(out) as source:
        assert detect(source).name == to
    assert [p.state for p in read_predictions(out)] == [{"hotel-book day": "sunday"}]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Right answers of the embedded corpus in a table: no gold, and ids in capitals."""
    corpora.ensure_embedded()
    rows = [Prediction(p.dialogue.upper(), p.turn, p.state) for p in perfect(corpora.load("reminder:dev"))]
    write_predictions(rows, tmp_path / "bare.csv", "csv")
    return tmp_path / "bare.csv"


def test_gold_is_added_and_ids_are_those_of_the_corpus(tmp_path: Path, bare: Path) -> None:
    run(str(bare), "--gold", "reminder:dev", "--to", "trade", "--out", str(tmp_path / "out.json"))
    corpus = corpora.load("reminder:dev")
    answers = list(read_predictions(tmp_path / "out.json", schema=corpus.schema))
    assert [a.dialogue for a in answers] == [dialogue.id for dialogue in corpus for _ in dialogue.turns]
    assert all({slot: (value,) for slot, value in a.state.items()} == a.gold for a in answers)


def test_gold_brings_the_words(tmp_path: Path, bare: Path) -> None:
    convert(bare, tmp_path / "out.jsonl", gold="reminder:dev")
    said = [turn.user for dialogue in corpora.load("reminder:dev") for turn in dialogue.turns]
    assert [p.utterance for p in read_predictions(tmp_path / "out.jsonl")] == said


def test_what_does_not_fit_the_gold_leaves_no_file(tmp_path: Path, bare: Path) -> None:
    write_predictions(list(read_predictions(bare))[:-1], tmp_path / "short.jsonl")
    with pytest.raises(PredictionError, match="1 missing turns") as caught:
        convert(tmp_path / "short.jsonl", tmp_path / "out.json", "trade", "reminder:dev")
    assert "short.jsonl" in str(caught.value) and "without --gold" in str(caught.value)
    assert not (tmp_path / "out.json").exists()


def test_a_file_that_is_there_stays_as_it_was_where_writing_fails(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.json"
    write_predictions([Prediction("d", 0, {"hotel-name": "a, b"})], source)
    out.write_text("before")
    with pytest.raises(PredictionError, match="commas part beliefs"):
        convert(source, out, "checkdst")
    assert out.read_text() == "before" and {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "out.json"}


def test_an_unknown_format_is_told_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'trade'"):
        convert(tmp_path / "missing.json", tmp_path / "out.json", "trad")


def test_a_format_that_is_only_read_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = EXAMPLES["gca"].written(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["convert", str(source), "--to", "gca", "--out", str(tmp_path / "out")])
    assert stop.value.code == 2 and "'gca' can be read but not written" in capsys.readouterr().err
