from __future__ import annotations

import re

import pytest

from dstress.dialogue import Act, Dialogue, Frame, Goal, Schema, Service, Slot, Span, State, Turn
from dstress.errors import UnknownNameError
from dstress.pipeline.stress import stress
from dstress.stressors import create
from tests.stressors.samples import in_memory, sample

AREAS = ("north", "south", "centre")
SCHEMA = Schema(
    (
        Service(
            "restaurant",
            slots=(Slot("area", categorical=True, values=AREAS), Slot("book people"), Slot("book time"), Slot("name")),
        ),
        Service("taxi", slots=(Slot("leaveat"), Slot("destination"))),
    )
)
TABLE: State = {"restaurant-book people": ("4",)}
TAXI: State = {"taxi-destination": ("the station",)}
INFORM = Frame("restaurant", "book", spans=(Span("book people", 12, 13),), acts=(Act("INFORM", "book people", ("4",)),))
BOOKING = (
    Turn("a table for 4 people .", "", TABLE, (INFORM,)),
    Turn("what is the phone number ?", "it is booked .", TABLE),
    Turn("a taxi to the station .", "01223 .", TABLE | TAXI),
    Turn("what car is it ?", "done .", TABLE | TAXI),
    Turn("thank you , bye .", "a red volvo .", TABLE | TAXI),
)


def turn_back(turns: tuple[Turn, ...], spec: str = "turnback", seed: int = 1, goal: Goal | None = None) -> Dialogue:
    corpus = in_memory([Dialogue("d", turns, ("restaurant", "taxi"), goal)], SCHEMA)
    return next(iter(stress(corpus, spec, seed=seed)))


@pytest.mark.parametrize("seed", range(8))
def test_words_and_every_later_state_change(seed: int) -> None:
    turns = turn_back(BOOKING, seed=seed).turns
    [at] = [number for number, turn in enumerate(turns) if turn.stress and "turnback" in turn.stress.tags]
    assert at in (2, 3)  # two turns later at the earliest, and never as a farewell
    [people] = turns[at].state["restaurant-book people"]
    assert people != "4"
    assert [turn.state["restaurant-book people"][0] for turn in turns] == ["4"] * at + [people] * (5 - at)
    added = turns[at].user.removeprefix(BOOKING[at].user)
    assert re.search(rf"\b{people}\b", added) and "number of people" in added and "restaurant" in added
    assert turns[at + 1].system.endswith(" " + BOOKING[at + 1].system)
    assert [turn.stress.tags for turn in turns[at + 1 :] if turn.stress] == [("after",)] * (4 - at)
    assert turns[:at] == BOOKING[:at]


def test_annotations_and_goal_follow() -> None:
    dialogue = turn_back(BOOKING, goal=Goal(inform=dict(TABLE)))
    turn = next(turn for turn in dialogue.turns if turn.stress)
    [frame] = [frame for frame in turn.frames if frame.service == "restaurant"]
    [span], [people] = frame.spans, turn.state["restaurant-book people"]
    assert turn.user[span.start : span.end] == people
    assert frame.acts == (Act("INFORM", "book people", (people,)),) and frame.intent == "book"
    assert dialogue.goal and dialogue.goal.inform == {"restaurant-book people": (people,)}


def last(user: str, system: str = "a red volvo .") -> tuple[Turn, ...]:
    """The booking with another last turn."""
    return (*BOOKING[:4], Turn(user, system, TABLE | TAXI))


@pytest.mark.parametrize(
    "turns",
    [
        last("bye .", "a red volvo for 4 people ."),  # the system would contradict
        last("all 4 people will be there . bye ."),
        BOOKING[:2] + BOOKING[4:],  # only a farewell is left
        (*BOOKING[:4], Turn("bye", "", {**TABLE, **TAXI, "restaurant-book people": ("5",)})),  # changed anyhow
        tuple(Turn(turn.user, turn.system, {**turn.state, "hotel-book people": ("4",)}) for turn in BOOKING),
    ],
)
def test_a_value_that_something_holds_on_to_stays(turns: tuple[Turn, ...]) -> None:
    assert turn_back(turns).turns == turns


def area(name: State) -> tuple[Turn, ...]:
    """A restaurant looked for by its area, then a taxi."""
    state: State = {"restaurant-area": ("north",)}
    return (
        Turn("one in the north .", "", state),
        Turn("yes .", "shall i ?", state | name),
        Turn("a taxi to the station .", "ok", state | name | TAXI),
        Turn("bye", "a red volvo", state | name | TAXI),
    )


def test_what_was_searched_by_stays_once_it_is_found() -> None:
    assert turn_back(area({})).turns[2].state["restaurant-area"] in {("south",), ("centre",)}
    found = area({"restaurant-name": ("nandos",)})
    assert turn_back(found).turns == found


def test_a_value_can_be_left_open() -> None:
    open_before = Dialogue("o", (Turn("anywhere", "", {"restaurant-area": ("dontcare",)}),))
    corpus = in_memory([Dialogue("d", area({})), open_before], SCHEMA)
    turn = next(iter(stress(corpus, "turnback(kinds=[open])"))).turns[2]
    assert turn.state["restaurant-area"] == ("dontcare",)
    assert re.search("any area|care about the area", turn.user.lower())


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(UnknownNameError, match="chnge"):
        create("turnback(kinds=[chnge])")


def test_most_dialogues_of_several_services_get_one() -> None:
    dialogues = list(stress(sample("reminder", None, 60), "turnback"))
    assert sum(any(turn.changed for turn in dialogue.turns) for dialogue in dialogues) >= 30
