"""Responses that say values: what stands in their stead, and the way back from the golden references."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

import dstress
from dstress.corpora.base import Corpus
from dstress.corpora.database import Database, Row
from dstress.dialogue import Schema, Service, Slot
from dstress.predictions.base import Prediction
from dstress.scoring.metrics.bleu import unified
from dstress.scoring.metrics.delexicalisation import Delexicaliser
from dstress.text.detokenised import join_contractions
from dstress.text.placeholders import Placeholders
from tests.parity.official import load

UNSAID = ("?", "free", "hotel", "restaurant")
"""Values that no response says as such."""
KIND = re.compile(r"\b[A-Z]{3,}\b")
COLUMNS = {
    "NAME": "name",
    "ADDRESS": "address",
    "AREA": "area",
    "FOOD": "food",
    "PHONE": "phone",
    "POST": "postcode",
    "PRICE": "pricerange",
    "TYPE": "type",
    "TRAINID": "trainid",
    "PLACE": "destination",
    "DAY": "day",
    "TIME": "leaveat",
}


@pytest.fixture(scope="module")
def small() -> Delexicaliser:
    corpus = Corpus(
        "mine", "", Schema((Service("hotel"), Service("train"), Service("cafe", slots=(Slot("dish"),)))), iter
    )
    tables = {
        "hotel": [
            {"name": "the larkspur inn", "address": "3 mill lane, old town, ely", "area": "north", "type": "guesthouse"}
        ],
        "train": [{"trainid": "TR0123", "departure": "ely", "day": "monday"}],
        "cafe": [{"name": "ely", "dish": "leek pie", "id": "17"}],
    }
    corpus.open_database = lambda: Database(tables)
    return Delexicaliser(corpus)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("The Larkspur Inn is in the north .", "The [hotel_name] is in the [hotel_area] ."),
        ("It is at 3 Mill Lane , Old Town .", "It is at [hotel_address] , [hotel_address] ."),
        ("There are 12 guesthouses , or two .", "There are [choice] [hotel_type] , or [choice] ."),
        ("Call 01223 456789 , postcode cb21ab .", "Call [phone] , postcode [postcode] ."),
        ("Booked , reference AB12CD34 or ab12cd34 .", "Booked , reference [reference] or [reference] ."),
        ("TR9999 leaves Ely at 9:15 am .", "[trainid] leaves [train_departure] at [time] ."),
        ("It takes 51 minutes and costs 23.60 pounds .", "It takes [duration] and costs [price] ."),
        ("The entrance fee is free , feel free to go .", "The entrance fee is [price] , feel free to go ."),
        ("Try the leek pie .", "Try the [cafe_dish] ."),
        ("The old mill is by the lane .", "The old mill is by the lane ."),
        ("", ""),
    ],
)
def test_values_become_placeholders(small: Delexicaliser, response: str, expected: str) -> None:
    assert small.delexicalise(response, {"train-day": "monday"}) == expected


def test_a_value_of_two_services_is_that_of_the_state(small: Delexicaliser) -> None:
    assert (
        small.delexicalise("a train from Ely", {"cafe-dish": "x", "train-day": "y"}) == "a train from [train_departure]"
    )
    said = small.delexicalise("to Norwich on Tuesday", {"train-destination": "norwich", "train-day": "tuesday"})
    assert said == "to [train_destination] on [train_day]"


def test_gold_of_the_embedded_corpus_succeeds_with_its_values_said() -> None:
    """The two that are left are of the states, which name two services at once."""
    corpus = dstress.load("reminder:test")
    answers = [
        Prediction(dialogue.id, number, {slot: forms[0] for slot, forms in turn.state.items()}, response=said)
        for dialogue in corpus
        for number, (turn, said) in enumerate(zip(dialogue.turns, dialogue.responses, strict=True))
    ]
    card = dstress.score(answers, corpus, metrics=["inform", "success"], resamples=2, delexicalise=True)
    assert card["inform"].value == 100 and card["success"].value == pytest.approx(100 * 148 / 150)


def lexicalise(reference: str, rows: list[Row], random: Random) -> str:
    """A golden reference with a value of the database, or a code or number, in place of each kind."""

    def say(kind: re.Match[str]) -> str:
        if kind[0] == "COUNT":
            return str(random.randrange(2, 20))
        if kind[0] == "REFERENCE":
            return "".join(random.choice("ABCDEFGHJK0123456789") for _ in range(8))
        column = COLUMNS[kind[0]]
        said = [row[column] for row in random.sample(rows, 400) if row.get(column, "?") not in UNSAID]
        return said[0].split(", ")[0].removeprefix("the ")

    return KIND.sub(say, reference)


def test_the_way_from_the_golden_references_to_values_and_back(shared: Path) -> None:
    corpus = dstress.load(f"{shared}/data/multiwoz21-raw:test")
    assert corpus.database is not None
    tables = corpus.database.tables
    rows = [*tables["hotel"], *tables["restaurant"], *tables["attraction"], *tables["train"][:300]]
    delexicaliser, placeholders, random = Delexicaliser(corpus), Placeholders(corpus.schema), Random(1)
    references = [
        text for texts in load(shared / "golden/mwzeval/references_mwz21_approx.json").values() for text in texts
    ]
    marked = [text for text in references if KIND.search(text)]
    back = [unified(delexicaliser.delexicalise(lexicalise(text, rows, random), {}), placeholders) for text in marked]
    equal = sum(one == other for one, other in zip(back, marked, strict=True))
    # The rest says values that the references left in words: "15 minutes", "another college".
    assert len(marked) == 4780 and equal / len(marked) > 0.92, equal


def test_what_people_said_comes_near_to_the_golden_references(shared: Path) -> None:
    corpus = dstress.load(f"{shared}/data/multiwoz21-raw:test")
    golden = load(shared / "golden/mwzeval/references_mwz21_approx.json")
    delexicaliser, placeholders, equal = Delexicaliser(corpus), Placeholders(corpus.schema), 0
    for dialogue in corpus:
        for turn, said, expected in zip(dialogue.turns, dialogue.responses, golden[dialogue.id.lower()], strict=True):
            state = {slot: forms[0] for slot, forms in turn.state.items()}
            delexicalised = delexicaliser.delexicalise(join_contractions(said), state)
            equal += unified(delexicalised, placeholders) == expected
    assert equal / 7372 > 0.70, equal
