from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import reminder
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Intent, Schema, Service, Slot, Turn, service_of
from dstress.errors import CorpusError, DstressError, SpecError, UnknownNameError
from dstress.resources import Resources
from dstress.stressors.counterfactual.combinations import (
    SHIPPED,
    Combinations,
    UpdateCounts,
    build,
    choose,
    count_updates,
    read,
    shipped,
)
from dstress.stressors.values.dictionary import Dictionary
from dstress.text.slot_names import multiwoz_slots
from tests.stressors.samples import in_memory

SCHEMA = Schema((Service("hotel", slots=tuple(Slot(name) for name in ("area", "stars", "book day", "name"))),))
# How many combinations the paper's tables have in all, and for some slots: counted by hand.
SIZES = {"freq": 83, "neu": 173, "rare": 93}
MULTIWOZ = Schema(
    tuple(
        Service(
            name, slots=tuple(Slot(slot.partition("-")[2]) for slot in multiwoz_slots() if service_of(slot) == name)
        )
        for name in dict.fromkeys(map(service_of, multiwoz_slots()))
    )
)


def nothing(name: str) -> Corpus:
    raise CorpusError(f"no corpus {name}")


def resources(schema: Schema) -> Resources:
    return Resources(schema, (), nothing, Path())


def pairs(combinations: Combinations) -> set[tuple[str, str]]:
    """All combinations within a service."""
    return {
        (slot, partner)
        for slot in combinations.slots
        for partner in combinations.of(slot)
        if service_of(slot) == service_of(partner)
    }


@pytest.mark.parametrize("name", SHIPPED)
def test_a_dictionary_of_the_paper_has_every_slot_of_multiwoz_and_no_other(shared: Path, name: str) -> None:
    known = load(f"{shared / 'data/multiwoz21-trade'}:test").schema.slots
    combinations = shipped(name)
    assert {*combinations.slots} == {*known} == {*multiwoz_slots()}
    assert sum(len(combinations.of(slot)) for slot in combinations.slots) == SIZES[name]
    for slot in combinations.slots:
        assert list(combinations.of(slot)) == [other for other in known if other in combinations.of(slot)], (
            "in schema order"
        )


def test_the_tables_say_what_the_paper_says_of_them() -> None:
    freq, neu, rare = map(shipped, SHIPPED)
    assert freq.of("restaurant-book people") == ("restaurant-book day", "restaurant-book time")  # section 5.1
    assert rare.of("restaurant-book people") == (
        "restaurant-area", "restaurant-food", "restaurant-name", "restaurant-pricerange",
    )  # fmt: skip
    assert not rare.of("taxi-departure") and not freq.of("train-book people")
    outside = pairs(rare) - pairs(neu)
    assert outside == {("attraction-area", "attraction-name")}  # as printed


def test_only_what_goes_with_every_active_slot_is_added() -> None:
    combinations = Combinations({"a-x": ["a-y", "a-z", "a-w"], "a-y": ["a-w", "a-z", "a-x"], "a-v": ["a-w"]})
    assert combinations.addable(["a-x", "a-y"]) == ("a-z", "a-w")
    assert combinations.addable(["a-x", "a-v"]) == ("a-w",)
    assert combinations.addable(["a-x", "a-w"]) == ()  # a-w has no list
    assert combinations.addable([]) == ()


@given(st.lists(st.sampled_from(multiwoz_slots()), unique=True, max_size=4), st.sampled_from(SHIPPED))
def test_addable_is_the_intersection(active: list[str], name: str) -> None:
    combinations = shipped(name)
    sets = [{*combinations.of(slot)} for slot in active]
    assert {*combinations.addable(active)} == (set.intersection(*sets) - {*active} if sets else set())
    assert {*combinations.addable(active)} == {*combinations.addable(active[::-1])}


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("c.toml", "", "empty"),
        ("c.json", "{}", "empty"),
        ("c.toml", '"hotel-area" = []', "empty"),
        ("c.json", "[1]", "table of slots"),
        ("c.json", "{", "no JSON"),
        ("c.json", '{"hotel-area": ["hotel-stars"], "hotel-area": []}', "'hotel-area' is there twice"),
        ("c.toml", '"hotel-area" = "hotel-stars"', "no list of slots"),
        ("c.toml", '"hotel-area" = [3]', "no list of slots"),
        ("c.toml", '"hotel-area" = ["hotel-area"]', "combined with itself"),
        ("c.toml", '"hotel-area" = ["hotel-stars", "hotel-stars"]', "hotel-stars twice"),
    ],
)
def test_a_wrong_file_is_told(tmp_path: Path, file: str, text: str, problem: str) -> None:
    (tmp_path / file).write_text(text, "utf-8")
    with pytest.raises(DstressError, match=problem) as raised:
        read(tmp_path / file)
    assert file in raised.value.where


@pytest.mark.parametrize(
    ("lists", "problem"),
    [
        ({"hotel-area": ["hotel-starz"]}, "did you mean 'hotel-stars'"),
        ({"hotel-aera": ["hotel-stars"]}, "did you mean 'hotel-area'"),
        ({"hotel-area": ["hotel-stars"], "hotel-Area": ["hotel-name"]}, "hotel-area is there twice"),
        ({"hotel-area": ["hotel-Area"]}, "combined with itself"),
    ],
)
def test_slots_that_the_schema_has_not_so_are_told(lists: dict[str, list[str]], problem: str) -> None:
    with pytest.raises(DstressError, match=problem):
        Combinations(lists).settled(SCHEMA)


