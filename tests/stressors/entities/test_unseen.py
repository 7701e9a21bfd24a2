from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.dialogue import Dialogue, Frame, Schema, Service, Slot, Span, State, Turn
from dstress.errors import DstressError, SpecError, UnknownNameError
from dstress.stressors import create
from dstress.stressors.entities.names import words_of_name
from dstress.stressors.entities.unseen import REGIONS, draw_name, kind_words
from dstress.stressors.values.dictionary import shipped
from dstress.text.mentions import find_value
from tests.paths import DOCS
from tests.strategies import dialogues
from tests.stressors.entities.names import SCHEMA, all_names, dialogue, shown, stressed
from tests.stressors.samples import CORPORA, sample

PAGE = DOCS / "stressors" / "unseen_entities.md"
LODGE: State = {"hotel-name": ("hamilton lodge",)}


def own(tmp_path: Path, *names: str) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    (tmp_path / "own.toml").write_text(f'"hotel-name" = [{listed}]', "utf-8")
    return f'unseen_entities("{tmp_path / "own.toml"}")'


def test_a_name_becomes_the_same_other_one_everywhere(tmp_path: Path) -> None:
    frames = (Frame("hotel", spans=(Span("name", 4, 18),)),)
    talk = Dialogue(
        "d",
        (
            Turn("Ok, the hamilton's.", "The Hamilton Lodge?", LODGE, system_frames=frames),
            Turn("a taxi to the HAMILTON LODGE", "", LODGE | {"taxi-destination": ("hamilton lodge",)}),
        ),
    )
    [done] = stressed(own(tmp_path, "jade bay resort"), [talk])
    first, second = done.turns
    assert first.system == "The Jade Bay Resort?" and first.user == "Ok, the jade bay resort's."
    assert first.system_frames[0].spans == (Span("name", 4, 19),)
    assert second.user == "a taxi to the JADE BAY RESORT"
    assert second.state == {"hotel-name": ("jade bay resort",), "taxi-destination": ("jade bay resort",)}


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("the hamilton guesthouse", "the grand hotel"),
        ("the hamilton lodge hotel", "the grand hotel"),
        ("a hamilton lodge room", "an old mill room"),
        ("in hamilton", "in hamilton"),
        ("hamilton road", "hamilton road"),
    ],
)
def test_kinds_and_articles_fit(tmp_path: Path, text: str, new: str) -> None:
    name = "old mill" if "mill" in new else "grand hotel"
    talk = dialogue(("", f"hamilton lodge: {text}", LODGE))
    [done] = stressed(own(tmp_path, name), [talk])
    assert done.turns[0].user.removeprefix(f"{name}: ") == new


def test_accepted_forms_of_one_value_are_one_name() -> None:
    state: State = {"train-destination": ("SF", "San Francisco")}
    [done] = stressed("unseen_entities(O)", [dialogue(("", "San Francisco, to SF", state))])
    names = {value.lower() for value in done.turns[0].state["train-destination"]}
    assert len(names) == 1 and names <= {*shipped("O").pool("train-destination")}
    [name] = names
    assert done.turns[0].user.lower() == f"{name}, to {name}"


@pytest.mark.parametrize("spec", ["unseen_entities", "unseen_entities(O)", "entities"])
def test_a_town_keeps_its_region_in_words_and_label(spec: str) -> None:
    states: list[State] = [
        {"train-destination": ("London, England",)},
        {"train-destination": ("London", "London, England")},
    ]
    talk = dialogue(("Where to?", "to London, England.", states[0]), ("To London?", "Yes.", states[1]))
    [done] = stressed(spec, [talk])
    [label] = done.turns[0].state["train-destination"]
    town = label.removesuffix(", England")
    assert town not in (label, "London") and done.turns[0].user == f"to {label}."
    assert done.turns[1].system == f"To {town}?"
    assert done.turns[1].state["train-destination"] == (town, label)


def test_two_names_become_two() -> None:
    state: State = {"train-destination": ("ely",), "train-departure": ("norwich",)}
    for seed in range(20):
        [done] = stressed("unseen_entities", [dialogue(("", "from norwich to ely", state))], seed=seed)
        assert done.turns[0].state["train-destination"] != done.turns[0].state["train-departure"]


def test_a_name_that_the_dialogue_has_is_not_taken(tmp_path: Path) -> None:
    talk = dialogue(("Not the Jade Bay Resort?", "the hamilton lodge", LODGE))
    assert stressed(own(tmp_path, "jade bay resort"), [talk]) == [talk]


