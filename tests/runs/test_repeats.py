"""How far repeated answers agree."""

from __future__ import annotations

from itertools import combinations
from statistics import mean

import numpy as np
import pytest

from dstress.dialogue import Call
from dstress.predictions.base import Prediction
from dstress.runs.repeats import compare_repeats

VALUES = np.array([[1, 1, 0, np.nan, 0.5], [1, 0, 0, np.nan, 1], [1, 1, 0, np.nan, 1]])


def answers(*states: str) -> list[Prediction]:
    return [Prediction("d", 0, {"a": state}) for state in states]


def test_what_differs_and_what_is_right_throughout() -> None:
    told = compare_repeats(list(VALUES), [answers("x", "x", "x"), answers("x", "y", "x"), answers("y", "y", "y")])
    assert told.jga == [0.625, 0.5, 0.75]
    assert told.spread == 0.25
    assert told.differing == pytest.approx(1 / 3)
    # By the definition: all ways to choose k of the answers to a turn.
    right = [[value == 1 for value in unit] for unit in VALUES.T if not np.isnan(unit).any()]
    for k, passed in enumerate(told.passed, start=1):
        assert passed == pytest.approx(mean(mean(all(chosen) for chosen in combinations(unit, k)) for unit in right))
    assert len(told.passed) == 3


def test_answers_that_call_other_things_differ() -> None:
    calls = (Call("weather", {"city": city}) for city in ("Rome", "Oslo"))
    first, second = (Prediction("d", 0, {}, calls=(call,)) for call in calls)
    assert compare_repeats([np.ones(1), np.zeros(1)], [(first, second)]).differing == 1


def test_an_answer_that_failed_differs_from_an_empty_one() -> None:
    empty, failed = Prediction("d", 0, {}), Prediction("d", 0, {}, failed="timeout")
    assert compare_repeats([np.ones(1), np.zeros(1)], [(empty, failed)]).differing == 1
    other = Prediction("d", 0, {}, failed="busy")
    assert compare_repeats([np.zeros(1), np.zeros(1)], [(failed, other)]).differing == 0
