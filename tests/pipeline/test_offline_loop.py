"""Trackers that only read files: stress into their layout, let them answer, bring the answers back as `saved(DIR)`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import pytest

from dstress import corpora
from dstress.cli.main import main
from dstress.errors import DstressError, PredictionError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.gate import gate
from dstress.pipeline.run import Run
from dstress.runs.suites import load as load_suite
from dstress.storage.file_names import file_name
from dstress.trackers.base import Answer, Context, Tracker
from tests.corpora.layouts import write_json

SUITE = """
title = "Loop"
metrics = ["jga"]
stressors = ["typos(rate=0.5)", "entities", "entities+typos(rate=0.5)"]
"""


def spot(said: Sequence[str]) -> dict[str, str]:
    """The whole tracker: what it says depends on every word so far."""
    return {"hotel-name": str(crc32(" ".join(said).encode()))}


class Spotter(Tracker):
    """The tracker, asked turn by turn."""

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        return [spot([*(part for one in c.history for part in one), c.system, c.user]) for c in contexts]


def answer_file(file: Path, answers: Path) -> None:
    """The same tracker as a program around TRADE's files: whole dialogues in, `pred_bs_ptr` out."""
    written: dict[str, dict[str, object]] = {}
    for dialogue in json.loads(file.read_text()):
        said: list[str] = []
        for turn in dialogue["dialogue"]:
            said += [turn["system_transcript"], turn["transcript"]]
            beliefs = [f"{slot}-{value}" for slot, value in spot(said).items()]
            gold = [f"{slot}-{value}" for belief in turn["belief_state"] for slot, value in belief["slots"]]
            answer = {"turn_belief": gold, "pred_bs_ptr": beliefs}
            written.setdefault(dialogue["dialogue_idx"], {})[str(turn["turn_idx"])] = answer
    answers.parent.mkdir(parents=True, exist_ok=True)
    answers.write_text(json.dumps(written))


@pytest.fixture
def suite(tmp_path: Path) -> str:
    path = tmp_path / "loop.toml"
    path.write_text(SUITE)
    return str(path)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    said = ["i am looking for the acorn guest house", "it should have parking", "book it for 2 people please"]
    told = ["", "what would you like to know about the acorn guest house ?", "it has parking . shall i book it ?"]
    labels = {"hotel-name": "acorn guest house", "hotel-parking": "yes", "hotel-book people": "2"}
    turns = [
        {"transcript": user, "system_transcript": system, "domain": "hotel", "turn_idx": index}
        | {"belief_state": [{"slots": [pair]} for pair in list(labels.items())[: index + 1]]}
        for index, (user, system) in enumerate(zip(said, told, strict=True))
    ]
    dialogues = [{"dialogue_idx": "test.json", "domains": ["hotel"], "dialogue": turns}]
    corpora.add("mwz", write_json(tmp_path / "source" / "test_dials.json", dialogues))
    return "mwz:test"


def states(run: Run) -> dict[str, list[tuple[str, int, dict[str, str], str]]]:
    return {
        name: [(a.dialogue, a.turn, a.state, a.failed) for a in run.variant(name).journal()] for name in run.variants
    }


def stressed(corpus: str, suite: str, out: Path, layout: str = "trade", seed: int = 1) -> None:
    specs = ",".join(load_suite(suite).stressors)
    with pytest.raises(SystemExit) as left:
        main(["stress", corpus, "--with", specs, "--layout", layout, "--seed", str(seed), "--out", str(out)])
    assert left.value.code == 0


def answer_folder(folder: Path, answers: Path) -> str:
    for variant in folder.iterdir():
        answer_file(variant / "test_dials.json", answers / f"{variant.name}.json")
    return f"saved({answers})"


@pytest.mark.slow
def test_the_loop_gives_what_the_tracker_itself_gives(suite: str, corpus: str, tmp_path: Path) -> None:
    stressed(corpus, suite, tmp_path / "stressed")
    tracker = answer_folder(tmp_path / "stressed", tmp_path / "answers")
    live = evaluate(suite, Spotter(), corpus, tmp_path / "live")
    offline = evaluate(suite, tracker, corpus, tmp_path / "offline")
    assert states(offline) == states(live) and not offline.scores.failed
    assert len({a.state["hotel-name"] for name in live.variants for a in live.variant(name).journal()}) > 9
    assert offline.scores.variants == live.scores.variants and gate(offline, live).passed


def test_what_is_written_is_what_is_tracked(suite: str, corpus: str, tmp_path: Path) -> None:
    """Each stressed turn ends a dialogue with its label, on the words that a live tracker sees before it."""
    stressed(corpus, suite, tmp_path / "stressed")
    live = evaluate(suite, Spotter(), corpus, tmp_path / "live")
    written = corpora.load(str(tmp_path / "stressed" / file_name("typos(rate=0.5)")))
    typos = {one.id.rpartition(".")[0]: one for one in written}
    (dialogue,) = live.variant("typos(rate=0.5)").dialogues()
    changed = [number for number, turn in enumerate(dialogue.turns) if turn.changed]
    assert set(typos) == {f"test.turn{number}" for number in changed} and changed
    for number in changed:
        *before, last = typos[f"test.turn{number}"].turns
        assert (last.user, last.state) == (dialogue.turns[number].user, dialogue.turns[number].state)
        assert [turn.user for turn in before] == [turn.original.user for turn in dialogue.turns[:number]]
    (whole,) = [one for one in corpora.load(str(tmp_path / "stressed" / "entities")) if one.id.count(".") == 1]
    assert [(t.user, t.state) for t in whole.turns] == [
        (t.user, t.state) for d in live.variant("entities").dialogues() for t in d.turns
    ]


