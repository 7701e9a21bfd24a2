"""Corrupted schemas: less is said, nothing wrong is, and a service is corrupted in the same way wherever it is."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given

from dstress import corpora
from dstress.dialogue import Intent, Schema, Service, Slot
from dstress.errors import SpecError
from dstress.pipeline.stress import stress
from dstress.resources import Resources
from dstress.stressors import create
from dstress.stressors.schema.noise import noise_words
from dstress.text.schema_distance import descriptions, name_distance, names
from tests import strategies
from tests.paths import DOCS
from tests.stressors.samples import sample

TAXI = Service(
    "Taxi_1", "Order cabs, at once", (Slot("from_city", "Town of (the) start."), Slot("to_city", "Town of the end"))
)
BUS = Service("Bus_1", "", (Slot("seats"),), (Intent("BuyTickets", "Pay for the ride", True, ("seats",)),))


def made(spec: str, schema: Schema, seed: int = 1) -> Schema:
    stressor = create(spec)
    stressor.prepare(Resources(schema, (), corpora.load, Path()))
    return stressor.schema_of(schema, seed)


def test_replaced_words_come_from_the_list_and_keep_their_punctuation() -> None:
    (after, bus) = made("schema_noise(replace=1, shuffle=0, drop=0)", Schema((TAXI, BUS))).services
    assert re.fullmatch(r"[A-Z]\w+ \w+ \(\w+\) \w+\.", after.slots[0].description)
    assert set(re.findall(r"\w+", after.slots[0].description.lower())) <= set(noise_words().words)
    assert set(after.slots[0].name.split("_")) <= set(noise_words().words)
    assert re.fullmatch(r"[A-Z][a-z]+[A-Z][a-z]+", bus.intents[0].name)
    assert bus.intents[0].required == (bus.slots[0].name,) and bus.slots[0].name in noise_words().words
    assert (after.name, bus.name, bus.slots[0].description) == ("Taxi_1", "Bus_1", "")


def test_shuffled_words_are_the_same_words() -> None:
    (after,) = made("schema_noise(replace=0, shuffle=1, drop=0)", Schema((TAXI,))).services
    assert after.description == "Cabs, at once order"
    assert after.slots[0].name == "city_from"


def test_dropping_leaves_a_word() -> None:
    (after,) = made("schema_noise(replace=0, shuffle=0, drop=1)", Schema((TAXI,))).services
    assert after.slots[0].description == "Town" and after.slots[0].name == "from"


@pytest.mark.parametrize("name", ["reminder", "multiwoz", "sgd"])
def test_every_name_and_description_changes(name: str, shared: Path) -> None:
    schema = sample(name, shared).schema
    after = made("schema_noise", schema)
    assert all(old != new for old, new in zip(names(schema), names(after), strict=True))
    assert all(old != new or not old for old, new in zip(descriptions(schema), descriptions(after), strict=True))
    # A name of one word still says something: four in five have a word beside their own.
    kept = [
        old in new.split("_")
        for old, new in zip(names(schema), names(after), strict=True)
        if old.isalpha() and old.islower()
    ]
    assert 0.5 < sum(kept) / len(kept) < 0.95
    assert 0.3 < fmean(name_distance(*pair) for pair in zip(names(schema), names(after), strict=True)) < 0.55


def test_what_has_no_letters_stays_and_nothing_is_forced_without_replacing() -> None:
    schema = Schema((Service("a", "9 9", (Slot("9", "one"),)),))
    assert made("schema_noise(shuffle=0, drop=0)", schema).services[0].slots[0].name == "9"
    assert made("schema_noise(replace=0, shuffle=1, drop=0)", schema) == schema


def test_opaque_names_say_nothing_and_descriptions_may_stay() -> None:
    (after,) = made("schema_noise(names=opaque, descriptions=false)", Schema((TAXI,))).services
    assert re.fullmatch(r"[A-Z][a-z]+", after.name) and after.name != "Taxi"
    assert re.fullmatch(r"[a-z]+", after.slots[0].name) and after.slots[0].name not in ("from_city", "to_city")
    assert after.slots[0].description == TAXI.slots[0].description
    kept = made("schema_noise(names=kept)", Schema((TAXI,))).services[0]
    assert [slot.name for slot in kept.slots] == ["from_city", "to_city"]


@given(strategies.schemas)
def test_noise_gives_no_slot_the_name_of_another(schema: Schema) -> None:
    after = made("schema_noise(replace=0, shuffle=1, drop=0.5)", schema)
    for old, new in zip(schema.services, after.services, strict=True):
        for before, noisy in zip(old.slots, new.slots, strict=True):
            others = {slot.name for slot in (*old.slots, *old.intents)} - {before.name}
            assert noisy.name not in others or noisy.name == before.name


@pytest.mark.parametrize("spec", ["schema_noise", "schema_noise(names=opaque)"])
def test_a_service_is_changed_alike_in_every_split(spec: str) -> None:
    together, alone = made(spec, Schema((BUS, TAXI))), made(spec, Schema((TAXI,)))
    assert together.services[1] == alone.services[0]
    assert made(spec, Schema((TAXI,)), seed=2) != alone


def test_dialogues_follow() -> None:
    corpus = sample("reminder", None)
    stressed = stress(corpus, "schema_noise(names=opaque)")
    for before, after in zip(corpus, stressed, strict=True):
        for old, new in zip(before.turns, after.turns, strict=True):
            assert (new.user, list(new.state.values())) == (old.user, list(old.state.values()))
            assert new.state.keys() <= stressed.schema.slots.keys() and not new.state.keys() & old.state.keys()


@pytest.mark.parametrize("spec", ["replace=1.5", "drop=-0.1", "replace=0, shuffle=0, drop=0", "names=none"])
def test_bad_arguments_are_told(spec: str) -> None:
    with pytest.raises(SpecError):
        create(f"schema_noise({spec})")


def test_the_examples_of_the_docs_are_true() -> None:
    text = (DOCS / "stressors/schema_noise.md").read_text()
    block = text.partition("```reminder\n")[2].partition("```")[0]
    lines = [line.split(" | ") for line in block.splitlines()]
    schema = sample("reminder", None).schema
    assert len(lines) >= 5
    for spec, slot, name, description in lines:
        after = list(made(spec, schema).slots.items())[list(schema.slots).index(slot)]
        assert (after[0], after[1].description) == (name, description)
