"""Variants by people: the released ones as they are, and composed ones by distance as SGD-X composed its own."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import msgspec
import pytest

from dstress import corpora
from dstress.dialogue import Schema, Service, Slot
from dstress.errors import DstressError, SpecError, UnknownNameError
from dstress.pipeline.stress import stress
from dstress.resources import Resources
from dstress.stressors import create
from dstress.stressors.schema.variant import (
    Paraphrases,
    Pool,
    ServicePool,
    compose,
    embedded_names,
    embedded_pool,
    read_pool,
)
from dstress.stressors.schema.wording import Element
from dstress.text.schema_distance import elements
from tests.corpora import layouts
from tests.corpora.test_sgdx import variant_folder
from tests.paths import DOCS
from tests.stressors.samples import sample
from tests.stressors.schema.schemas import add_sgd

TAXI = Schema((Service("taxi", "Cabs", (Slot("departure", "Place of the start"), Slot("to", "Place of the end"))),))


def made(spec: str, schema: Schema, seed: int = 1) -> Schema:
    stressor = create(spec)
    stressor.prepare(Resources(schema, (), corpora.load, Path()))
    return stressor.schema_of(schema, seed)


def names(schema: Schema) -> list[str]:
    return [slot.name for service in schema.services for slot in service.slots]


def of_words(*words: str, descriptions: tuple[str, ...] = ()) -> Pool:
    return Pool({"taxi": ServicePool(slots={"departure": Paraphrases(words, descriptions)})})


def numbers(key: str) -> Random:
    return Random(key)


def test_levels_go_by_levenshtein_distance() -> None:
    pool = of_words("leaving point", "departures", "start", "departing", "depart_at")
    levels = [names(compose(TAXI, pool, level, numbers))[0] for level in range(1, 6)]
    assert levels == ["departures", "departing", "depart_at", "start", "leaving point"]


def test_descriptions_go_by_jaccard_on_lemmas() -> None:
    paraphrases = ("The station", "Where the ride starts", "Starting place", "Place", "A place of start and more")
    pool = of_words(descriptions=paraphrases)
    found = [compose(TAXI, pool, level, numbers).services[0].slots[0].description for level in range(1, 6)]
    assert found == ["Starting place", "A place of start and more", "Place", "Where the ride starts", "The station"]


def test_a_small_pool_spreads_over_the_levels_and_a_large_one_is_drawn_from() -> None:
    two = [names(compose(TAXI, of_words("departures", "start"), level, numbers))[0] for level in range(1, 6)]
    assert two == ["departures", "departures", "start", "start", "start"]
    many = [f"departure{'x' * count}" for count in range(1, 10)]
    drawn = [names(compose(TAXI, of_words(*many), level, numbers))[0] for level in range(1, 6)]
    assert len(set(drawn)) == 5 and drawn == sorted(drawn, key=len)
    assert names(compose(TAXI, Pool({"taxi": ServicePool()}), 3, numbers)) == ["departure", "to"]


def test_the_versions_of_a_large_pool_are_cut_from_one_draw(tmp_path: Path) -> None:
    file = tmp_path / "pool.json"
    many = [f"departure{'x' * count}" for count in range(1, 30)]
    file.write_text(json.dumps({"services": {"taxi": {"slots": {"departure": {"names": many}}}}}))
    draws = set()
    for seed in range(20):
        versions = [names(made(f"schema_variant(v{level}, pool={file})", TAXI, seed))[0] for level in range(1, 6)]
        assert [len(name) for name in versions] == sorted({len(name) for name in versions})
        draws.add(tuple(versions))
    assert len(draws) > 15


def test_what_all_services_share_is_used_where_a_service_has_nothing_of_its_own() -> None:
    shared = ServicePool(slots={"to": Paraphrases(("goal",)), "departure": Paraphrases(("origin",), ("Beginning",))})
    pool = Pool({"*": shared, "taxi": ServicePool(slots={"departure": Paraphrases(("start",))})})
    after = compose(TAXI, pool, 1, numbers).services[0]
    assert [slot.name for slot in after.slots] == ["start", "goal"] and after.slots[0].description == "Beginning"


def test_released_variants_are_as_they_are(tmp_path: Path) -> None:
    corpora.add("sgd", layouts.sgd(tmp_path / "sgd"))
    corpora.add("sgd-x", variant_folder(tmp_path / "x"))
    original, released = corpora.load("sgd:test"), corpora.load("sgd-x/v1:test")
    stressed = stress(original, "schema_variant")
    assert stressed.schema == released.schema and list(stressed) == list(released)
    with pytest.raises(UnknownNameError, match="v2"):
        stress(original, "schema_variant(v2)")


def test_the_released_names_are_the_levels_of_their_own_pool(shared: Path, tmp_path: Path) -> None:
    """SGD-X sorted its names by plain Levenshtein distance: pooled and composed again, every one comes back."""
    add_sgd(shared, tmp_path / "sgd")
    for level in range(1, 6):
        for split in ("train", "dev", "test"):
            schema = corpora.load(f"sgd:{split}").schema
            released = corpora.load(f"sgd-x/v{level}:{split}").schema
            assert made(f"schema_variant(v{level})", schema) == released
            again = made(f"schema_variant(v{level}, pool=sgd-x)", schema)
            for ours, theirs in zip(again.services, released.services, strict=True):
                assert [one.name for one in elements(ours)] == [one.name for one in elements(theirs)]


@pytest.mark.parametrize("name", embedded_names())
def test_the_embedded_pools_are_whole(name: str, request: pytest.FixtureRequest) -> None:
    """Five different names and descriptions for every slot and intent of the corpus that the pool is for."""
    schema = sample(name, request.getfixturevalue("shared") if name != "reminder" else None).schema
    pool = embedded_pool(name)
    for service in schema.services:
        for kind, found in (("slot", service.slots), ("intent", service.intents)):
            for one in found:
                paraphrases = pool.of(Element(kind, service.name, one.name, ""))  # type: ignore[arg-type]
                assert len({*paraphrases.names, one.name}) == 6, (service.name, one.name)
                assert len({*paraphrases.descriptions, one.description}) == 6, (service.name, one.name)
    variants = [made(f"schema_variant(v{level})", schema) for level in range(1, 6)]
    assert len({msgspec.json.encode(variant) for variant in variants}) == 5


def test_the_examples_of_the_docs_are_true() -> None:
    text = (DOCS / "stressors/schema_variant.md").read_text()
    block = text.partition("```reminder\n")[2].partition("```")[0]
    schema = sample("reminder", None).schema
    variants = {f"v{level}": made(f"schema_variant(v{level})", schema) for level in range(1, 6)}
    lines = [line.split(" | ") for line in block.splitlines()]
    assert len(lines) >= 5
    for version, slot, name, description in lines:
        place = list(schema.slots).index(slot.strip())
        after = list(variants[version].slots.items())[place]
        assert (after[0].partition("-")[2], after[1].description) == (name, description)


POOL = {"services": {"taxi": {"slots": {"departure": {"names": ["start"]}}}}}


def test_a_pool_of_one_s_own(tmp_path: Path) -> None:
    file = tmp_path / "pool.json"
    file.write_text(json.dumps(POOL))
    assert names(made(f"schema_variant(v3, pool={file})", TAXI)) == ["start", "to"]
    (tmp_path / "pool.toml").write_text('[services.taxi.slots.to]\nnames = ["goal"]')
    assert names(made(f"schema_variant(v3, pool={tmp_path}/pool.toml)", TAXI)) == ["departure", "goal"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not a pool"),
        ('{"services": {"taxi": {"slot": {}}}}', "unknown field `slot`"),
        ('{"services": {"taxi": {"names": ["cab-ride"]}}}', "cannot name the service"),
        ('{"services": {"taxi": {"slots": {"to": {"names": [" "]}}}}}', "empty paraphrase of 'to'"),
        ('{"services": {"taxi": {"slots": {"too": {"names": ["x"]}}}}}', "did you mean 'to'"),
        ('{"services": {"bus": {}}}', "none of the services taxi"),
    ],
)
def test_a_bad_pool_is_told(content: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "pool.json"
    file.write_text(content)
    with pytest.raises(DstressError, match=problem):
        made(f"schema_variant(pool={file})", TAXI)


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="not a pool"):
        read_pool(tmp_path / "none.toml")
    with pytest.raises(SpecError, match="no version 'five'"):
        create("schema_variant(five)")
    with pytest.raises(SpecError, match="gives no v6"):
        made("schema_variant(v6)", sample("reminder", None).schema)
    with pytest.raises(UnknownNameError, match="sgd"):
        made("schema_variant", TAXI)
    corpora.add("sgd", layouts.sgd(tmp_path / "sgd"))
    corpora.add("sgd-x", variant_folder(tmp_path / "x"))
    with pytest.raises(SpecError, match="no variant of the service 'taxi'"):
        made("schema_variant", TAXI)