def test_a_persons_own_file_takes_the_schemas_spelling_and_order(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(json.dumps({"hotel-name": ["hotel-book_day", "Hotel-area"]}), "utf-8")
    combinations = choose(str(tmp_path / "own.json"), resources(SCHEMA), None)
    assert combinations.of("hotel-name") == ("hotel-area", "hotel-book day")


def test_dictionaries_that_share_no_slot_are_told_by_both_names() -> None:
    values = Dictionary({"hotel-area": ["west"]}, where="my values")
    Combinations({"hotel-stars": ["hotel-area", "hotel-name"]}).check(values)  # hotel-name is just never added
    with pytest.raises(DstressError, match="my lists and my values contradict"):
        Combinations({"hotel-area": ["hotel-stars"]}, where="my lists").check(values)


def test_the_papers_names_mean_its_tables_only_for_multiwoz() -> None:
    assert pairs(choose("rare", resources(MULTIWOZ), None)) == pairs(shipped("rare"))
    with pytest.raises(SpecError, match="needs a training corpus"):
        choose("rare", resources(reminder.schema("test")), None)
    with pytest.raises(SpecError, match="needs a training corpus"):
        choose("built-rare", resources(MULTIWOZ), None)
    with pytest.raises(UnknownNameError, match="did you mean 'rare'"):
        choose("rar", resources(MULTIWOZ), None)


def turns(*updates: str) -> Dialogue:
    """A dialogue of which every turn gives new values to the slots named."""
    state: dict[str, tuple[str, ...]] = {}
    listed = []
    for number, update in enumerate(updates):
        state = state | {f"hotel-{slot}": (str(number),) for slot in update.split("+") if slot}
        listed.append(Turn("", state=state))
    return Dialogue("d", tuple(listed))


def test_counts_are_of_turns() -> None:
    counts = count_updates([turns("area+stars", "area", "name"), turns("", "area+name")])
    assert counts.services == {"hotel": 4} and counts.slots["hotel-area"] == 3
    assert counts.pairs["hotel-area", "hotel-stars"] == counts.pairs["hotel-stars", "hotel-area"] == 1
    assert counts.lift("hotel-area", "hotel-name") == pytest.approx(1 * 4 / (3 * 2))
    assert UpdateCounts(counts.services, counts.slots, counts.pairs).lift("hotel-area", "hotel-x") == 0


def test_frequent_and_rare_part_the_pairs_that_are_told() -> None:
    counts = count_updates([turns(*["area+stars"] * 9, *["book day"] * 9, "name")])
    freq, neu, rare = (build(name, counts, SCHEMA) for name in SHIPPED)
    assert freq.of("hotel-area") == ("hotel-stars",)
    assert rare.of("hotel-area") == ("hotel-book day",)  # a name is said too seldom to be missed
    assert neu.of("hotel-area") == ("hotel-stars", "hotel-book day")
    with pytest.raises(DstressError, match="no slots that could be combined as rare"):
        build("rare", count_updates([turns(*["area+stars"] * 9)]), SCHEMA)


def test_a_service_that_training_does_not_know_goes_by_its_intents() -> None:
    slots = tuple(Slot(name) for name in ("a", "b", "c", "d"))
    intents = (Intent("one", required=("a",), optional={"b": ""}), Intent("two", required=("b", "c")))
    schema = Schema((*SCHEMA.services, Service("new", slots=slots, intents=intents), Service("bare", slots=slots[:2])))
    counts = count_updates([turns("area+stars")])
    for combinations in (build(name, counts, schema) for name in SHIPPED):
        assert combinations.of("new-a") == ("new-b",) and combinations.of("new-b") == ("new-a", "new-c")
        assert not combinations.of("new-d") and combinations.of("bare-a") == ("bare-b",)


def test_the_rule_agrees_with_the_papers_tables(shared: Path) -> None:
    train = load(f"{shared / 'data/multiwoz21-trade'}:train")
    counts = count_updates(train)
    derived = {name: build(name, counts, train.schema) for name in SHIPPED}
    measured = {}
    for name in SHIPPED:
        own, papers = pairs(derived[name]), pairs(shipped(name))
        measured[name] = round(len(own & papers) / len(own), 2), round(len(own & papers) / len(papers), 2)
    assert measured == {"freq": (0.82, 0.91), "neu": (0.96, 1.0), "rare": (0.86, 0.83)}
    assert not pairs(derived["freq"]) & pairs(derived["rare"])


def test_other_corpora_get_combinations_within_services(shared: Path) -> None:
    train = in_memory(list(islice(reminder.generate("train"), 150)), reminder.schema("train"))
    combinations = choose("rare", resources(reminder.schema("test")), train)
    assert "rooms-area" in combinations.of("rooms-name")
    sgd = load(f"{shared / 'data/sgd/test.tar.xz'}")
    derived = build("neu", count_updates(()), sgd.schema)  # no service is known: all go by intents
    assert "Restaurants_2-time" in derived.of("Restaurants_2-date")
    assert all(service_of(slot) == service_of(partner) for slot in derived.slots for partner in derived.of(slot))
