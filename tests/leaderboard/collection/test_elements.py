"""SGD-X's blind paraphrasing: what is shown, what is refused, and the pool that comes out."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.corpora import load
from dstress.dialogue import Intent, Schema, Service, Slot
from dstress.leaderboard.collection.elements import (
    Accepted,
    ElementTask,
    Prompt,
    make_element_tasks,
    make_pool,
    write_name,
)
from dstress.pipeline.stress import stress
from dstress.stressors.schema.variant import read_pool

SCHEMA = Schema(
    (
        Service(
            "Homes_1",
            "A service for finding apartments",
            (Slot("intent", "Whether to buy or to rent", True, ("buy", "rent")), Slot("area", "Part of the city")),
            (Intent("FindHomeByArea", "Search for a home in an area"),),
        ),
        Service("Hotels_1", "Hotels", (Slot("area", "City or town of the hotel"), Slot("stars"))),
    )
)


def tasks() -> dict[tuple[str, str], ElementTask]:
    found = make_element_tasks(SCHEMA)
    return {(task.service, task.asked): task for task in found}


def problems_of(task: ElementTask, answers: dict[str, str]) -> dict[str, str]:
    """By element, of what is written about elements."""
    problems = task.problems({name: answers.get(key, "") for name, key in task.names.items()})
    return {task.names[name]: problem for name, problem in problems.items()}


def test_names_are_asked_for_without_showing_any() -> None:
    task = tasks()["Homes_1", "names"]
    assert [prompt.shown for prompt in task.prompts] == [
        "Whether to buy or to rent",
        "Part of the city",
        "Search for a home in an area",
    ]
    shown = msgspec.json.encode([task.about, *((p.kind, p.shown, p.example, p.values) for p in task.prompts)]).decode()
    assert (
        not any(name in shown for name in ("intent", "Homes", "FindHome"))
        and task.about == SCHEMA.services[0].description
    )
    assert [prompt.key for prompt in tasks()["Hotels_1", "names"].prompts] == ["slot area"]  # stars has no description


def test_descriptions_come_with_the_papers_hints() -> None:
    """Section 2.1: an ambiguous name has its description as an example, a categorical slot its values."""
    prompts = {prompt.key: prompt for prompt in tasks()["Homes_1", "descriptions"].prompts}
    assert list(prompts) == ["service", "slot intent", "slot area", "intent FindHomeByArea"]
    assert prompts["service"].shown == "homes" and prompts["intent FindHomeByArea"].shown == "find home by area"
    assert prompts["slot area"].example == "Part of the city" and not prompts["slot intent"].example
    assert prompts["slot intent"].values == ("buy", "rent")


def test_what_is_wrong_is_told_and_nothing_of_the_original() -> None:
    task = tasks()["Homes_1", "names"]
    answers = {"slot intent": "purpose", "slot area": "Pur_pose", "intent FindHomeByArea": " "}
    problems = problems_of(task, answers)
    assert problems == {
        "slot area": "another one has this name already",
        "intent FindHomeByArea": "write something here",
    }
    # The original itself is no problem: a refusal would give it away.
    assert not problems_of(task, {"slot intent": "intent", "slot area": "x", "intent FindHomeByArea": "y"})
    described = tasks()["Homes_1", "descriptions"]
    fine = {prompt.key: "in a few words" for prompt in described.prompts}
    assert problems_of(described, fine) == {}
    copied = fine | {"slot area": " part of the CITY.", "service": "homes", "slot intent": "x y " * 99}
    assert set(problems_of(described, copied)) == {"slot area", "service", "slot intent"}


@pytest.mark.parametrize(
    ("text", "like", "written"),
    [
        ("pick up place", "leave_at", "pick_up_place"),
        ("Search Homes", "FindHomeByArea", "SearchHomes"),
        ("Arrival Day", "book day", "arrival day"),
        ("where-to", "area", "where_to"),
    ],
)
def test_names_are_written_as_the_schema_writes(text: str, like: str, written: str) -> None:
    assert write_name(text, like) == written


def test_a_pool_has_no_doubles_and_no_originals() -> None:
    given_names = ["purpose", "Purpose ", "intent", "what for"]
    accepted = [Accepted("Homes_1", "slot intent", "names", name) for name in given_names]
    accepted.append(Accepted("Homes_1", "service", "descriptions", "Find a place to live"))
    pool = make_pool(accepted, SCHEMA)
    assert pool.services["Homes_1"].slots["intent"].names == ("purpose", "what_for")
    assert pool.services["Homes_1"].descriptions == ("Find a place to live",)


def test_schema_variant_composes_from_the_pool(tmp_path: Path) -> None:
    """From tasks on a real schema to a stressed corpus: answer, accept all, export, and read it with the stressor."""
    corpus = load("reminder:test", limit=3)
    accepted = [
        Accepted(task.service, prompt.key, task.asked, f"{word} {prompt.key} for {task.asked}")
        for task in make_element_tasks(corpus.schema)
        for prompt in task.prompts
        for word in ("first", "second", "third", "fourth", "fifth")
    ]
    path = tmp_path / "pool.json"
    path.write_bytes(msgspec.json.encode(make_pool(accepted, corpus.schema)))
    assert read_pool(path).share(corpus.schema) == 1.0
    nearest, farthest = (stress(corpus, f'schema_variant({v}, pool="{path}")').schema for v in ("v1", "v5"))
    assert nearest.services[0].slots[0].name.endswith("_names") and nearest != farthest
    assert nearest.services[0].name == corpus.schema.services[0].name


@given(st.lists(st.text(max_size=20), max_size=8))
def test_any_words_make_a_pool_that_can_be_read(texts: list[str]) -> None:
    task = ElementTask("Homes_1", "", "names", (Prompt("slot area", "field", "x"),))
    fine = [text for text in texts if not problems_of(task, {"slot area": text})]
    pool = make_pool([Accepted("Homes_1", "slot area", "names", text) for text in fine], SCHEMA)
    names = pool.services["Homes_1"].slots["area"].names if pool.services else ()
    assert len({name.casefold() for name in names}) == len(names) and all(name.strip() for name in names)
