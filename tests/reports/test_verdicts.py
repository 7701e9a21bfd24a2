"""What the explorer calls right and wrong is what the scores call so."""

from __future__ import annotations

from collections import Counter

import pytest

from dstress.conventions import conventions
from dstress.dialogue import Frame, Turn
from dstress.predictions.base import Prediction
from dstress.reports.verdicts import EXTRA, MISSED, REWORDED, WRONG, Error, Verdicts, is_right
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.runs.scores import corpus_of
from dstress.scoring.score import Options, score
from tests.reports.conftest import SCHEMA

TURN = Turn("", state={"hotel-area": ("north",), "hotel-na<b>me": ("Grand", "The Grand")}, frames=(Frame("hotel"),))


def errors(convention: str, turn: Turn, **state: str) -> list[Error]:
    said = {"hotel-" + slot.replace("_", "<b>") if slot != "taxi" else "taxi-leave at": v for slot, v in state.items()}
    return Verdicts(conventions.create(convention), SCHEMA).errors(turn, Prediction("d", 0, said))


def test_each_kind_of_error_is_told() -> None:
    found = errors("exact", TURN, na_me="Hilton", taxi="10:15")
    assert found == [
        Error("hotel-area", MISSED, ""),
        Error("hotel-na<b>me", WRONG, "Hilton"),
        Error("taxi-leave at", EXTRA, "10:15"),
    ]
    assert not is_right(found)


def test_a_listed_form_is_plainly_right_and_another_spelling_is_told_but_right() -> None:
    assert errors("exact", TURN, area="north", na_me="The Grand") == []
    found = errors("exact", TURN, area="NORTH", na_me="Grand")
    assert found == [Error("hotel-area", REWORDED, "NORTH")]
    assert is_right(found)


def test_a_convention_by_frames_looks_at_the_services_of_the_turn_only() -> None:
    assert errors("dstc8", TURN, area="north", na_me="Grand", taxi="10:15") == []
    elsewhere = Turn("", state=TURN.state, frames=(Frame("taxi"),))
    assert errors("dstc8", elsewhere) == []
    assert Verdicts(conventions.create("dstc8"), SCHEMA).gold(elsewhere) == {}


@pytest.mark.parametrize("convention", ["exact", "trade", "simpletod", "dstc8", "trippy", "convlab", "multiwoz22"])
def test_counts_are_those_of_the_scorecard(run: RunFolder, convention: str) -> None:
    answers = {(answer.dialogue, answer.turn): answer for answer in run.journal(ORIGINAL)}
    kept = [
        answer if not answer.failed else Prediction(answer.dialogue, answer.turn, {}) for answer in answers.values()
    ]
    card = score(kept, corpus_of(run, ORIGINAL), convention, ["jga"], options=Options(resamples=10))
    verdicts = Verdicts(conventions.create(convention), SCHEMA)
    found: Counter[tuple[str, int]] = Counter()
    for dialogue in run.dialogues(ORIGINAL):
        for number, turn in enumerate(dialogue.turns):
            answer = answers[dialogue.id, number]
            told = verdicts.errors(turn, Prediction("", 0, answer.state, informed=answer.informed))
            found.update((error.slot, error.kind) for error in told)
    for slot, counted in card.slots.items():
        mine = tuple(found[slot, kind] for kind in (WRONG, MISSED, EXTRA))
        assert mine == (counted.wrong, counted.missed, counted.extra), slot
    assert any(found.values())
