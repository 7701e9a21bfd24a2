"""Counted errors are those of the cells, and what is at stake is what joint accuracy would gain."""

from __future__ import annotations

import pytest
from hypothesis import given
from pytest import approx

from dstress.conventions import conventions
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.predictions.base import Prediction
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import gather
from dstress.scoring.alignment.profile import COUNTS, KINDS, NO_ANSWER, ErrorProfile
from tests.scoring.metrics.pairs import Pair, aligned, pairs

SCHEMA = Schema((Service("h", "", tuple(Slot(name) for name in "abc")),))
State = dict[str, str]


def profile_of(*dialogues: list[tuple[State, State]]) -> ErrorProfile:
    """The profile of dialogues, each a list of gold and predicted states; a slot `a` is `h-a`."""
    found, paired = ErrorProfile(), []
    for number, turns in enumerate(dialogues):
        gold = tuple(Turn("", "", {f"h-{slot}": (value,) for slot, value in state.items()}) for state, _ in turns)
        said = [
            Prediction(str(number), turn, {f"h-{slot}": value for slot, value in state.items()})
            for turn, (_, state) in enumerate(turns)
        ]
        paired.append((Dialogue(str(number), gold), said))
    found(Alignment(gather(SCHEMA, paired), conventions.create("exact")))
    return found


def counts(profile: ErrorProfile, slot: str) -> dict[str, float]:
    table = profile.table([f"h-{slot}"]).sum(axis=(0, 1))
    return {name: value for name, value in zip(COUNTS, table.tolist(), strict=True) if value}


@pytest.mark.parametrize("convention", list(conventions.targets))
@given(pair=pairs())
def test_sums_are_those_of_the_cells(convention: str, pair: Pair) -> None:
    alignment, profile = aligned(conventions.create(convention), pair), ErrorProfile()
    profile(alignment)
    sums = dict(zip(COUNTS, profile.table().sum(axis=(0, 1)).tolist(), strict=True))
    cells = (alignment.right, alignment.missed, alignment.wrong, alignment.extra)
    assert [sums[name] for name in ("right", *KINDS)] == [cell.sum() for cell in cells]
    assert all(sums[f"fresh {kind}"] <= sums[kind] for kind in KINDS)
    if alignment.units:
        assert profile.accuracy_with() == approx(alignment.joint.mean())


@pytest.mark.parametrize("convention", ["exact", "dstc8", "multiwoz22", "simpletod"])
@given(pair=pairs())
def test_what_is_at_stake_is_what_a_mended_slot_gains(convention: str, pair: Pair) -> None:
    """Counted unit by unit, worked out of the sets of errors, and scored anew without the slot's cells: all one."""
    alignment, profile = aligned(conventions.create(convention), pair), ErrorProfile()
    profile(alignment)
    if not alignment.units:
        return
    for slot in profile.slots:
        gain = float(profile.table([slot])[..., -1].sum()) / alignment.units
        assert profile.accuracy_with(slots=[slot]) - profile.accuracy_with() == approx(gain, abs=1e-9)
        others = alignment.slot != alignment.columns.slots.index(slot)
        assert profile.accuracy_with(slots=[slot]) == approx(alignment.joint_over(others).mean())
    assert profile.accuracy_with(slots=profile.slots) == approx(1.0)


def test_an_error_is_fresh_once_and_carried_from_then_on() -> None:
    gold = {"a": "1", "b": "2"}
    lasting = [({"a": "1"}, {}), (gold, {"b": "2"}), (gold, {"b": "2"}), (gold, {"a": "9", "b": "2"})]
    profile = profile_of(lasting)
    assert counts(profile, "a") == {"missed": 3, "fresh missed": 1, "wrong": 1, "fresh wrong": 1, "at stake": 4}
    assert counts(profile, "b") == {"right": 3}
    units, joint, wrong, making, unanswered = profile.units.sum(axis=0).tolist()
    assert (units, joint, wrong, making, unanswered) == (4, 0, 4, 2, 0)


def test_a_new_gold_value_makes_an_old_answer_a_fresh_error() -> None:
    profile = profile_of([({"a": "1"}, {"a": "1"}), ({"a": "2"}, {"a": "1"}), ({"a": "2"}, {"a": "1"})])
    assert counts(profile, "a") == {"right": 1, "wrong": 2, "fresh wrong": 1, "at stake": 2}


def test_two_errors_in_a_turn_leave_nothing_at_stake_in_either() -> None:
    profile = profile_of([({"a": "1", "b": "2"}, {})], [({"a": "1"}, {"c": "3"})])
    assert profile.table()[..., -1].sum() == 0
    assert profile.accuracy_with(slots=["h-a", "h-b"]) == 0.5
    assert profile.accuracy_with(kind="missed") == 0.5
    assert sum(profile.broken.values()) == 2


def test_a_turn_without_an_answer_says_nothing_of_slots() -> None:
    profile = profile_of([({"a": "1"}, {"a": "1"}), ({"a": "1", "b": "2"}, {"a": NO_ANSWER})])
    assert (profile.answered, profile.unanswered) == (1, 1)
    assert counts(profile, "a") == {"right": 1}
    assert profile.accuracy_with() == 0.5 == profile.accuracy_with(slots=["h-a", "h-b"])


def test_shards_are_joined_by_slot() -> None:
    first, second = profile_of([({"a": "1"}, {})]), profile_of([({"b": "1"}, {})])
    first._shards += second._shards
    assert first.slots == ["h-a", "h-b"]
    assert first.table()[..., 1].tolist() == [[1, 0], [0, 1]]
    assert ErrorProfile().table().shape == (0, 0, len(COUNTS))
