from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import reminder
from dstress.corpora import load
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError, UnknownNameError
from dstress.stressors.values.dictionary import SHIPPED, Dictionary, count_values, read, shipped, values_of
from dstress.text.slot_names import multiwoz_slots
from dstress.text.times import time_of

SCHEMA = Schema((Service("hotel", slots=(Slot("area", categorical=True, values=("east", "west")), Slot("name"))),))
# How many values the paper's tables have: slots of every kind, counted by hand.
SIZES = {
    "I": {
        "train-leaveat": 54,
        "train-arriveby": 39,
        "taxi-departure": 16,
        "restaurant-name": 12,
        "train-book people": 1,
    },
    "O": {"restaurant-book time": 36, "taxi-leaveat": 18, "train-departure": 8, "hotel-name": 6, "restaurant-food": 8},
    "train-O": {"restaurant-book time": 36, "taxi-arriveby": 19, "train-day": 10, "attraction-type": 5},
}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_dictionary_of_the_paper_has_every_slot_of_multiwoz(name: str) -> None:
    found = shipped(name)
    assert {*found.slots} == {*multiwoz_slots()}
    assert {slot: len(found.pool(slot)) for slot in SIZES[name]} == SIZES[name]


@pytest.mark.parametrize("name", SHIPPED)
def test_values_are_clean(name: str) -> None:
    for slot in shipped(name).slots:
        for value in shipped(name).pool(slot):
            assert value == value.strip().lower() and "  " not in value
            if slot.endswith(("leaveat", "arriveby", "book time")):
                assert time_of(value) is not None, (slot, value)
            if slot.endswith(("people", "stay", "stars")):
                assert value.isdecimal()


def test_train_o_and_o_share_no_unseen_value() -> None:
    one, other = shipped("O"), shipped("train-O")
    for slot in one.slots:
        unseen = {value for value in one.pool(slot) if not one.is_seen(slot, value)}
        assert not unseen & {value for value in other.pool(slot) if not other.is_seen(slot, value)}, slot


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_marked_as_seen_is_in_the_training_data(shared: Path, name: str) -> None:
    trained = values_of(load(f"{shared / 'data/multiwoz21-trade'}:train"))
    marked = shipped(name).marked(trained)
    for slot in marked.slots:
        for value in marked.pool(slot):
            assert marked.is_seen(slot, value) == shipped(name).is_seen(slot, value), (slot, value)


def test_marks_follow_the_training_data() -> None:
    found = Dictionary({"hotel-name": ["Ritz", "savoy"]}).marked({"hotel-name": ["ritz"]})
    assert found.is_seen("hotel-name", "ritz") and not found.is_seen("hotel-name", "savoy")
    assert not found.is_seen("hotel-area", "west")


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("d.toml", "", "empty"),
        ("d.json", "{}", "empty"),
        ("d.json", "[1]", "table of slots"),
        ("d.json", "{", "no JSON"),
        ("d.toml", "a = [", "no TOML"),
        ("d.toml", '"hotel-name" = []', "hotel-name has no values"),
        ("d.toml", '"hotel-name" = "ritz"', "no list"),
        ("d.toml", '"hotel-name" = [" "]', "without letters"),
        ("d.toml", '"hotel-name" = ["ritz", "Ritz"]', "'ritz' twice"),
        ("d.toml", 'seen = {"hotel-name" = ["a"]}\nunseen = {"hotel-name" = ["A"]}', "both as seen and as unseen"),
    ],
)
def test_a_wrong_file_is_told(tmp_path: Path, file: str, text: str, problem: str) -> None:
    (tmp_path / file).write_text(text, "utf-8")
    with pytest.raises(DstressError, match=problem) as told:
        read(tmp_path / file)
    assert file in told.value.where


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="cannot read"):
        read(tmp_path / "none.toml")


def test_a_file_may_have_both_tables_and_numbers(tmp_path: Path) -> None:
    table = {"unseen": {"hotel-name": ["ritz"], "hotel-stars": [7]}, "seen": {"hotel-name": ["savoy"]}}
    (tmp_path / "d.json").write_text(json.dumps(table), "utf-8")
    found = read(tmp_path / "d.json")
    assert found.pool("hotel-name") == ("ritz", "savoy") and found.pool("hotel-stars") == ("7",)
    assert found.is_seen("hotel-name", "Savoy")


def test_an_unknown_slot_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'hotel-name'"):
        Dictionary({"hotel-nam": ["ritz"]}).settled(SCHEMA)


def test_a_slot_in_two_spellings_is_told() -> None:
    with pytest.raises(DstressError, match="hotel-name is there twice"):
        Dictionary({"hotel-name": ["ritz"], "hotel-Name": ["savoy"]}).settled(SCHEMA)


def test_slots_take_the_schemas_spelling() -> None:
    assert Dictionary({"Hotel-NAME": ["ritz"]}).settled(SCHEMA).pool("hotel-name") == ("ritz",)


def test_another_corpus_gets_values_by_kind_and_its_own_categories() -> None:
    found = shipped("O").adapted(reminder.schema("test"))
    assert found.pool("tables-name") == shipped("O").pool("restaurant-name")
    assert found.pool("trips-origin") == shipped("O").pool("train-departure")
    assert found.is_seen("tables-area", "west") and not found.pool("reminders-task")


def test_a_corpus_without_anything_alike_is_told() -> None:
    with pytest.raises(DstressError, match="nothing for the corpus's slots"):
        shipped("O").adapted(Schema((Service("zoo", slots=(Slot("animal"),)),)))


def test_values_are_counted_once_a_dialogue() -> None:
    turns = (Turn("", state={"a-b": ("x", "y")}), Turn("", state={"a-b": ("z",)}), Turn("", state={"a-b": ("x", "y")}))
    every, preferred = count_values([Dialogue("1", turns), Dialogue("2", turns[:1])])
    assert every == {"a-b": {"x": 2, "y": 2, "z": 1}} and preferred == {"a-b": {"x": 2, "z": 1}}
