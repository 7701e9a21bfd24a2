from __future__ import annotations

from pathlib import Path

import pytest

from dstress.dialogue import Dialogue, State, Turn
from dstress.stressors.generators.base import Goal
from dstress.stressors.generators.goals import own_goal
from dstress.stressors.generators.matching import find_oversaid, find_unsaid
from dstress.text.utterance import Utterance
from tests.stressors.samples import sample


@pytest.mark.parametrize(
    ("text", "said", "missing"),
    [
        ("a table for 3 at 18:15", {"restaurant-book people": "3", "restaurant-book time": "18:15"}, ()),
        ("a table for three at 6:15 pm", {"restaurant-book people": "3", "restaurant-book time": "18:15"}, ()),
        ("a table for 3", {"restaurant-book people": "3", "restaurant-book time": "18:15"}, ("restaurant-book time",)),
        ("free wifi please", {"hotel-internet": "yes"}, ()),
        ("no parking needed", {"hotel-parking": "yes"}, ("hotel-parking",)),
        ("yes please", {"hotel-parking": "yes"}, ("hotel-parking",)),  # yes to what?
        ("no", {"hotel-internet": "no"}, ("hotel-internet",)),
        ("without parking or internet", {"hotel-parking": "no", "hotel-internet": "no"}, ()),
        ("any area and any price is fine", {"hotel-area": "dontcare", "hotel-pricerange": "dontcare"}, ()),
        ("no , on monday", {"hotel-area": "dontcare", "hotel-book day": "monday"}, ("hotel-area",)),
        ("for 3 nights", {"hotel-book people": "3", "hotel-book stay": "3"}, ("hotel-book people",)),
        ("3 people for 3 nights", {"hotel-book people": "3", "hotel-book stay": "3"}, ()),
        (
            "the lure fish house",
            {"restaurant-name": "lure fish house", "restaurant-food": "fish"},
            ("restaurant-food",),
        ),
        ("lure fish house for fish", {"restaurant-name": "lure fish house", "restaurant-food": "fish"}, ()),
        ("moderately priced", {"hotel-pricerange": "moderate"}, ()),
        ("", {"hotel-area": "west", "hotel-stars": "4"}, ("hotel-area", "hotel-stars")),
    ],
)
def test_every_value_needs_words_of_its_own(text: str, said: dict[str, str], missing: tuple[str, ...]) -> None:
    assert find_unsaid(text, Goal(said)) == missing


def test_what_is_taken_needs_no_words() -> None:
    assert find_unsaid("for 3 people", Goal({"hotel-book people": "3"}, {"hotel-name": "the ritz"})) == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("leaving at 18:15 on monday for 3 people", ""),
        ("leaving on monday for 3 people , arriving by 20:30", "a time beyond the goal: 20:30"),
        ("on monday or tuesday for 3 people", "a day beyond the goal: tuesday"),
        ("on monday april 12th for 3 people", "a day beyond the goal: april 12th"),
        ("3 people on monday for 2 nights", "a count beyond the goal: 2 nights"),
        ("a four star place on monday for 3 people", "a count beyond the goal: four star"),
        ("on monday , 3 people , leaving at 6 pm", "a time beyond the goal: 6 pm"),
        ("is there 1 guest house for 3 people on the 1st floor", ""),
        ("3 of us on monday , at the 2 rooms tavern", ""),
    ],
)
def test_what_is_plainly_beyond_the_goal_is_told(text: str, reason: str) -> None:
    taken = {"train-leaveat": "18:15", "hotel-name": "2 rooms tavern"}
    assert find_oversaid(text, Goal({"train-day": "monday", "train-book people": "3"}, taken)) == reason


def test_people_mostly_say_their_own_goal_and_no_more(shared: Path) -> None:
    corpus = sample("multiwoz", shared, 60)
    goals = [
        (turn.user, goal)
        for dialogue in corpus
        for at, turn in enumerate(dialogue.turns)
        if (goal := own_goal(Utterance(dialogue, at, corpus.schema, (1,)))).spoken
    ]
    assert len(goals) > 150
    assert sum(not find_unsaid(*one) for one in goals) > 0.98 * len(goals)
    assert sum(not find_oversaid(*one) for one in goals) > 0.94 * len(goals)


def test_another_goal_is_not_in_the_words() -> None:
    state: State = {"hotel-area": ("west",)}
    said = Utterance(Dialogue("d", (Turn("in the west", state=state),)), 0, sample("reminder", None).schema, (1,))
    assert own_goal(said) == Goal({"hotel-area": "west"})
    assert find_unsaid(said.text, Goal({"hotel-area": "east"})) == ("hotel-area",)
