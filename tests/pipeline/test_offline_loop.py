"""Trackers that only read files: stress into their layout, let them answer, bring the answers back as `saved(DIR)`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import pytest

from dstress import corpora
from dstress.cli.main import main
from dstress.errors import PredictionError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.gate import gate
from dstress.pipeline.run import Run
from dstress.storage.file_names import file_name
from dstress.suites import load as load_suite
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
    answers.parent.mkdir(exist_ok=True)
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
    return {name: [(a.dialogue, a.turn, a.state, a.failed) for a in run.journal(name)] for name in run.variants}


def stressed(corpus: str, suite: str, out: Path) -> None:
    with pytest.raises(SystemExit) as left:
        main(
            ["stress", corpus, "--with", ",".join(load_suite(suite).stressors), "--layout", "trade", "--out", str(out)]
        )
    assert left.value.code == 0


def test_the_loop_gives_what_the_tracker_itself_gives(suite: str, corpus: str, tmp_path: Path) -> None:
    stressed(corpus, suite, tmp_path / "stressed")
    for folder in (tmp_path / "stressed").iterdir():
        answer_file(folder / "test_dials.json", tmp_path / "answers" / f"{folder.name}.json")
    live = evaluate(suite, Spotter(), corpus, tmp_path / "live")
    offline = evaluate(suite, f"saved({tmp_path}/answers)", corpus, tmp_path / "offline")
    assert states(offline) == states(live) and not offline.scores.failed
    assert len({a.state["hotel-name"] for name in live.variants for a in live.journal(name)}) > 9
    assert offline.scores.variants == live.scores.variants and gate(offline, live).passed


def test_what_is_written_is_what_is_tracked(suite: str, corpus: str, tmp_path: Path) -> None:
    """Each stressed turn ends a dialogue with its label, on the words that a live tracker sees before it."""
    stressed(corpus, suite, tmp_path / "stressed")
    live = evaluate(suite, Spotter(), corpus, tmp_path / "live")
    typos = {one.id: one for one in corpora.load(str(tmp_path / "stressed" / file_name("typos(rate=0.5)")))}
    (dialogue,) = live.dialogues("typos(rate=0.5)")
    changed = [number for number, turn in enumerate(dialogue.turns) if turn.changed]
    assert set(typos) == {f"test.turn{number}" for number in changed} and changed
    for number in changed:
        *before, last = typos[f"test.turn{number}"].turns
        assert (last.user, last.state) == (dialogue.turns[number].user, dialogue.turns[number].state)
        assert [turn.user for turn in before] == [turn.original.user for turn in dialogue.turns[:number]]
    (whole,) = [one for one in corpora.load(str(tmp_path / "stressed" / "entities")) if one.id == "test"]
    assert [(t.user, t.state) for t in whole.turns] == [
        (t.user, t.state) for d in live.dialogues("entities") for t in d.turns
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


def test_a_runs_own_answers_come_back(suite: str, corpus: str, tmp_path: Path) -> None:
    live = evaluate(suite, Spotter(), corpus, tmp_path / "live")
    again = evaluate(suite, f"saved({tmp_path}/live/predictions)", corpus, tmp_path / "again")
    assert states(again) == states(live)
