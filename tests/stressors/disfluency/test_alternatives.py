from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.stressors.disfluency.alternatives import Alternatives, is_sayable, shift_surface, squash
from tests.strategies import texts

SCHEMA = Schema(
    (
        Service(
            "hotel",
            slots=(
                Slot("type", categorical=True, values=("hotel", "guesthouse")),
                Slot("name"),
                Slot("parking", categorical=True, values=("yes", "no")),
                Slot("stars", categorical=True, values=("1", "2", "3", "4", "5")),
                Slot("kind", categorical=True, values=("swimmingpool", "museum", "park")),
            ),
        ),
    )
)


def dialogue(number: int, slot: str, value: str, text: str) -> Dialogue:
    return Dialogue(f"d{number}", (Turn(text, "", {slot: (value,)}),), ("hotel",))


CORPUS = [
    dialogue(1, "hotel-name", "kings lodge", "at the Kings Lodge please"),
    dialogue(2, "hotel-name", "kings lodge", "at the kings lodge please"),
    dialogue(3, "hotel-name", "kings lodge", "Kings Lodge"),
    dialogue(4, "hotel-name", "acorn house", "Is Acorn House free?"),
    dialogue(5, "hotel-name", "kings", "the Kings"),
    dialogue(6, "hotel-name", "21 mill road", "21 Mill Road"),
    dialogue(7, "hotel-name", "never said", "the one you know"),
    dialogue(8, "hotel-name", "acorn housekeeping", "acorn housekeepings"),
    dialogue(9, "hotel-parking", "yes", "yes, parking"),
    dialogue(10, "hotel-kind", "museum", "A museum"),
    dialogue(11, "hotel-kind", "park", "any park"),
]


@pytest.mark.parametrize(
    ("surface", "some", "never"),
    [
        ("9:15", ["8:15", "9:45"], ["13:15"]),
        ("09:45", ["08:45", "09:15"], ["8:45"]),
        ("23:30", ["22:30", "23:00"], ["24:30"]),
        ("5 pm", ["4 pm", "6 pm"], ["0 pm"]),
        ("12 PM", ["11 PM"], ["13 PM"]),
        ("7.45pm", ["6.45pm", "7.15pm"], []),
        ("evening 10:30", ["evening 9:30", "evening 11:30"], ["evening 12:30", "evening 13:30"]),
        ("afternoon 4", ["afternoon 3", "afternoon 5"], ["afternoon 6"]),
        ("ten in the morning", ["nine in the morning"], ["twelve in the morning"]),
        ("29 bucks", ["28 bucks", "30 bucks"], []),
        ("quarter to three", ["quarter to two", "quarter to four"], []),
        ("Monday", ["Tuesday", "Sunday"], ["Monday", "tuesday"]),
        ("next THURSDAY", ["next FRIDAY"], []),
        ("4", ["3", "5"], ["0", "4"]),
        ("1", ["2"], ["0"]),
        ("Four", ["Three", "Five"], []),
        ("the 21st", ["the 20th", "the 22nd", "the 23rd"], ["the 20st"]),
        ("2ND", ["1ST", "3RD"], []),
        ("28 october", ["27 october"], ["30 october", "29 october"]),
        ("$1,320", ["$1,220", "$1,420"], []),
        ("2019", ["2018", "2020"], ["2119"]),
        ("cheap", ["moderate", "expensive"], []),
        ("Northern", ["Southern"], []),
    ],
)
def test_numbers_times_and_days_are_changed_in_place(surface: str, some: list[str], never: list[str]) -> None:
    shifted = shift_surface(surface)
    assert set(some) <= set(shifted)
    assert not set(never) & set(shifted)
    assert surface not in shifted


@pytest.mark.parametrize("surface", ["Kings Lodge", "restaurant two two", "72 Turnpike Road", "myself", "", "۴", "?"])
def test_names_are_not_numbers(surface: str) -> None:
    assert shift_surface(surface) in ((), shift_surface("4") if surface == "۴" else ())


def test_other_values_are_those_that_users_say_as_they_write_them() -> None:
    pool = Alternatives(SCHEMA, CORPUS)
    assert pool.others("hotel-name", "Acorn House", ("acorn house",)) == (
        "Kings",
        "Kings Lodge",
    )
    assert pool.others("hotel-name", "acorn house", ("acorn house",)) == (
        "kings",
        "kings lodge",
    )
    assert pool.others("hotel-name", "ACORN HOUSE", ("acorn house",)) == (
        "KINGS",
        "KINGS LODGE",
    )


def test_a_value_inside_the_other_one_is_no_alternative() -> None:
    assert Alternatives(SCHEMA, CORPUS).others("hotel-name", "Kings", ("kings",)) == ("Acorn House",)


def test_a_categorical_value_that_nobody_says_is_not_offered() -> None:
    assert Alternatives(SCHEMA, CORPUS).others("hotel-kind", "museum", ("museum",)) == ("park",)


def test_a_plural_is_answered_with_plurals() -> None:
    assert Alternatives(SCHEMA, CORPUS).others("hotel-kind", "museums", ("museum",)) == ("parks",)


def test_without_a_corpus_the_schema_has_to_do() -> None:
    assert Alternatives(SCHEMA, []).others("hotel-type", "Guest house", ("guesthouse",)) == ("Hotel",)


@pytest.mark.parametrize(
    ("slot", "surface", "forms"),
    [
        ("hotel-parking", "parking", ("yes",)),
        ("hotel-name", "any", ("dontcare",)),
        ("hotel-name", "just me", ("1",)),
        ("hotel-none", "what", ("what",)),
    ],
)
def test_some_values_cannot_be_mistaken(slot: str, surface: str, forms: tuple[str, ...]) -> None:
    assert not list(Alternatives(SCHEMA, CORPUS).others(slot, surface, forms))


def test_there_are_no_six_stars() -> None:
    assert Alternatives(SCHEMA, CORPUS).others("hotel-stars", "4", ("4",)) == ("2", "3", "5")
    assert Alternatives(SCHEMA, CORPUS).others("hotel-stars", "Four", ("4",)) == ("Two", "Three", "Five")


def test_an_acronym_is_not_mistaken_for_a_name() -> None:
    assert Alternatives(SCHEMA, CORPUS).others("hotel-name", "YHA", ("yha",)) == ()


def test_what_was_said_once_is_left_out_where_there_is_more() -> None:
    often = [dialogue(number, "hotel-name", f"inn {name}", f"inn {name}") for number, name in enumerate("abcdabcd")]
    pool = Alternatives(SCHEMA, [*often, *CORPUS]).others("hotel-name", "elsewhere", ("elsewhere",))
    assert pool == ("inn a", "inn b", "inn c", "inn d", "kings lodge")


def test_the_pool_does_not_depend_on_the_order_of_the_corpus() -> None:
    forwards, backwards = Alternatives(SCHEMA, CORPUS), Alternatives(SCHEMA, CORPUS[::-1])
    assert forwards.others("hotel-name", "Elsewhere", ("elsewhere",)) == backwards.others(
        "hotel-name", "Elsewhere", ("elsewhere",)
    )


@given(texts)
def test_shifts_keep_everything_but_one_stretch(surface: str) -> None:
    for other in shift_surface(surface):
        assert other != surface
        assert squash(other) != squash(surface)


@given(st.text())
def test_what_is_sayable_has_letters_and_no_digits(value: str) -> None:
    if is_sayable(value):
        assert squash(value)
        assert not any(character.isdigit() for character in value)
