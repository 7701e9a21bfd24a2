from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.dialogue import Act, Coreference, Dialogue, Frame, Goal, Span, State, Turn
from dstress.text.mentions import find_value
from dstress.text.slot_names import is_named_entity_slot
from tests.paths import DOCS
from tests.strategies import dialogues
from tests.stressors.entities.names import SCHEMA, dialogue, shown, stressed
from tests.stressors.samples import CORPORA, sample

PAGE = DOCS / "stressors" / "entities.md"
LODGE: State = {"hotel-name": ("hamilton lodge",)}


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


def only(done: Dialogue) -> str:
    """The new word for `hamilton`."""
    [value] = done.turns[-1].state["hotel-name"]
    assert value.endswith(" lodge") and Counter(value) == Counter("hamilton lodge") and value != "hamilton lodge"
    return value.split()[0]


def test_a_name_becomes_the_same_everywhere() -> None:
    talk = Dialogue(
        "d",
        (
            Turn("A hotel, please."),
            Turn(
                "Is the HAMILTON's garden nice?",
                "The Hamilton Lodge is free.",
                LODGE,
                frames=(Frame("hotel", spans=(Span("name", 7, 15),), acts=(Act("INFORM", "name", ("Hamilton",)),)),),
                coreferences=(Coreference("hotel-name", "the hamilton", "hamilton lodge", 1),),
            ),
            Turn("And a taxi to hamilton lodge", "Fine.", LODGE | {"taxi-destination": ("hamilton lodge",)}),
        ),
        goal=Goal("Book the Hamilton Lodge.", inform=LODGE, fallback=LODGE),
    )
    [done] = stressed("entities", [talk])
    new = only(done)
    first, second, third = done.turns
    assert first == talk.turns[0]
    assert second.system == f"The {new.capitalize()} Lodge is free."
    assert second.user == f"Is the {new.upper()}'s garden nice?"
    assert second.frames[0].acts[0].values == (new.capitalize(),) and second.frames[0].spans == (Span("name", 7, 15),)
    assert second.coreferences == (Coreference("hotel-name", f"the {new}", f"{new} lodge", 1),)
    assert third.user == f"And a taxi to {new} lodge" and third.state["taxi-destination"] == (f"{new} lodge",)
    assert done.goal == Goal(f"Book the {new.capitalize()} Lodge.", inform=second.state, fallback=second.state)


def test_clitics_are_read_whole() -> None:
    talk = dialogue(("", "I like Rosa 's, and rosa’s lodge.", {"hotel-name": ("rosas lodge",)}))
    [done] = stressed("entities", [talk])
    [value] = done.turns[0].state["hotel-name"]
    stem = value.split()[0][:-1]
    assert done.turns[0].user == f"I like {stem.capitalize()} 's, and {stem}’s lodge."


@pytest.mark.parametrize(
    "user",
    [
        "May I ask something?",
        "I want some curry.",
        "a hotel in hamilton",
        "53 hamilton road",
    ],
)
def test_words_that_are_not_the_name_stay(user: str) -> None:
    state: State = LODGE | {"restaurant-name": ("ask",), "restaurant-food": ("curry",)}
    talk = dialogue(
        (
            "Ask is near the hamilton lodge and the Curry Garden.",
            "yes",
            state | {"taxi-destination": ("curry garden",)},
        ),
        ("", user, state | {"taxi-destination": ("curry garden",)}),
    )
    [done] = stressed("entities", [talk])
    assert only(done) and done.turns[1].user == user


def test_an_ordinary_word_is_the_name_where_it_is_marked() -> None:
    frames = (Frame("restaurant", spans=(Span("name", 11, 14),)),)
    talk = Dialogue("d", (Turn("a table at ask please", "", {"restaurant-name": ("ask",)}, frames),))
    [done] = stressed("entities", [talk])
    [value] = done.turns[0].state["restaurant-name"]
    assert value != "ask" and done.turns[0].user == f"a table at {value} please"


def test_a_name_that_nobody_says_stays() -> None:
    talk = dialogue(("", "the usual", LODGE))
    assert stressed("entities", [talk]) == [talk]


def test_a_misspelled_name_stays_with_its_label() -> None:
    talk = dialogue(("", "the hamiltonn lodge", LODGE), ("It is the Hamilton Lodge.", "yes", LODGE))
    assert stressed("entities", [talk])[0].turns[0].state == LODGE


