"""The alignment says of every unit what the conventions' plain definition says, however it gets there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.conventions import Convention, conventions
from dstress.dialogue import Dialogue, Frame, Turn, service_of
from dstress.predictions import Prediction
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.unit_scores import unit_names
from tests.scoring.metrics.pairs import SCHEMA, Pair, aligned, columns_of, named, pairs

SPECS = (*conventions, "dstc8(fuzz=difflib)", "simpletod(dontcare=keep)", "convlab(listed=all)", "trade(labels=coco)")
MADE = {spec: conventions.create(spec) for spec in SPECS}


def expected_joint(convention: Convention, pair: Pair) -> list[float]:
    """Unit by unit, with `Convention.score` alone."""
    result = []
    for turn, prediction in zip(pair[0].turns, pair[1], strict=True):
        state = dict(prediction.state)
        if convention.reads_informed:
            for slot, taken in prediction.informed.items():
                state[slot] = "§§".join(("", state[slot], *pair[0].turns[taken].state.get(slot, ())))
        shown = [frame.service for frame in turn.frames]
        units = [[service] for service in shown] if convention.unit == "frame" else [shown]
        for services in units:
            gold, given_state = turn.state, state
            if convention.within_schema:
                gold = {slot: v for slot, v in gold.items() if service_of(slot) in services}
                given_state = {slot: v for slot, v in state.items() if service_of(slot) in services}
            result.append(convention.score(gold, given_state, SCHEMA.slots))
    return result


@given(pair=pairs())
def test_joint_accuracy_is_the_conventions_score(pair: Pair) -> None:
    columns = columns_of(pair)
    for spec, convention in MADE.items():
        found = Alignment(columns, convention).joint
        np.testing.assert_allclose(found, expected_joint(convention, pair), rtol=0, atol=1e-12, err_msg=spec)


@given(pair=pairs())
def test_a_unit_is_joint_just_where_nothing_is_wrong(pair: Pair) -> None:
    columns = columns_of(pair)
    for spec, convention in MADE.items():
        alignment = Alignment(columns, convention)
        mistakes = sum(alignment.counts[kind] for kind in ("wrong", "missed", "extra"))
        assert ((alignment.joint == 1.0) == (mistakes == 0)).all(), spec
        assert (alignment.counts["credit"] >= alignment.counts["right"]).all(), spec


@given(found=st.lists(pairs(), min_size=2, max_size=3).map(named))
def test_dialogues_do_not_touch_each_other(found: list[Pair]) -> None:
    together, apart = columns_of(*found), [columns_of(pair) for pair in found]
    for spec, convention in MADE.items():
        whole, parts = Alignment(together, convention), [Alignment(columns, convention) for columns in apart]
        for name in ("joint", "unit_service"):
            joined = np.concatenate([getattr(part, name) for part in parts])
            np.testing.assert_array_equal(getattr(whole, name), joined, err_msg=spec)
        assert whole.gold_changed.sum() == sum(part.gold_changed.sum() for part in parts), spec
        assert whole.predicted_changed.sum() == sum(part.predicted_changed.sum() for part in parts), spec


@given(pair=pairs())
def test_the_services_cells_are_a_partition(pair: Pair) -> None:
    columns = columns_of(pair)
    for spec, convention in MADE.items():
        whole = Alignment(columns, convention)
        parts = [whole.restricted(frozenset({service.name})) for service in SCHEMA.services]
        for kind in ("right", "wrong", "missed", "extra", "credit"):
            summed = sum(part.counts[kind] for part in parts)
            np.testing.assert_allclose(summed, whole.counts[kind], atol=1e-12, err_msg=spec)
        np.testing.assert_allclose(np.prod([part.joint for part in parts], axis=0), whole.joint, err_msg=spec)


def changes(convention: str, *turns: tuple[dict[str, tuple[str, ...]], dict[str, str]]) -> tuple[int, int]:
    """How many changes gold and the prediction make in a dialogue."""
    dialogue = Dialogue("d", tuple(Turn("?", "", gold) for gold, _ in turns))
    predictions = [Prediction("d", index, state) for index, (_, state) in enumerate(turns)]
    alignment = Alignment(columns_of((dialogue, predictions)), conventions.create(convention))
    return int(alignment.gold_changed.sum()), int(alignment.predicted_changed.sum())


def test_another_form_of_a_value_is_no_change_and_a_drop_is_one() -> None:
    first, other = {"hotel-name": ("a", "b")}, {"hotel-name": ("b", "c")}
    assert changes("exact", (first, {}), (other, {}))[0] == 1
    assert changes("exact", (first, {}), ({}, {}), (other, {}))[0] == 3


def test_none_said_aloud_is_a_change_only_where_the_slot_is_new() -> None:
    aloud, value = {"hotel-name": ()}, {"hotel-name": ("a",)}
    assert changes("exact", (aloud, {}), (aloud, {}), ({}, {}))[0] == 1
    assert changes("exact", (value, {}), ({}, {}), (aloud, {}))[0] == 2


@pytest.mark.parametrize(("convention", "value"), [("simpletod", "dontcare"), ("trade", "none"), ("trippy", "none")])
def test_a_value_that_the_convention_takes_away_was_never_there(convention: str, value: str) -> None:
    state = {"hotel-name": value}
    assert changes(convention, ({}, state), ({}, {}), ({}, state)) == (0, 0)
    assert changes(convention, ({}, {"hotel-name": "a"}), ({}, state), ({}, {})) == (0, 2)


def test_gold_that_the_convention_takes_away_is_silence_and_not_none_said_aloud() -> None:
    assert changes("simpletod", ({"hotel-name": ("dontcare",)}, {})) == (0, 0)
    assert changes("exact", ({"hotel-name": ("dontcare",)}, {})) == (1, 0)


def test_a_prediction_that_the_convention_ignores_changes_nothing() -> None:
    gold = {"hotel-area": ("north",)}
    turns = [(gold, {"Taxis_1-day": day}) for day in ("monday", "tuesday")]
    assert changes("convlab", *turns) == (1, 0)
    assert changes("convlab(listed=all)", *turns) == (1, 2)


def test_units_are_named_by_dialogue_turn_and_service() -> None:
    dialogue = Dialogue("PMUL-1", (Turn("?"), Turn("?", frames=(Frame("hotel"), Frame("Taxis_1")))))
    pair = dialogue, [Prediction("PMUL-1", 0, {}), Prediction("PMUL-1", 1, {})]
    assert list(unit_names(aligned(MADE["exact"], pair), {})) == ["pmul-1/0/0", "pmul-1/1/0"]
    assert list(unit_names(aligned(MADE["dstc8"], pair), {})) == ["pmul-1/1/hotel", "pmul-1/1/Taxis_1"]