def test_one_file_says_nothing_about_stressed_words(suite: str, corpus: str, tmp_path: Path) -> None:
    stressed(corpus, suite, tmp_path / "stressed")
    answer_file(tmp_path / "stressed" / "original" / "test_dials.json", tmp_path / "answers" / "original.json")
    with pytest.raises(PredictionError, match=r"single prediction file says nothing(.|\n)*fix: .*--layout"):
        evaluate(suite, f"saved({tmp_path}/answers/original.json)", corpus, tmp_path / "run")
    with pytest.raises(PredictionError, match=r"no answers to typos(.|\n)*add typos-rate-0.5-[0-9a-f]+.json"):
        evaluate(suite, f"saved({tmp_path}/answers)", corpus, tmp_path / "run")
    (tmp_path / "answers" / "original.jsonl").write_text("")
    with pytest.raises(PredictionError, match="two files for original"):
        evaluate(suite, f"saved({tmp_path}/answers)", corpus, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    plain = tmp_path / "plain.toml"
    plain.write_text('title = "Plain"\nmetrics = ["jga"]\n')
    evaluate(str(plain), f"saved({tmp_path}/answers/original.json)", corpus, tmp_path / "run")


@pytest.mark.slow
def test_a_runs_own_answers_come_back(suite: str, corpus: str, tmp_path: Path) -> None:
    live = evaluate(suite, Spotter(), corpus, tmp_path / "live")
    again = evaluate(suite, f"saved({tmp_path}/live/predictions)", corpus, tmp_path / "again")
    assert states(again) == states(live)


ONE = 'title = "One"\nmetrics = ["jga"]\nstressors = ["typos(rate=0.5)"]\n'
OTHER = "answers are to other text"


@pytest.fixture
def one(tmp_path: Path) -> str:
    path = tmp_path / "one.toml"
    path.write_text(ONE)
    return str(path)


def test_answers_to_the_text_of_another_seed_are_refused(one: str, corpus: str, tmp_path: Path) -> None:
    """Their ids end with the text's fingerprint, in whatever folder they are."""
    stressed(corpus, one, tmp_path / "stressed")
    tracker = answer_folder(tmp_path / "stressed", tmp_path / "elsewhere" / "answers")
    with pytest.raises(PredictionError, match=OTHER):
        evaluate(one, tracker, corpus, tmp_path / "run", seed=2)
    assert not (tmp_path / "run").exists()
    assert not evaluate(one, tracker, corpus, tmp_path / "run").scores.failed


def test_answers_without_fingerprints_need_the_text_that_they_are_to(one: str, corpus: str, tmp_path: Path) -> None:
    live = evaluate(one, Spotter(), corpus, tmp_path / "live")
    answers = shutil.copytree(tmp_path / "live" / "predictions", tmp_path / "elsewhere" / "answers")
    with pytest.raises(PredictionError, match="nothing says which text"):
        evaluate(one, f"saved({answers})", corpus, tmp_path / "run")
    for seed in (1, 2):
        stressed(corpus, one, tmp_path / f"stressed{seed}", "dstress", seed)
    with pytest.raises(PredictionError, match=OTHER):
        evaluate(one, f"saved({answers}, stressed={tmp_path}/stressed2)", corpus, tmp_path / "run")
    again = evaluate(one, f"saved({answers}, stressed={tmp_path}/stressed1)", corpus, tmp_path / "run")
    assert states(again) == states(live)
    with pytest.raises(PredictionError, match=OTHER):  # a run's answers are to its own text
        evaluate(one, f"saved({tmp_path}/live/predictions)", corpus, tmp_path / "other", seed=2)


def test_a_file_with_gaps_is_refused_unless_allowed_and_never_tested(one: str, corpus: str, tmp_path: Path) -> None:
    live = evaluate(one, Spotter(), corpus, tmp_path / "live")
    file = live.variant("typos(rate=0.5)").predictions_path()
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:1]))
    answers = f"saved({tmp_path}/live/predictions"
    with pytest.raises(
        PredictionError, match=r"2 of 3 turns have no answer in the file, the first is \S+ test, turn 1"
    ):
        evaluate(one, f"{answers})", corpus, tmp_path / "run")
    run = evaluate(one, f"{answers}, allow_partial=true)", corpus, tmp_path / "run")
    assert run.scores.unanswered == {"typos(rate=0.5)": 2} and not run.scores.drops
    assert any("not tested" in note and "2 of 3 turns of typos" in note for note in run.scores.notes)
    whole = evaluate(one, Spotter(), corpus, tmp_path / "whole")
    with pytest.raises(DstressError, match=r"no answer to 2 turns(.|\n)*only runs with all answers"):
        gate(run, whole)