def test_a_name_inside_another_is_renamed_the_same_way() -> None:
    state: State = {"train-destination": ("cambridge",), "hotel-name": ("cambridge belfry",)}
    talk = dialogue(("", "the Cambridge Belfry, and a train to cambridge", state))
    [done] = stressed("entities", [talk])
    [town], [hotel] = done.turns[0].state["train-destination"], done.turns[0].state["hotel-name"]
    assert hotel.startswith(town + " ") and town != "cambridge"
    assert done.turns[0].user.lower() == f"the {hotel}, and a train to {town}"


def test_other_values_keep_their_words() -> None:
    state: State = {"restaurant-name": ("good luck chinese takeaway",), "restaurant-food": ("chinese",)}
    talk = dialogue(("", "chinese food at the good luck chinese takeaway", state))
    [done] = stressed("entities", [talk])
    assert done.turns[0].state["restaurant-food"] == ("chinese",) and done.turns[0].user.startswith("chinese food at")


@pytest.mark.parametrize("food", ["Thai", "Spicy Thai"])
def test_other_values_keep_their_words_in_capitals_too(food: str) -> None:
    state: State = {"restaurant-food": (food,)}
    named = state | {"restaurant-name": ("Spicy Thai Basil Kitchen",)}
    [done] = stressed(
        "entities",
        [
            dialogue(
                ("", f"I feel like {food} food.", state),
                ("", "Thai Basil Kitchen?", state),
                ("Spicy Thai Basil Kitchen it is.", "Yes.", named),
            )
        ],
    )
    assert done.turns[0].user == f"I feel like {food} food." and done.turns[2].state["restaurant-food"] == (food,)
    assert done.turns[2].state["restaurant-name"] != named["restaurant-name"]


@pytest.mark.parametrize("name", CORPORA)
def test_the_letters_lead_back(name: str, request: pytest.FixtureRequest) -> None:
    """Undoing the words one by one gives the original: no two became one, and none that was there already."""
    corpus = sample(name, request.getfixturevalue("shared") if name != "reminder" else None)
    for before, after in zip(corpus, stressed("entities", list(corpus), corpus.schema), strict=True):
        back: dict[str, str] = {}
        for old, new in zip(before.turns, after.turns, strict=True):
            for one, other in ((old.user, new.user), (old.system, new.system)):
                for word, made in zip(words(one), words(other), strict=True):
                    assert Counter(made.lower()) == Counter(word.lower())
                    assert back.setdefault(made.lower(), word.lower()) == word.lower()
        assert before.id == after.id and len(before.turns) == len(after.turns)


@pytest.mark.parametrize("name", CORPORA)
def test_gold_that_was_said_is_said(name: str, request: pytest.FixtureRequest) -> None:
    corpus = sample(name, request.getfixturevalue("shared") if name != "reminder" else None)
    changed = 0
    for before, after in zip(corpus, stressed("entities", list(corpus), corpus.schema), strict=True):
        for old, new in zip(before.turns, after.turns, strict=True):
            assert old.state.keys() == new.state.keys()
            for slot in (slot for slot in old.state if old.state[slot] != new.state[slot]):
                changed += 1
                assert is_named_entity_slot(slot, corpus.schema)
                was_said, is_said = (find_value(turn.user, slot, turn.state[slot]) for turn in (old, new))
                assert is_said or not was_said
    assert changed > 10


@given(st.lists(dialogues, max_size=3))
def test_any_dialogue_is_survived(talks: list[Dialogue]) -> None:
    for before, after in zip(talks, stressed("entities", talks), strict=True):
        assert len(before.turns) == len(after.turns)
        for old, new in zip(before.turns, after.turns, strict=True):
            assert old.state.keys() == new.state.keys() and len(old.user) == len(new.user)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), st.text(min_size=1, max_size=12))
def test_any_name_is_survived(text: str, name: str) -> None:
    talk = dialogue(("", f"{text} {name} {text}", {"hotel-name": (name,)}))
    [done] = stressed("entities", [talk])
    assert len(done.turns[0].user) == len(talk.turns[0].user)


def test_long_dialogues_are_rewritten() -> None:
    talk = dialogue(*[("", "word " * 900 + "at hamilton lodge", LODGE)] * 44)
    only(stressed("entities", [talk])[0])
    assert is_named_entity_slot("hotel-name", SCHEMA)


def test_the_page_shows_what_happens() -> None:
    found = shown(PAGE)
    assert len(found) >= 3
    for documented, real in found:
        assert documented == real
