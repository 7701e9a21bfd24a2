"""What the stressor `tools` changes, and that expected calls follow."""

from __future__ import annotations

import msgspec
import pytest

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, GoldCall, Schema, Tool, Turn
from dstress.errors import SpecError
from dstress.pipeline.stress import stress
from tests.parts import need

ROUTE = Tool(
    "maps.find_route",
    "Find a route.",
    {
        "properties": {"end_point": {"type": "string", "description": "Where to"}, "stops": {"type": "integer"}},
        "required": ["end_point"],
    },
)
OTHERS = tuple(Tool(name, "?") for name in ("weather", "bake_bread", "sellShares"))
CALL = GoldCall("maps.find_route", {"end_point": ("Rome",), "stops": (3, "")})


def dialogues() -> list[Dialogue]:
    return [
        Dialogue("a", (Turn("To Rome with 3 stops.", calls=(CALL,)),), tools=(ROUTE, OTHERS[0])),
        Dialogue("b", (Turn("Tell me a joke.", calls=()),), tools=OTHERS[1:]),
        Dialogue("c", (Turn("No tools here."),)),
    ]


def stressed(spec: str) -> list[Dialogue]:
    return list(stress(Corpus("tiny", "", Schema(), lambda: iter(dialogues())), spec))


def test_names_are_written_the_other_way() -> None:
    a, b, c = stressed("tools")
    assert [tool.name for tool in (*a.tools, *b.tools)] == ["maps.findRoute", "weather", "bakeBread", "sell_shares"]
    assert list(a.tools[0].parameters["properties"]) == ["endPoint", "stops"]
    assert a.tools[0].parameters["required"] == ["endPoint"]
    assert a.turns[0].calls == (GoldCall("maps.findRoute", {"endPoint": ("Rome",), "stops": (3, "")}),)
    assert a.turns[0].changed and a.turns[0].original == dialogues()[0].turns[0]
    assert c == dialogues()[2]


def test_reworded_names_and_descriptions_follow_a_stressor_of_schemas() -> None:
    a, b, c = stressed("tools(change=reworded, by=schema_noise)")
    route = a.tools[0]
    assert route.name.startswith("maps.") and route.name != ROUTE.name
    assert len({tool.name for tool in (*a.tools, *b.tools)}) == 4
    assert route.parameters.keys() == ROUTE.parameters.keys()
    end, stops = route.parameters["properties"]
    assert (end, stops) != ("end_point", "stops") and route.parameters["required"] == [end]
    assert route.parameters["properties"][end]["type"] == "string"
    assert route.parameters["properties"][end]["description"] != "Where to"
    assert a.turns[0].calls == (GoldCall(route.name, {end: ("Rome",), stops: (3, "")}),)
    assert a.turns[0].changed and a.turns[0].user == "To Rome with 3 stops." and c == dialogues()[2]


def test_back_translated_tools() -> None:
    need("apertium")
    tool = Tool("find_movies", "Find a film.", {"properties": {"alarm_time": {"description": "Time of the alarm"}}})
    dialogue = Dialogue(
        "a", (Turn("A film!", calls=(GoldCall("find_movies", {"alarm_time": ("8",)}),)),), tools=(tool,)
    )
    (a,) = stress(Corpus("tiny", "", Schema(), lambda: iter([dialogue])), "tools(change=reworded)")
    assert a.tools[0].name != "find_movies"
    assert [call.tool for call in a.turns[0].calls or ()] == [a.tools[0].name]


def test_only_a_stressor_of_schemas_rewords_tools() -> None:
    with pytest.raises(SpecError, match="typos does not change the words of a schema"):
        stressed("tools(change=reworded, by=typos)")


def test_another_order_of_parameters_is_a_change() -> None:
    one = Dialogue("a", (Turn("To Rome with 3 stops.", calls=(CALL,)),), tools=(ROUTE,))
    for seed in range(5):
        (a,) = stress(Corpus("tiny", "", Schema(), lambda: iter([one])), "tools(change=order)", seed=seed)
        is_reordered = [*a.tools[0].parameters["properties"]] != ["end_point", "stops"]
        assert a.turns[0].changed == is_reordered
        if is_reordered:
            return
    pytest.fail("no seed shuffled two parameters")


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ("opaque", {"tool_1", "tool_2"}),
        ("descriptions", {"maps.find_route", "weather"}),
        ("order", {"maps.find_route", "weather"}),
        ("distractors, count=1", {"maps.find_route", "weather"}),
        ("duplicates", {"maps.find_route", "weather", "maps.find_route_old"}),
        ("removed", {"weather"}),
    ],
)
def test_tools_of_every_change(change: str, names: set[str]) -> None:
    a = stressed(f"tools(change={change})")[0]
    assert {tool.name for tool in a.tools} >= names
    assert len(a.tools) == len(names) + change.startswith("distractors")
    if change == "descriptions":
        assert b'description":"Where' not in msgspec.json.encode(a) and a.tools[0].description == ""


def test_without_the_needed_tool_nothing_may_be_called() -> None:
    a, b, _ = stressed("tools(change=removed)")
    assert a.turns[0].calls == () and a.turns[0].changed
    assert not b.turns[0].changed


def test_numbers_change_in_request_and_call() -> None:
    turn = stressed("tools(change=values)")[0].turns[0]
    assert turn.calls is not None
    new, left_out = turn.calls[0].arguments["stops"]
    assert new != 3 and left_out == ""
    assert turn.user == f"To Rome with {new} stops."


def test_noise_leaves_the_arguments_of_calls() -> None:
    turn = stressed("typos(rate=0.9)")[0].turns[0]
    assert turn.changed and "Rome" in turn.user and "3" in turn.user and turn.calls == (CALL,)


def test_where_all_dialogues_have_the_same_tools_there_are_no_distractors() -> None:
    twins = [msgspec.structs.replace(dialogues()[0], id=name) for name in ("a", "b")]
    corpus = Corpus("tiny", "", Schema(), lambda: iter(twins))
    assert list(stress(corpus, "tools(change=distractors)")) == twins
