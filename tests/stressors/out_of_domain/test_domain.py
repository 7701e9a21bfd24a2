from __future__ import annotations

import pytest

from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.stressors.out_of_domain.stressor import Domain
from tests.stressors.samples import in_memory

SCHEMA = Schema(
    (
        Service(
            "RentalCars_3",
            slots=(Slot("pickup_city"), Slot("size", values=("Compact", "It"))),
        ),
    )
)
CORPUS = [Dialogue("d", (Turn("to Grand Rapids", "", {"RentalCars_3-pickup_city": ("Grand Rapids",)}),))]
DOMAIN = Domain(SCHEMA, CORPUS)


@pytest.mark.parametrize("text", ["How tall is a giraffe?", "Is it getting colder?", "My cat is grand."])
def test_what_has_nothing_to_do_with_the_corpus_is_foreign(text: str) -> None:
    assert DOMAIN.is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "Is it windy in grand rapids?",
        "My compact camera broke.",
        "Which car is the fastest?",
        "Book it, please.",
        "Are there two moons?",
        "See you on Fridays!",
    ],
)
def test_values_slots_and_bookings_are_not(text: str) -> None:
    assert not DOMAIN.is_foreign(text)


def test_only_openings_that_say_something_are_chosen() -> None:
    openings = [
        "Will it hail in Brentwood?",
        "yes, please, thanks",
        "the giraffe",
        "wake me at 7 with a polka",
        "Play a polka now",
        "",
    ]
    foreign = [
        Dialogue(str(number), (Turn(text), Turn("Why do giraffes sleep so little?")))
        for number, text in enumerate(openings)
    ]
    chosen = DOMAIN.foreign_openings(in_memory([*foreign, foreign[0], Dialogue("none", ())], Schema()))
    assert chosen == ["Play a polka now", "Will it hail in Brentwood?"]
