"""Every metric against its definition, step by step, on any dialogue at all."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.conventions import Convention, conventions
from dstress.dialogue import Dialogue, Turn
from dstress.errors import SpecError
from dstress.predictions import Prediction
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics import metrics
from dstress.scoring.metrics.base import Floats
from dstress.scoring.metrics.granular import change_counts, near_credit
from tests.scoring.metrics import pairs as reference
from tests.scoring.metrics.pairs import SCHEMA, Pair, aligned, columns_of, of_frames, pairs, plain, simple

EXACT = conventions.create("exact")
SPECS = (*conventions, "dstc8(fuzz=difflib)", "simpletod(dontcare=keep)", "convlab(listed=all)")
MADE = {spec: conventions.create(spec) for spec in SPECS}
REFLEXIVE = {spec: convention for spec, convention in MADE.items() if convention.reflexive and "keep" not in spec}
STATE_METRICS = (
    *("jga", "sa", "aga", "rsa", "fga", "fga(mistakes=errors)", "gca", "gca(weights=paper)", "gca(partial=true)"),
    *("value-precision", "value-recall", "label-precision", "label-recall"),
    *("slot-precision", "slot-recall", "slot-f1", "cat-jga", "noncat-jga", "cat-aga", "noncat-aga"),
)


def value(metric: str, alignment: Alignment) -> float:
    made = metrics.create(metric)
    return float(made.value(made.statistics(alignment).sum(axis=0)))


def by_unit(metric: str, alignment: Alignment) -> Floats:
    made = metrics.create(metric)
    return made.value(made.statistics(alignment))


@given(pair=simple)
def test_changes_are_counted_as_the_authors_code_counts_them(pair: Pair) -> None:
    np.testing.assert_array_equal(change_counts(aligned(EXACT, pair)), reference.change_counts(pair))


@given(pair=pairs(values=plain, forms=1))
def test_changes_within_frames_are_those_of_each_service_by_itself(pair: Pair) -> None:
    """Under DSTC8 a service lives in its own frames, one after the other, and slots outside the schema do not exist."""
    found = change_counts(aligned(MADE["dstc8"], pair)).sum(axis=0)
    inside = [{s: v for s, v in p.state.items() if s in SCHEMA.slots} for p in pair[1]]
    kept = pair[0], [Prediction("d", turn, state) for turn, state in enumerate(inside)]
    parts = [reference.change_counts(of_frames(kept, service.name)) for service in SCHEMA.services]
    expected = np.sum([row for part in parts for row in part], axis=0) if any(parts) else np.zeros(4)
    np.testing.assert_array_equal(found, expected)


@given(pair=simple, rate=st.sampled_from([0.25, 1.0]))
@pytest.mark.parametrize("rule", ["changes", "errors"])
def test_flexible_accuracy_forgives_as_its_scripts_do(pair: Pair, rate: float, rule: str) -> None:
    found = by_unit(f"fga(lambda={rate}, mistakes={rule})", aligned(EXACT, pair))
    np.testing.assert_allclose(found, reference.forgiving(pair, rate, rule), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("rule", "last"), [("changes", 1 - math.exp(-0.5)), ("errors", 0.0)])
def test_a_mistake_made_again_after_a_right_turn_is_new(rule: str, last: float) -> None:
    """And a slot that is right again leaves other errors than before, which only the TripPy script minds."""
    turns = (Turn("?", "", {"hotel-area": ("1",), "hotel-name": ("1",)}),) * 4
    answers = [("2", "1"), ("1", "1"), ("2", "2"), ("1", "2")]
    states = [{"hotel-area": area, "hotel-name": name} for area, name in answers]
    pair = Dialogue("d", turns), [Prediction("d", index, state) for index, state in enumerate(states)]
    assert by_unit(f"fga(mistakes={rule})", aligned(EXACT, pair)).tolist() == pytest.approx([0.0, 1.0, 0.0, last])
    again = Dialogue("d", turns[:3]), [Prediction("d", index, states[way]) for index, way in enumerate((0, 1, 0))]
    assert by_unit(f"fga(mistakes={rule})", aligned(EXACT, again)).tolist() == [0.0, 1.0, 0.0]


@given(pair=simple)
def test_slot_accuracies_are_those_of_sets(pair: Pair) -> None:
    alignment, expected = aligned(EXACT, pair), reference.slot_accuracies(pair)
    for name in ("jga", "sa", "aga", "rsa"):
        wanted = [math.nan if row[name] is None else row[name] for row in expected]
        np.testing.assert_allclose(by_unit(name, alignment), wanted, rtol=0, atol=1e-12, err_msg=name)


@given(pair=simple)
def test_slot_precision_recall_and_f1_count_pairs(pair: Pair) -> None:
    states = [tuple(map(reference.active, turn)) for turn in reference.beliefs(pair)]
    shared, gold, given_pairs = (sum(map(len, sets)) for sets in zip(*((g & p, g, p) for g, p in states), strict=True))
    alignment = aligned(EXACT, pair)
    expected = [
        shared / given_pairs if given_pairs else math.nan,
        shared / gold if gold else math.nan,
        2 * shared / (gold + given_pairs) if gold + given_pairs else math.nan,
    ]
    found = [value(name, alignment) for name in ("slot-precision", "slot-recall", "slot-f1")]
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(pair=pairs(outside=False))
def test_values_lie_between_0_and_1_and_in_order(pair: Pair) -> None:
    columns = columns_of(pair)
    for spec, convention in MADE.items():
        alignment = Alignment(columns, convention)
        found = {name: value(name, alignment) for name in STATE_METRICS}
        assert all(math.isnan(number) or -1e-12 <= number <= 1 + 1e-12 for number in found.values()), (spec, found)
        assert found["jga"] <= found["fga"] + 1e-12 or math.isnan(found["jga"]) or convention.name == "dstc8", spec
        assert not found["value-precision"] > found["label-precision"], spec
        assert not found["value-recall"] > found["label-recall"], spec
        assert not found["gca"] > found["gca(partial=true)"] + 1e-12, spec


@given(pair=pairs(outside=False))
def test_a_joint_unit_has_every_slot_right(pair: Pair) -> None:
    """Unit by unit jga <= aga and jga <= sa, and rsa <= aga where plain equality counts."""
    for spec, convention in MADE.items():
        alignment = aligned(convention, pair)
        joint, every = by_unit("jga", alignment), by_unit("aga", alignment)
        if convention.unit == "turn" and not convention.within_schema:
            assert not (joint > every + 1e-12).any(), spec
            assert not (joint > by_unit("sa", alignment) + 1e-12).any(), spec
            assert not (by_unit("rsa", alignment) > every + 1e-12).any(), spec
        assert (joint <= by_unit("cat-jga", alignment) + 1e-12).all() or convention.within_schema, spec


def itself(pair: Pair, *, growing: bool = False) -> Pair:
    """Gold as its own prediction; `growing` gold never drops a slot and never says `none`."""
    states = [{slot: forms for slot, forms in turn.state.items() if forms} for turn in pair[0].turns]
    if growing:
        for before, after in pairwise(states):
            after |= {slot: forms for slot, forms in before.items() if slot not in after}
    turns = tuple(Turn("?", "", state, turn.frames) for state, turn in zip(states, pair[0].turns, strict=True))
    first = [{slot: forms[0] for slot, forms in state.items()} for state in states]
    return Dialogue("d", turns), [Prediction("d", index, state) for index, state in enumerate(first)]


@given(pair=pairs(outside=False).map(itself))
def test_gold_is_right_by_its_own_measure(pair: Pair) -> None:
    columns = columns_of(pair)
    for spec, convention in REFLEXIVE.items():
        alignment = Alignment(columns, convention)
        for name in (name for name in STATE_METRICS if not name.startswith(("gca", "rsa", "value", "label"))):
            found = value(name, alignment)
            assert math.isnan(found) or found == pytest.approx(1.0, abs=1e-12), (spec, name)
        assert value("jga", alignment) == 1.0 or not alignment.units, spec
        filled = alignment.per_unit(alignment.gold) > 0
        np.testing.assert_array_equal(by_unit("rsa", alignment), filled.astype(float), err_msg=spec)


@given(pair=pairs(outside=False).map(lambda pair: itself(pair, growing=True)))
def test_gold_that_never_drops_a_slot_has_a_change_accuracy_of_1(pair: Pair) -> None:
    """Drops cost gold itself a miss in the authors' code, and a convention that removes values makes drops."""
    columns = columns_of(pair)
    for spec in ("exact", "convlab(listed=all)", "trippy"):
        alignment = Alignment(columns, MADE[spec])
        there = int(alignment.gold.sum()) > 0
        drops = (alignment.gold_changed & ~alignment.gold).any()
        if there and not drops:
            found = [value(name, alignment) for name in STATE_METRICS if name.startswith(("gca", "value", "label"))]
            assert found == pytest.approx([1.0] * len(found), abs=1e-12), spec


