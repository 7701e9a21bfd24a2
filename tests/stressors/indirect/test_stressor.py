"""Values that are implied: one a turn, nothing else lost, and no other value that the same words could mean."""

from __future__ import annotations

import re

import pytest

from dstress.dialogue import Dialogue, Schema, Service, Slot, State, Turn
from dstress.errors import UnknownNameError
from dstress.pipeline.stress import stress
from dstress.stressors import create
from dstress.stressors.base import Rewrite
from dstress.stressors.indirect.stressor import Indirect, _kinds
from dstress.text.mentions import find_value
from dstress.text.utterance import Utterance
from tests.paths import DOCS
from tests.stressors.samples import in_memory, sample

SLOTS = ("pricerange", "book day", "book people", "area", "food", "type", "parking", "name")
SCHEMA = Schema((Service("hotel", slots=tuple(map(Slot, SLOTS))),))


def imply(user: str, spec: str = "indirect", seed: int = 1, **label: str) -> Turn:
    state: State = {f"hotel-{slot.replace('_', ' ')}": (value,) for slot, value in label.items()}
    return next(iter(stress(in_memory([Dialogue("d", (Turn(user, state=state),))], SCHEMA), spec, seed=seed))).turns[0]


@pytest.mark.parametrize(
    ("user", "label", "ways"),
    [
        (
            "i need an expensive hotel in ely .",
            {"pricerange": "expensive"},
            {
                "i need a hotel in ely . money is no object .",
                "i need a hotel in ely . i am happy to spend a lot .",
                "i need a hotel in ely . i want to splash out .",
            },
        ),
        (
            "A hotel in the moderate price range? Thanks!",
            {"pricerange": "moderate"},
            {
                "A hotel? Nothing too fancy, but no dive either. Thanks!",
                "A hotel? It should be neither a bargain nor a splurge. Thanks!",
            },
        ),
        (
            "Cheap, please.",
            {"pricerange": "cheap"},
            {"I'm a bit short of cash.", "I can't spend much.", "I have to count my pennies."},
        ),
        ("for six people", {"book_people": "6"}, {"for me and five friends", "for half a dozen of us"}),
        ("I need 3 tickets.", {"book_people": "3"}, {
            "I need tickets for me and two friends.", "I need tickets for me and both my parents."
        }),
        ("something in the centre of town?", {"area": "centre"}, {
            "something right by the market square?", "something within sight of the market square?",
            "something where all the shops are?",
        }),
        ("an Indian restaurant", {"food": "indian"}, {
            "a restaurant with tikka masala on the menu", "a restaurant with curry and naan on the menu"
        }),
        ("serving thai food", {"food": "thai"}, {"serving tom yum soup", "serving green papaya salad"}),
        ("any swimming pools?", {"type": "swimming pool"}, {"any places to do a few lengths?"}),
        ("A hotel with free parking.", {"parking": "yes"}, {
            "A hotel. I'll be driving there.", "A hotel. I'm bringing my own vehicle."
        }),
    ],
)  # fmt: skip
def test_what_is_implied_stands_in_the_place_of_what_was_said(user: str, label: dict[str, str], ways: set[str]) -> None:
    turns = [imply(user, seed=seed, **label) for seed in range(40)]
    assert {turn.user for turn in turns} == ways
    assert all(turn.state == turn.original.state for turn in turns)
    tags = {turn.stress.tags for turn in turns if turn.stress}
    assert len(tags) == 1 and next(iter(tags))[0].startswith("implied ")


@pytest.mark.parametrize(
    ("user", "label"),
    [
        ("on tuesday , yes , tuesday", {"book_day": "tuesday"}),  # said twice
        ("this coming tuesday", {"book_day": "tuesday"}),
        ("tuesday morning", {"book_day": "tuesday"}),
        ("tuesday or wednesday", {"book_day": "tuesday"}),
        ("for 2 nights", {"book_people": "2"}),  # the label is about something else
        ("just me", {"book_people": "1"}),  # implied already
        ("it's four people and not two", {"book_people": "4"}),
        ("one ticket please", {"book_people": "1"}),
        ("it should be in the cheap price range and nice", {"pricerange": "cheap"}),  # would leave half a sentence
        ("a modern european restaurant", {"food": "modern european"}),  # nothing implies it
        ("called the west , in the west of town", {"name": "the west"}),  # a name
    ],
)
def test_what_cannot_be_turned_around_stays(user: str, label: dict[str, str]) -> None:
    assert imply(user, **label).user == user


