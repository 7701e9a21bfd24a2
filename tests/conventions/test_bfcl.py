"""One argument at a time: what the leaderboard's checker counts as right, as confirmed by running it."""

from __future__ import annotations

from typing import Any

import pytest

from dstress.conventions.bfcl import Bfcl
from dstress.conventions.calls import CallChecker, JudgedCalls
from dstress.dialogue import Call, GoldCall, Tool

LIST_OF = {kind: {"type": "array", "items": {"type": kind}} for kind in ("integer", "float", "string", "dict", "array")}


@pytest.mark.parametrize(
    ("accepted", "parameter", "value", "right"),
    [
        (["New York"], "string", "new-york", True),
        (["it's"], "string", 'it"s', True),
        (["5"], "string", 5, False),
        ([5], "integer", 5, True),
        ([5], "integer", 5.0, False),
        ([1], "integer", True, False),
        ([5.0], "float", 5, True),
        ([5], "float", 5, True),
        ([5], "integer", "5", False),
        (["x"], "integer", "x", True),  # a variable
        (["x"], "integer", "X", False),
        (["", True], "boolean", True, True),
        (["", True], "boolean", False, False),
        ([[1, 2]], "tuple", {"()": [1, 2]}, True),
        ([[1, 2]], LIST_OF["integer"], {"()": [1, 2]}, False),
        ([[1, 2]], LIST_OF["integer"], [1, 2], True),
        ([[1, 2]], LIST_OF["integer"], [2, 1], False),
        ([[1, 2]], LIST_OF["float"], [1, 2], True),
        ([[1.5, 2]], LIST_OF["float"], [1.5, 2], False),
        ([["Swift"]], LIST_OF["string"], ["swift."], True),
        ([["a"], ""], LIST_OF["string"], [], True),
        ([["a"]], LIST_OF["string"], [], False),
        ([{"n": ["A"], "m": ["", 1]}], "dict", {"n": "a"}, True),
        ([{"n": ["A"]}], "dict", {"n": "a", "m": 1}, False),
        ([{"n": ["A"]}], "dict", {}, False),
        ([{"n": {"m": ["A"]}}], "dict", {"n": {"m": "a"}}, True),
        ([[{"n": ["A"]}]], LIST_OF["dict"], [{"n": "a"}], True),
        ([[{"n": ["A"]}]], LIST_OF["dict"], [{"n": "a"}, {"n": "a"}], False),
        ([[["A"]]], LIST_OF["array"], [["A"]], True),
        ([[["A"]]], LIST_OF["array"], [["a"]], False),
        ([], "string", "a", False),
        ([5], "number", 5, True),
    ],
)
def test_one_argument(accepted: list[Any], parameter: Any, value: Any, right: bool) -> None:
    schema = parameter if isinstance(parameter, dict) else {"type": parameter}
    if parameter == "tuple":
        schema["items"] = {"type": "integer"}
    assert Bfcl().argument(accepted, schema)(value) is right


TOOL = Tool(
    "maps.route",
    parameters={"properties": {"to": {"type": "string"}, "stops": {"type": "integer"}}, "required": ["to"]},
)
GOLD = GoldCall("maps.route", {"to": ("Rome",), "stops": ("", 0)})


@pytest.mark.parametrize(
    ("call", "underscored", "right"),
    [
        (Call("maps.route", {"to": "rome"}), None, True),
        (Call("maps_route", {"to": "rome"}), None, True),
        (Call("maps_route", {"to": "rome"}), False, False),
        (Call("maps.route", {"to": "rome"}), True, False),
        (Call("maps.route", {"to": "rome", "stops": 0}), None, True),
        (Call("maps.route", {"to": "rome", "stops": 1}), None, False),
        (Call("maps.route", {"to": "rome", "via": "Pisa"}), None, False),
        (Call("maps.route", {"stops": 0}), None, False),
    ],
)
def test_one_call(call: Call, underscored: bool | None, right: bool) -> None:
    assert CallChecker(GOLD, TOOL, Bfcl().argument).accepts(call, underscored) is right


def test_calls_are_matched_in_any_order_and_each_once() -> None:
    checkers = [CallChecker(GoldCall("maps.route", {"to": (to,)}), TOOL, Bfcl().argument) for to in ("Rome", "Oslo")]
    rome, oslo = (Call("maps.route", {"to": to}) for to in ("Rome", "Oslo"))
    assert JudgedCalls(checkers, [oslo, rome], None).right
    twice = JudgedCalls(checkers, [rome, rome], None)
    assert (twice.right, twice.tools, twice.count_arguments()) == (False, True, (1, 2, 2))
    assert not JudgedCalls(checkers, [rome], None).tools


def test_a_gold_call_of_a_tool_that_is_not_there_is_never_made() -> None:
    assert not CallChecker(GoldCall("deck", {}), None, Bfcl().argument).accepts(Call("deck", {}))
