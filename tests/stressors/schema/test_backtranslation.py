"""Back-translated schemas: other words in the same places, names that stay names."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from dstress import corpora
from dstress.dialogue import Intent, Schema, Service, Slot
from dstress.pipeline.stress import stress
from dstress.resources import Resources
from dstress.stressors import create
from dstress.stressors.paraphrase.phrase_table import Change, apply_changes
from dstress.stressors.schema.backtranslation import SchemaBacktranslation, _spoken, _written_like
from dstress.text.schema_distance import Seen, Version, figures
from tests.parts import need
from tests.paths import DOCS
from tests.stressors.samples import sample

PAGES = DOCS / "stressors/schema_backtranslation.md"
ALARM = Service(
    "Alarm_1",
    "Search for alarms",
    (Slot("alarm_time", "Whether it is a movie"), Slot("time_of_alarm"), Slot("x9"), Slot("phone number")),
    (Intent("FindMovies", "Purchase a ticket", required=("phone number",), optional={"x9": "1"}),),
)


def made(spec: str, schema: Schema) -> Schema:
    stressor = create(spec)
    stressor.prepare(Resources(schema, (), corpora.load, Path()))
    return stressor.schema_of(schema, 1)


@pytest.mark.parametrize(
    ("name", "text", "joined"),
    [
        ("alarm_time", "time of alarm", "time_of_alarm"),
        ("book day", "day of booking", "day of booking"),
        ("FindMovies", "find films", "FindFilms"),
        ("leaveAt", "go out at", "goOutAt"),
        ("area", "zone", "zone"),
    ],
)
def test_names_are_joined_in_their_own_style(name: str, text: str, joined: str) -> None:
    assert _written_like(name, text) == joined


def test_names_are_spoken_as_words() -> None:
    assert [_spoken(name) for name in ("alarm_time", "GetAlarms", "book day", "_")] == [
        "alarm time",
        "get alarms",
        "book day",
        "",
    ]


def test_words_change_and_names_stay_apart() -> None:
    need("apertium")
    [service] = made("schema_backtranslation", Schema((ALARM,))).services
    assert service.name == "Alarm_1" and service.description == "Look for alarms"
    # "time of alarm" is taken: the slot keeps its name.
    assert [slot.name for slot in service.slots] == ["alarm_time", "time_of_alarm", "x9", "telephone number"]
    assert service.slots[0].description == "If it is a film" and service.slots[1].description == ""
    [intent] = service.intents
    assert (intent.name, intent.description) == ("FindFilms", "Buy a ticket")
    assert intent.required == ("telephone number",) and intent.optional == {"x9": "1"}


@pytest.mark.slow
def test_names_or_descriptions_may_stay() -> None:
    need("apertium")
    [service] = made("schema_backtranslation(names=false)", Schema((ALARM,))).services
    assert service.intents[0].name == "FindMovies" and service.description != ALARM.description
    [service] = made("schema_backtranslation(descriptions=false)", Schema((ALARM,))).services
    assert service.intents[0].name == "FindFilms" and service.description == ALARM.description


@pytest.mark.slow
def test_whole_answers_are_further_away() -> None:
    need("apertium")
    schema = sample("reminder", None).schema
    changed = {}
    routes = "schema_backtranslation(pivots=[es]"
    for spec in (f"{routes}, synonyms=false)", f"{routes}, whole=true)"):
        pairs = zip(schema.slots.values(), made(spec, schema).slots.values(), strict=True)
        changed[spec] = sum(before.description != after.description for before, after in pairs)
    some, more = changed.values()
    assert 0 < some < more


@pytest.mark.slow
def test_a_service_is_translated_in_the_same_way_beside_others() -> None:
    need("apertium")
    schema = sample("reminder", None).schema
    together = made("schema_backtranslation", schema)
    for service, expected in zip(schema.services[:2], together.services, strict=False):
        assert made("schema_backtranslation", Schema((service,))).services == (expected,)


@pytest.mark.slow
def test_the_examples_of_the_docs_are_true() -> None:
    need("apertium")
    corpus = sample("reminder", None)
    block = PAGES.read_text(encoding="utf-8").split("```reminder\n")[1].split("```")[0]
    places = {slot: place for place, slot in enumerate(corpus.schema.slots)}
    for line in block.splitlines():
        spec, slot, name, description = line.split(" | ")
        after = list(stress(corpus, spec).schema.slots.items())[places[slot]]
        assert (after[0], after[1].description) == (name, description)


@pytest.mark.parametrize("pivots", ["", "(pivots=[es])", "(pivots=[eo])"])
def test_sgd_is_as_far_as_in_the_paper(pivots: str, shared: Path) -> None:
    need("apertium")
    schema = sample("sgd", shared).schema
    after = Version("after", made(f"schema_backtranslation{pivots}", schema))
    found = figures(schema, [after], Seen(frozenset(), frozenset()))["after"]
    assert 0.11 < (found.name_distance or 0) < 0.17  # the paper has 0.14
    assert 29 < (found.description_bleu or 0) < 39  # the paper has 34.1


def test_synonyms_keep_a_description_together() -> None:
    """An alternative that opens a description stands nowhere else, and what came back is not changed twice."""
    stressor = create("schema_backtranslation").parts[0]
    assert isinstance(stressor, SchemaBacktranslation)

    def drawn(text: str) -> set[str]:
        ways = (stressor._draw_synonyms(text, (), "descriptions", Random(seed)) for seed in range(50))
        return {apply_changes(text, way) for way in ways}

    assert drawn("Address of it") == {"Address of it", "The postal address of it", "The full address of it"}
    assert drawn("See your address of it") == {"See your address of it"}
    assert not stressor._draw_synonyms("Phone number", [Change(0, 5, "Telephone")], "descriptions", Random(1))


def test_sgd_keeps_its_shape(shared: Path) -> None:
    need("apertium")
    schema = sample("sgd", shared).schema
    for spec in ("schema_backtranslation", "schema_backtranslation(whole=true)"):
        after = made(spec, schema)
        for old, new in zip(schema.services, after.services, strict=True):
            names = [slot.name for slot in new.slots]
            assert len(set(names)) == len(names) == len(old.slots) and all(names)
            assert {name for intent in new.intents for name in intent.required} <= set(names)
