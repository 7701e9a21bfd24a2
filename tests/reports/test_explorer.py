"""The packets say what the run says, and the telling turns are kept where not all fit."""

from __future__ import annotations

import base64
import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dstress
from dstress.dialogue import Dialogue, Turn
from dstress.pipeline.run import Run
from dstress.predictions.base import Prediction
from dstress.reports.explorer import Explored, Packet, explore
from dstress.runs.folder import ORIGINAL, Manifest, RunFolder
from dstress.runs.scores import find_errors
from dstress.runs.suites import Suite
from dstress.scoring.alignment.errors import EXTRA, MISSED, WRONG, TurnErrors
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import ScoringOptions, tally_predictions
from dstress.trackers.base import Context
from tests.reports.conftest import SCHEMA


@pytest.fixture(scope="module")
def explored(run: RunFolder) -> Explored:
    return explore(run, find_errors(run))


def opened(packet: Packet) -> Any:
    return msgspec.json.decode(gzip.decompress(base64.b64decode(packet.data)))


def by_variant(explored: Explored) -> dict[str, Any]:
    return {packet.variant: opened(packet) for packet in explored.packets}


def at(entry: list[Any], place: int, otherwise: Any) -> Any:
    return entry[place] if len(entry) > place else otherwise


def edited(text: str, edits: list[Any]) -> str:
    for start, length, after in reversed(list(zip(edits[::3], edits[1::3], edits[2::3], strict=True))):
        text = text[:start] + after + text[start + length :]
    return text


def changed(state: dict[int, str], flat: list[Any]) -> dict[int, str]:
    new = state | dict(zip(flat[::2], flat[1::2], strict=True))
    return {slot: value for slot, value in new.items() if value is not None}


def test_every_packet_is_there_the_original_first(run: RunFolder, explored: Explored) -> None:
    assert [packet.variant for packet in explored.packets] == list(run.variants)
    assert not any(packet.left_out for packet in explored.packets)


def test_words_and_labels_come_back_from_the_packets(run: RunFolder, explored: Explored) -> None:
    data = by_variant(explored)
    original = data[ORIGINAL]["dialogues"]
    for variant in run.variants[1:]:
        slots = data[variant]["slots"]
        entries = {(entry[0], entry[1]): entry for entry in data[variant]["turns"]}
        for place, dialogue in enumerate(run.variant(variant).dialogues()):
            gold: dict[int, str] = {}
            for number, turn in enumerate(dialogue.turns):
                system, user = original[place][1][number][:2]
                gold = changed(gold, at(original[place][1][number], 2, []))
                entry = entries.get((place, number), [])
                assert edited(user, at(entry, 2, [])) == turn.user
                assert edited(system, at(entry, 3, [])) == turn.system
                mine = changed(gold, at(entry, 4, []))
                assert {slots[slot]: value for slot, value in mine.items()} == {s: v[0] for s, v in turn.state.items()}


def test_answers_come_back_from_the_packets(run: RunFolder, explored: Explored) -> None:
    variant = run.variants[1]
    data = by_variant(explored)
    entries = {(entry[0], entry[1]): entry for entry in data[variant]["turns"]}
    answers = {(answer.dialogue, answer.turn): answer for answer in run.variant(variant).journal()}
    for place, dialogue in enumerate(run.variant(variant).dialogues()):
        for number, turn in enumerate(dialogue.turns):
            before = data[ORIGINAL]["dialogues"][place][1][number]
            entry = entries.get((place, number))
            failed = at(entry, 8, "") if entry else at(before, 4, "")
            told = at(entry, 5, []) if entry else None
            flat = at(before, 3, []) if told is None else told
            answer = answers[dialogue.id, number]
            assert failed == answer.failed
            state = {slot: forms[0] for slot, forms in turn.state.items()}
            for slot, kind, said in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
                name = data[variant]["slots"][slot]
                state[name] = said
                if kind == 1:
                    del state[name]
            assert answer.failed or state == answer.state


