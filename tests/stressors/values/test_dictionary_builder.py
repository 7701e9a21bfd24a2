from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, State, Turn
from dstress.errors import CorpusError, SpecError, UnknownNameError
from dstress.resources import Resources
from dstress.stressors.values.dictionary import build, choose
from tests.stressors.samples import in_memory

SCHEMA = Schema(
    (
        Service("hotel", slots=(Slot("name"), Slot("price", categorical=True, values=("cheap", "moderate", "dear")))),
        Service("train", slots=(Slot("to"), Slot("leave"), Slot("people"))),
    )
)


def corpus(**values: Sequence[str]) -> Corpus:
    """One dialogue for each value of each slot (`hotel_name`)."""
    states: list[State] = [{slot.replace("_", "-"): (value,)} for slot, listed in values.items() for value in listed]
    return in_memory([Dialogue(str(n), (Turn("", state=state),)) for n, state in enumerate(states)], SCHEMA)


KNOWN = ["acorn guest house", "hamilton lodge", "the gonville hotel", "alexander bed and breakfast", "finches inn"]
NEW = ["ruby palace", "old mill hotel", "savoy", "grand plaza hotel", "riverside lodge"]
NOISE = [
    "acron guest house",  # misspelled
    "gonville",  # half
    "hamilton lodge on friday",  # with stray words
    "not(hamilton lodge)",
    "acorn guesthouse",  # other blanks
    "in the",
    "norwich",  # a train's
]
TOWNS = ["norwich", "ely", "london", "cambridge"]


def built(minimum: int = 5, **test: Sequence[str]) -> Mapping[str, tuple[tuple[str, ...], bool]]:
    """Slot -> its pool, and whether that is seen."""
    train = corpus(
        hotel_name=KNOWN * 3,
        train_to=TOWNS * 3,
        hotel_price=["cheap", "dear"] * 3,
        train_leave=["10:15", "11:00", "17:45", "18:00", "after 9"] * 3,
        train_people=["1", "2", "3"] * 3,
    )
    tested = corpus(**test)
    found = build(train, tested, tested.schema, minimum)
    return {slot: (found.pool(slot), found.is_seen(slot, found.pool(slot)[0])) for slot in found.slots}


def test_new_names_are_unseen_and_noise_is_left_out() -> None:
    pool, seen = built(hotel_name=[*NEW, *NOISE])["hotel-name"]
    assert {*pool} == {*NEW} and not seen


def test_too_few_new_values_give_way_to_frequent_seen_ones() -> None:
    pool, seen = built(hotel_name=[*NEW[:4], *NOISE])["hotel-name"]
    assert {*pool} == {*KNOWN} and seen
    assert {*built(4, hotel_name=NEW[:4])["hotel-name"][0]} == {*NEW[:4]}


def test_times_are_times_that_training_does_not_have() -> None:
    times = ["10:16", "5:45 pm", "12:12", "9:30", "23:59", "01:01", "24:30", "friday", "after 13:45", "1715"]
    pool, seen = built(train_leave=times)["train-leave"]
    assert {*pool} == {"10:16", "12:12", "9:30", "23:59", "01:01"} and not seen
    assert built(train_leave=times[:3])["train-leave"] == (("10:15", "11:00", "17:45", "18:00"), True)


def test_numbers_stay_in_a_sane_range() -> None:
    assert built(1, train_people=["4", "5", "0", "700", "few"])["train-people"] == (("4", "5"), False)


def test_categories_come_from_the_schema() -> None:
    found = built(1, hotel_price=["$100", "moderate", "cheap"])["hotel-price"]
    assert found == (("moderate",), False)
    assert built(hotel_price=["$100"])["hotel-price"] == (("cheap", "dear"), True)


def test_what_nobody_says_of_a_yes_or_no_is_no_choice() -> None:
    schema = Schema((Service("hotel", slots=(Slot("smoking", categorical=True, values=("True", "False")),)),))
    turns = [Dialogue(str(n), (Turn("", state={"hotel-smoking": ("True",)}),)) for n in range(6)]
    found = build(turns, turns, schema).adapted(schema)
    assert found.pool("hotel-smoking") == ("True",)


def test_an_unknown_slot_is_measured_by_all_of_training() -> None:
    train = corpus(hotel_name=TOWNS * 3)
    tested = corpus(train_to=TOWNS * 2)
    found = build(train, tested, tested.schema, minimum=1)
    assert {*found.pool("train-to")} == {*TOWNS} and found.is_seen("train-to", "ely")


def test_multiwoz_has_enough_unseen_values_only_among_times(shared: Path) -> None:
    train, test = load(f"{shared / 'data/multiwoz21-trade'}:train"), load(f"{shared / 'data/multiwoz21-raw'}:test")
    found = build(train, test, test.schema)
    unseen = {slot for slot in found.slots if not found.is_seen(slot, found.pool(slot)[0])}
    assert unseen == {"train-arriveby", "train-leaveat"}
    assert all(len(found.pool(slot)) >= 2 for slot in found.slots) and "hotel-name" in found.slots


def resources(test: Corpus) -> Resources:
    def nothing(name: str) -> Corpus:
        if name == "train:train":
            return corpus(hotel_name=KNOWN * 3)
        if name == "other:test":
            return corpus(hotel_name=NEW)
        raise CorpusError(f"no corpus {name}")

    return Resources(SCHEMA, test, nothing, Path())


def test_a_dictionary_is_built_from_the_corpus_or_from_another() -> None:
    own = choose("built", resources(corpus(hotel_name=[*NEW[:4], "ritz"])), "train:train", 5)
    assert "ritz" in own.pool("hotel-name")
    assert {*choose("other:test", resources(corpus()), "train:train", 5).pool("hotel-name")} == {*NEW}


def test_building_needs_a_training_corpus() -> None:
    with pytest.raises(SpecError, match="needs a training corpus"):
        choose("built", resources(corpus()), "", 5)


def test_a_misspelled_dictionary_is_told() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'built'"):
        choose("bulit", resources(corpus()), "", 5)


def test_a_training_corpus_marks_a_shipped_dictionary() -> None:
    found = choose("O", resources(corpus()), "train:train", 5)
    assert not found.is_seen("hotel-name", "grand hyatt")
