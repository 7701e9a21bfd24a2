"""What is shown as wrong is what the scores count as wrong: both are read off the same cells."""

from __future__ import annotations

import pytest
from hypothesis import given

from dstress.conventions import conventions
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Frame, Turn, service_of
from dstress.predictions.base import Prediction
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import gather
from dstress.scoring.alignment.errors import EXTRA, MISSED, REWORDED, WRONG, SlotError, TurnErrors
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import ScoringOptions, tally_predictions
from tests.reports.conftest import SCHEMA
from tests.scoring.metrics.pairs import Pair, aligned, pairs

TURN = Turn("", state={"hotel-area": ("north",), "hotel-na<b>me": ("Grand", "The Grand")}, frames=(Frame("hotel"),))


def errors(convention: str, turn: Turn, **state: str) -> list[SlotError]:
    named = {"hotel-" + slot.replace("_", "<b>") if slot != "taxi" else "taxi-leave at": v for slot, v in state.items()}
    found = TurnErrors()
    pair = (Dialogue("d", (turn,)), [Prediction("d", 0, named)])
    found(Alignment(gather(SCHEMA, [pair]), conventions.create(convention)))
    return found.get(("d", 0), [])


def test_each_kind_of_error_is_told() -> None:
    found = errors("exact", TURN, na_me="Hilton", taxi="10:15")
    assert sorted(found) == [
        SlotError("hotel-area", MISSED, ""),
        SlotError("hotel-na<b>me", WRONG, "Hilton"),
        SlotError("taxi-leave at", EXTRA, "10:15"),
    ]
    assert not any(error.is_right for error in found)


def test_a_listed_form_is_plainly_right_and_another_spelling_is_told_but_right() -> None:
    assert errors("exact", TURN, area="north", na_me="The Grand") == []
    found = errors("exact", TURN, area="NORTH", na_me="Grand")
    assert found == [SlotError("hotel-area", REWORDED, "NORTH")] and found[0].is_right


def test_a_convention_by_frames_looks_at_the_services_of_the_turn_only() -> None:
    assert errors("dstc8", TURN, area="north", na_me="Grand", taxi="10:15") == []
    elsewhere = Turn("", state=TURN.state, frames=(Frame("taxi"),))
    assert errors("dstc8", elsewhere) == []
    assert not any(conventions.create("dstc8").considers(slot, {"taxi"}, SCHEMA.slots) for slot in TURN.state)


def test_a_predicted_slot_that_the_convention_ignores_is_no_error() -> None:
    """ConvLab walks through what gold lists; a slot that gold lists as empty makes no domain active."""
    listed_empty = Turn("", state={"hotel-area": ()}, frames=(Frame("hotel"),))
    pair = (Dialogue("d", (listed_empty,)), [Prediction("d", 0, {"hotel-na<b>me": "Grand"})])
    found = TurnErrors()
    (scored,) = tally_predictions(
        PredictionSource(pair[1], Corpus("made", "", SCHEMA, lambda: iter([pair[0]]))),
        ["convlab"],
        ["jga"],
        options=ScoringOptions(resamples=2),
        watchers=[found],
    )
    assert scored.card()["jga"].value == 1.0 and not found


@pytest.mark.parametrize("convention", list(conventions.targets))
@given(pair=pairs())
def test_a_unit_has_an_error_exactly_where_its_joint_accuracy_is_below_one(convention: str, pair: Pair) -> None:
    alignment, found = aligned(conventions.create(convention), pair), TurnErrors()
    found(alignment)
    columns = alignment.columns
    for unit, joint in enumerate(alignment.joint.tolist()):
        service = columns.services[alignment.unit_service[unit]] if alignment.convention.unit == "frame" else ""
        told = found.get(("d", int(alignment.unit_turn[unit])), [])
        own = [error for error in told if service_of(error.slot) == service or not service]
        assert all(error.is_right for error in own) == (joint == 1.0)