@pytest.mark.slow
def test_names_come_from_another_corpus_by_kind_less_those_of_training() -> None:
    state: State = {"restaurant-name": ("bedouin",), "train-destination": ("ely",)}
    talk = dialogue(("", "bedouin, and a train to ely", state))
    talks = [msgspec.structs.replace(talk, id=f"d{number}") for number in range(30)]
    found, left = (
        {after.turns[0].state["restaurant-name"] for after in stressed(spec, talks)}
        for spec in ("unseen_entities(reminder:train)", "unseen_entities(reminder:test, train=reminder:train)")
    )
    assert len(found) > 3 and not found & left


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("kind", ["town", "restaurant", "hotel", "attraction", "place", "actor", "film", "venue"])
def test_names_are_made_by_the_thousand(kind: str, region: str) -> None:
    names = set(all_names(kind, region))
    assert len(names) >= 2_000 and draw_name(kind, region, Random(1)) in names
    assert all("  " not in name and "{" not in name for name in names)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("hamilton lodge", "lodge"),
        ("a and b guest house", "guest house"),
        ("acorn bed and breakfast", "bed and breakfast"),
        ("cambridge museum of technology", "museum"),
        ("nandos", ""),
    ],
)
def test_a_made_name_stays_what_it_was(name: str, kept: str) -> None:
    assert " ".join(kind_words(words_of_name(name))) == kept


def test_names_are_drawn_from_thousands() -> None:
    talk = dialogue(("", "the hamilton lodge, and a train to ely", LODGE | {"train-destination": ("ely",)}))
    made = stressed("unseen_entities", [msgspec.structs.replace(talk, id=f"d{number}") for number in range(300)])
    hotels = {done.turns[0].state["hotel-name"][0] for done in made}
    towns = {done.turns[0].state["train-destination"][0] for done in made}
    assert len(hotels) > 200 and len(towns) > 200
    assert all(hotel.endswith(" lodge") for hotel in hotels)


def test_a_town_is_called_as_its_country_calls_towns() -> None:
    talk = dialogue(("", "to Paris, France.", {"train-destination": ("Paris, France",)}))
    [done] = stressed("unseen_entities", [talk])
    [label] = done.turns[0].state["train-destination"]
    assert label.removesuffix(", France") in set(all_names("town", "french"))


def test_a_town_of_a_country_without_a_rule_stays() -> None:
    talk = dialogue(("", "to Delhi, India.", {"train-destination": ("Delhi, India",)}))
    assert stressed("unseen_entities", [talk]) == [talk]


def test_the_region_is_an_argument() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'british'"):
        create("unseen_entities(region=britsh)")
    with pytest.raises(SpecError, match="names that are made"):
        create("unseen_entities(O, region=british)")
    talk = dialogue(("", "to ely", {"train-destination": ("ely",)}))
    for region in REGIONS:
        [done] = stressed(f"unseen_entities(region={region})", [talk])
        known = {name.lower() for name in all_names("town", region)}
        assert done.turns[0].state["train-destination"][0] in known


@pytest.mark.parametrize(("source", "problem"), [("train-P", "did you mean"), ("none.json", "cannot read")])
def test_a_wrong_source_is_told(source: str, problem: str) -> None:
    with pytest.raises((DstressError, UnknownNameError), match=problem):
        stressed(f"unseen_entities({source})", [])


def test_a_corpus_without_such_names_is_told() -> None:
    with pytest.raises(DstressError, match="no names for this corpus's slots"):
        stressed("unseen_entities(O)", [], Schema((Service("zoo", slots=(Slot("animal_name"),)),)))


@pytest.mark.parametrize("name", CORPORA)
def test_gold_that_was_said_is_said(name: str, request: pytest.FixtureRequest) -> None:
    corpus = sample(name, request.getfixturevalue("shared") if name != "reminder" else None)
    changed = 0
    for before, after in zip(corpus, stressed("unseen_entities", list(corpus), corpus.schema), strict=True):
        assert len(before.turns) == len(after.turns)
        names: dict[tuple[str, ...], tuple[str, ...]] = {}
        for old, new in zip(before.turns, after.turns, strict=True):
            assert old.state.keys() == new.state.keys()
            for slot in (slot for slot in old.state if old.state[slot] != new.state[slot]):
                changed += 1
                assert names.setdefault(old.state[slot], new.state[slot]) == new.state[slot]
                was_said, is_said = (find_value(turn.user, slot, turn.state[slot]) for turn in (old, new))
                assert is_said or not was_said
    assert changed > 10


@given(st.lists(dialogues, max_size=3))
def test_any_dialogue_is_survived(talks: list[Dialogue]) -> None:
    for before, after in zip(talks, stressed("unseen_entities", talks), strict=True):
        assert [turn.state.keys() for turn in before.turns] == [turn.state.keys() for turn in after.turns]


@given(st.text(max_size=30), st.text(min_size=1, max_size=12))
def test_any_name_is_survived(text: str, name: str) -> None:
    [done] = stressed("unseen_entities", [dialogue(("", f"{text} {name} {text}", {"hotel-name": (name,)}))], SCHEMA)
    state = done.turns[0].state
    if state != {"hotel-name": (name,)}:
        assert find_value(done.turns[0].user, "hotel-name", state["hotel-name"])


@pytest.mark.slow
def test_the_page_shows_what_happens() -> None:
    found = shown(PAGE)
    assert len(found) >= 3
    for documented, real in found:
        assert documented == real