@pytest.mark.parametrize(
    ("user", "kind", "label", "ways"),
    [
        (
            "Tuesday at 5",
            "day",
            {"book_day": "tuesday"},
            {"The day after Monday at 5", "The day before Wednesday at 5"},
        ),
        ("on tuesday", "day", {"book_day": "tuesday"}, {"on the day after monday", "on the day before wednesday"}),
        ("in the west of town?", "compass", {"area": "west"}, {"on the side of town where the sun sets?"}),
    ],
)
def test_riddles_are_told_only_where_they_are_asked_for(
    user: str, kind: str, label: dict[str, str], ways: set[str]
) -> None:
    assert {imply(user, f"indirect(kinds=[{kind}])", seed, **label).user for seed in range(40)} == ways
    assert {imply(user, seed=seed, **label).user for seed in range(40)} == {user}


def test_the_sentence_that_follows_is_written_as_the_corpus_writes() -> None:
    texts = ("i am looking for a place in ely with free parking", "i need a hotel . thanks .")
    state: State = {"hotel-parking": ("yes",)}
    dialogues = [Dialogue(str(n), (Turn(text, state=state),)) for n, text in enumerate(texts)]
    first = next(iter(stress(in_memory(dialogues, SCHEMA), "indirect"))).turns[0]
    assert re.fullmatch(r"i am looking for a place in ely \. i[a-z ]+ \.", first.user)


def test_one_value_a_turn_and_all_others_stay_said() -> None:
    user = "a cheap hotel serving thai food in the centre for 3 people"
    label = {"pricerange": "cheap", "area": "centre", "book_people": "3", "food": "thai"}
    turns = [imply(user, seed=seed, **label) for seed in range(30)]
    for turn in turns:
        lost = [slot for slot, forms in turn.state.items() if not find_value(turn.user, slot, forms)]
        assert len(lost) == 1
    assert len({turn.stress.tags for turn in turns if turn.stress}) == 4


def test_the_guard_knows_the_implied_value_from_a_lost_one() -> None:
    turn = Turn("a cheap hotel in the north", state={"hotel-pricerange": ("cheap",), "hotel-area": ("north",)})
    utterance = Utterance(Dialogue("d", (turn,)), 0, SCHEMA, (1,))

    def object_to(text: str, tag: str = "implied price") -> str:
        return Indirect().objection(utterance, Rewrite(text, tags=(tag,)))

    assert not object_to("a hotel in the north. i am short of cash.")
    assert object_to("a hotel. i am short of cash.") == "a value was no longer said"
    assert object_to("a cheap hotel. i am short of cash.") == "a value was no longer said"
    assert object_to("a cheap hotel in the north. i am short of cash.") == "the value was still said"
    assert object_to("a hotel in the north. i am short of cash.", "implied area") == "a value was no longer said"


def test_kinds_can_be_chosen() -> None:
    user = "a cheap hotel on monday"
    turn = imply(user, "indirect(kinds=[day])", pricerange="cheap", book_day="monday")
    assert turn.user.startswith("a cheap hotel on the ")
    with pytest.raises(UnknownNameError, match="colour"):
        create("indirect(kinds=[colour])")


@pytest.mark.parametrize("kind", list(_kinds()))
def test_no_two_values_are_implied_by_the_same_words(kind: str) -> None:
    ways = [(way, value.replace(" ", "")) for value, ways in _kinds()[kind].implications.items() for way in ways]
    assert len({way for way, _ in ways}) == len(set(ways))


@pytest.mark.parametrize(
    ("slot", "kind"),
    [("pricerange", "price"), ("book day", "day"), ("book people", "people"), ("area", "area"), ("area", "compass"),
     ("food", "food"), ("type", "sight"), ("parking", "parking"), ("internet", "internet")],
)  # fmt: skip
def test_what_implies_a_value_does_not_say_it(slot: str, kind: str) -> None:
    for value, ways in _kinds()[kind].implications.items():
        assert not [way for way in ways if find_value(way, f"hotel-{slot}", (value,))], value


def test_the_examples_of_the_docs_are_true() -> None:
    text = (DOCS / "stressors/indirect.md").read_text(encoding="utf-8")
    block = text.partition("```reminder\n")[2].partition("```")[0]
    dialogues = {dialogue.id: dialogue for dialogue in stress(sample("reminder", None, 150), "indirect", seed=17)}
    examples = block.strip().split("\n\n")
    assert len(examples) >= 4
    for example in examples:
        place, before, after = example.splitlines()
        name, number = re.fullmatch(r"(\S+) turn (\d+)", place).groups()  # type: ignore[union-attr]
        turn = dialogues[name].turns[int(number)]
        assert (f"- {turn.original.user}", f"+ {turn.user}") == (before, after)