def test_a_first_turn_that_only_its_answer_mends_keeps_its_place(tmp_path: Path) -> None:
    suite = Suite("small", stressors=("typos",))
    run = Run.create(tmp_path / "run", Manifest("it", "small:test", "small", 1, 0, "", {}, {}, suite))
    for variant, said in (("original", "south"), ("typos", "north")):
        turn = Turn("", state={"hotel-area": ("north",)})
        run.variant(variant).write([Dialogue("d", (turn,))], SCHEMA, dict)
        answers = run.variant(variant).journal()
        answers.add(msgspec.json.encode(Prediction("d", 0, {"hotel-area": said})) + b"\n")
        answers.close()
    original, typos = (opened(packet) for packet in explore(run, run.score(2)).packets)
    assert original["dialogues"] == [["d", [["", "", [0, "north"], [0, 3, "south"]]]]]
    assert typos["turns"] == [[0, 0]]


def test_failures_are_counted_by_reason(run: RunFolder, explored: Explored) -> None:
    assert {variant: sum(reasons.values()) for variant, reasons in explored.failures.items()} == run.scores.failed


def test_what_does_not_fit_is_left_out_and_counted_telling_turns_first(run: RunFolder, explored: Explored) -> None:
    whole = sum(len(packet.data) for packet in explored.packets)
    first = len(explored.packets[0].data)
    smaller = explore(run, find_errors(run), budget=first + (whole - first) * 7 // 10)
    variant = run.variants[1]
    full, part = (by_variant(one)[variant] for one in (explored, smaller))
    assert part["left_out"] == len(full["turns"]) - len(part["turns"]) > 0
    telling = [entry for entry in full["turns"] if is_flip(entry, by_variant(explored))]
    kept = [entry for entry in part["turns"] if is_flip(entry, by_variant(explored))]
    assert kept == telling
    assert kept


def is_flip(entry: list[Any], data: dict[str, Any]) -> bool:
    before = data[ORIGINAL]["dialogues"][entry[0]][1][entry[1]]
    told = at(entry, 5, [])
    sides = [(at(before, 3, []), at(before, 4, ""))]
    sides.append((sides[0][0] if told is None else told, at(entry, 8, "")))
    right = [not failed and all(kind == 4 for kind in errors[1::3]) for errors, failed in sides]
    return right[0] != right[1] or bool(sides[1][1])


def test_the_same_run_gives_the_same_packets(run: RunFolder, explored: Explored) -> None:
    assert explore(run, find_errors(run)) == explored


@pytest.mark.parametrize("convention", ["exact", "trade", "simpletod", "dstc8", "trippy", "convlab", "multiwoz22"])
def test_counts_are_those_of_the_scorecard(run: RunFolder, convention: str) -> None:
    answers = [
        answer if not answer.failed else Prediction(answer.dialogue, answer.turn, {})
        for answer in run.variant(ORIGINAL).journal()
    ]
    found = TurnErrors()
    source = PredictionSource(answers, run.variant(ORIGINAL).corpus())
    (scored,) = tally_predictions(source, [convention], ["jga"], (), ScoringOptions(resamples=10), [found])
    counts = Counter((error.slot, error.kind) for told in found.values() for error in told)
    for slot, counted in scored.card().slots.items():
        mine = tuple(counts[slot, kind] for kind in (WRONG, MISSED, EXTRA))
        assert mine == (counted.wrong, counted.missed, counted.extra), slot
    assert counts


def test_what_is_said_beside_the_state_is_shown(tmp_path: Path) -> None:
    corpus = dstress.load("reminder:test")[:3]
    made = dstress.evaluate("raddle", "gold", corpus, tmp_path / "run", only=("typos",), resamples=5, report=False)
    found = by_variant(explore(made, find_errors(made)))
    first, dialogue = found[ORIGINAL]["dialogues"][0][1][0], next(iter(corpus))
    response = Context(dialogue, 0, corpus.schema).gold_response[0]
    assert at(first, 5, "") == f"“{response}” · intent {dialogue.turns[0].frames[0].intent}"
    assert all(at(entry, 9, "") for entry in found["typos"]["turns"])