@pytest.mark.parametrize("convention", [EXACT, MADE["dstc8"]], ids=["exact", "dstc8"])
def test_nothing_said_on_either_side_is_right_or_undefined(convention: Convention) -> None:
    pair = Dialogue("d", (Turn("?", frames=()),)), [Prediction("d", 0, {})]
    alignment = aligned(convention, pair)
    assert all(math.isnan(value(name, alignment)) for name in ("aga", "gca", "slot-f1", "value-recall"))
    assert math.isnan(value("jga", alignment)) if convention.unit == "frame" else value("jga", alignment) == 1.0


def test_near_values_earn_partial_credit_and_only_near_values() -> None:
    turn = Turn("?", "", {"hotel-name": ("acorn house",), "hotel-area": ("north",)})
    pair = Dialogue("d", (turn,)), [Prediction("d", 0, {"hotel-name": "acorn hotel", "hotel-area": "xyz"})]
    alignment = aligned(EXACT, pair)
    similar = 2 * len("acorn ho") + 2 * len("e")
    assert near_credit(alignment).tolist() == [pytest.approx(similar / 22)]
    assert 0.0 == value("gca", alignment) < value("gca(partial=true)", alignment) < 0.5


@pytest.mark.parametrize("rate", [0, -1, -0.5])
def test_forgiveness_must_be_positive(rate: float) -> None:
    with pytest.raises(SpecError, match="must be positive"):
        metrics.create(f"fga(lambda={rate})")
