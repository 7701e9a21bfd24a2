"""Which samples pass, and which come first."""

from __future__ import annotations

import pytest

from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.stressors.generators import Goal, Request
from dstress.stressors.generators.goals import own_goal
from dstress.stressors.generators.learned.choice import Usage, choose, find_problem
from dstress.text.utterance import Utterance

SLOTS = tuple(map(Slot, ("area", "name", "pricerange", "book people", "book stay")))
SCHEMA = Schema((Service("hotel", slots=SLOTS),))
DIALOGUE = Dialogue(
    "d1",
    (
        Turn("i want a hotel in the north .", state={"hotel-area": ("north",)}),
        Turn(
            "yes , for 3 people please . what is the phone number ?",
            system="the acorn lodge is free . shall i book it ?",
            state={"hotel-area": ("north",), "hotel-name": ("acorn lodge",), "hotel-book people": ("3",)},
        ),
    ),
    ("hotel",),
)


class Train:
    schema = SCHEMA

    def __iter__(self):
        return iter([DIALOGUE] * 12)


USAGE = Usage.learn(Train())


def request(turn: int, goal: Goal | None = None) -> Request:
    utterance = Utterance(DIALOGUE, turn, SCHEMA, (1, "key"))
    return Request(utterance.turn.system, goal or own_goal(utterance), utterance, keeps=goal is None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("could you find me a hotel ? north side , if you can .", ""),
        ("could you find me a hotel ?", "not said: hotel-area"),
        ("could you find me something in the north ?", "the service is not named: hotel"),
        ("could you find me a hotel in the north for 4 people ?", "a count beyond the goal: 4 people"),
        ("could you find me a hotel in the north ? the acorn lodge .", "a value beyond the goal: acorn lodge"),
        ("could you find me a hotel in the north ? what is the postcode ?", "a request beyond the goal: asks postcode"),
        ("could you find me a hotel in the north near the museum ?", "another service is named: attraction"),
        ("the same hotel in the north , please", "an act beyond the goal: same"),
        ("not a hotel in the north", "a negation beyond the goal"),
    ],
)
def test_what_another_goal_must_say_and_no_more(text: str, problem: str) -> None:
    assert find_problem(request(0, Goal({"hotel-area": "north"})), text, USAGE) == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("yes , 3 people . can i have the telephone number ?", ""),
        ("yes , 3 people .", "a request came or went"),
        ("3 people . can i have the telephone number ?", "an act came or went: yes"),
        ("yes , 3 people for 2 nights . can i have the phone number ?", "a count beyond the goal: 2 nights"),
        ("yes , 3 people . phone number ? . .", "it is badly written"),
    ],
)
def test_what_a_paraphrase_keeps(text: str, problem: str) -> None:
    assert find_problem(request(1), text, USAGE) == problem


def test_a_value_stands_where_training_says_it() -> None:
    problem = find_problem(request(0, Goal({"hotel-name": "ritz"})), "i want a hotel in the ritz .", USAGE)
    assert problem == "name stands where other slots' values stand: in the _"


def test_new_wording_comes_first_and_unlikely_wording_never() -> None:
    usual, new, unlikely = "i want a hotel in the south .", "south is fine for my hotel .", "hotel to be at south had ."
    made = choose(request(0, Goal({"hotel-area": "south"})), {usual: -0.3, new: -0.6, unlikely: -2.0}, USAGE, 5)
    assert [candidate.text for candidate in made] == [new, usual]
