"""More words: they join well, fit the kind of utterance, come in great variety, and add nothing to a label."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import reminder
from dstress.corpora import load
from dstress.dialogue import Dialogue, Schema, Turn
from dstress.errors import SpecError
from dstress.stressors import stressors
from dstress.stressors.verbosity.stressor import domain_details, lengthen
from dstress.stressors.verbosity.stressor import phrases as shipped_phrases
from dstress.text.writing_style import style_of
from tests.stressors.noise import ODD, check_page, keeps_protected, protected_texts, simulated_dialogues, stressed

NEVER = "yes no nope any either one two first second monday today tomorrow morning evening noon night cheap free price"
NEVER += " money north west centre area town city hotel room taxi cab train bus ticket table book booking phone number"
NEVER += " address postcode name star stars wifi parking food breakfast lunch dinner people person guests child card"


SERVICES = (
    *(
        "hotel",
        "restaurant",
        "taxi",
        "train",
        "attraction",
        "rooms",
        "tables",
        "trips",
        "events",
        "Hotels_4",
        "Movies_1",
    ),
    *(
        "Media_3",
        "Music_3",
        "RentalCars_3",
        "Weather_1",
        "Services_4",
        "Homes_2",
        "Flights_4",
        "Buses_3",
        "RideSharing_2",
    ),
)


def longer(text: str, system: str = "", additions: int = 2, seed: int = 0) -> str:
    return lengthen(text, [], Random(seed), style_of(text, system), system, additions)


def phrases() -> list[str]:
    tables = shipped_phrases()
    lines = [line for service in SERVICES for line in domain_details(f"{service}-name")]
    lines += [*tables.opening, *(line for kinds in (tables.before, tables.after) for k in kinds.values() for line in k)]
    said = [phrase for line in lines for phrase in line]
    return said + [phrase for forms in tables.within.values() for _, says in forms for phrase in says]


def test_no_phrase_could_add_a_value() -> None:
    never = set(NEVER.split())
    for phrase in phrases():
        words = set(re.findall(r"[a-z0-9]+", phrase.lower()))
        assert not words & never, phrase
        assert not re.search(r"\d|(?:don't|do not|n't) (?:mind|care|matter)|up to you|whatever", phrase)


def _check_values(schema: Schema) -> None:
    said = [f" {' '.join(re.findall(r'[a-z0-9]+', phrase.lower()))} " for phrase in phrases()]
    harmless = {"other", "true", "false", "none", "dontcare", "?", "good", "right", "this", "that", "here", "people"}
    for slot in schema.slots.values():
        for value in slot.values:
            plain = " ".join(re.findall(r"[a-z0-9]+", value.lower()))
            if plain and plain not in harmless:
                assert not any(f" {plain} " in phrase for phrase in said), (slot.name, value)


def test_no_phrase_says_a_listed_value_of_reminder() -> None:
    _check_values(reminder.schema("test"))


@pytest.mark.parametrize("path", ["multiwoz21-raw", "sgd/test.tar.xz"])
def test_no_phrase_says_a_listed_value(path: str, shared: Path) -> None:
    _check_values(load(str(shared / "data" / path)).schema)


def test_nothing_added_is_a_value_of_the_corpus() -> None:
    """MultiWOZ has a restaurant called Ask, a word of many phrases."""
    said = [Dialogue(str(number), (Turn("I'd like a table for two."),)) for number in range(200)]
    assert any(re.search(r"\bask\b", one.turns[0].user) for one in stressed("verbosity", said))
    restaurant = Dialogue("ask", (Turn("Is Ask any good?", "", {"tables-name": ("ask",)}),))
    longer = [one.turns[0] for one in stressed("verbosity", [*said, restaurant])[:-1]]
    assert all(turn.changed and not re.search(r"\bask\b", turn.user) for turn in longer)


@pytest.mark.parametrize("service", SERVICES)
def test_a_wish_gets_details_of_its_domain(service: str) -> None:
    details = {phrase for line in domain_details(f"{service}-name") for phrase in line}
    state = {f"{service}-name": ("Brambling",)}
    talks = [Dialogue(f"d{number}", (Turn("I want the Brambling.", "", state),)) for number in range(60)]
    said = [talk.turns[0].user for talk in stressed("verbosity", talks)]
    assert len(details) > 3 and sum(any(detail in text for detail in details) for text in said) > 15
    assert not any(detail in longer("I want that.", seed=seed) for detail in details for seed in range(20))


def test_phrases_are_well_formed() -> None:
    for phrase in phrases():
        assert "  " not in phrase and not re.search(r"[{}|]|\s[,.:]|,\s*,|[,:] ?[,:.]", phrase), phrase


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("I 'd like a train to Ely .", "Where to ?"),
        ("i would like a train to ely .", "where to ?"),
        ("I'd like a train to Ely.", "Where to?"),
        ("i'd like a train to ely", "where to?"),
    ],
)
def test_additions_keep_the_manner(text: str, system: str) -> None:
    for seed in range(80):
        after = longer(text, system, 3, seed)
        assert ("I" in after) == ("I" in text)
        if " ." in text:
            assert not re.search(r"\w[.,?!:](?:\s|$)|\w'(?!t\b)\w", after), after
        else:
            assert not re.search(r"\s[.,?!:]|\w '\w", after), after
        assert not re.search(r"[.?!] [a-z]", after) or after.islower(), after


@pytest.mark.parametrize(
    ("text", "system", "signs"),
    [
        ("Three people .", "How many of you ?", r"^(?!.*(?:I need|trouble)).*(?:[Tt]hree people)"),
        ("What is the address ?", "It is nice .", r"what is the address \?"),
        ("Thank you , goodbye .", "You are welcome .", r"goodbye \."),
        ("Yes please .", "Shall I ?", r"^Yes please \."),
    ],
)
def test_additions_fit_the_kind(text: str, system: str, signs: str) -> None:
    for seed in range(40):
        after = longer(text, system, 2, seed)
        assert re.search(signs, after, re.IGNORECASE), after
        assert len(after.split()) > len(text.split())


def test_a_name_keeps_its_capital_and_a_beginning_loses_it() -> None:
    for seed in range(60):
        after = longer("The hotel should be cheap .", "Hello .", 2, seed)
        assert after.startswith("The") or " the hotel" in after or re.search(r"[.] The hotel", after)
        assert "Cambridge is fine" in longer("Cambridge is fine .", "Where ?", 2, seed)
        assert not re.search(r"\bi\b", longer("I want it .", "Hello .", 3, seed))


def test_an_utterance_without_a_stop_gets_one() -> None:
    found = {longer("north side", "Which side?", 1, seed) for seed in range(60)}
    assert any(after.startswith("north side. ") for after in found)
    assert any(longer("can I", "Well?", 1, seed).startswith("can I? ") for seed in range(60))


def test_more_additions_make_it_longer() -> None:
    text = "I need a train to Ely ."
    lengths = [sum(len(longer(text, "", n, seed)) for seed in range(50)) for n in (1, 2, 3, 4)]
    assert lengths == sorted(lengths) and len(set(lengths)) == 4


def test_a_first_utterance_learns_the_manner_from_the_corpus() -> None:
    parted = Dialogue("a", (Turn("I need a train , please ."),))
    open_ = Dialogue("b", (Turn("I need a train"),))
    after = stressed("verbosity(additions=3)", [parted, open_])[1].turns[0].user
    assert not re.search(r"\w[.,](?:\s|$)", after), after


def test_thousands_of_turns_do_not_repeat_a_handful_of_phrases() -> None:
    said = simulated_dialogues(100)
    added: Counter[str] = Counter()
    turns = 0
    for dialogue in stressed("verbosity", said):
        for turn in dialogue.turns:
            if turn.stress:
                turns += 1
                added.update(edit.after.strip() for edit in turn.stress.edits)
    assert turns > 800
    assert len(added) > 600
    assert added.most_common(1)[0][1] < 0.02 * added.total()


@given(protected_texts(), st.integers(0, 9), st.integers(1, 4), st.sampled_from(["", "Where to ?", "Done."]))
def test_protected_words_stay(case: tuple[str, list[tuple[int, int]]], seed: int, additions: int, system: str) -> None:
    def rewrite(text: str, ranges: list[tuple[int, int]], random: Random) -> str:
        return lengthen(text, ranges, random, style_of(text, system), system, additions)

    keeps_protected(rewrite, *case, seed)


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_keep_every_character(text: str) -> None:
    after = longer(text, "What ?", 1)
    assert (after == text) == (not re.search("[A-Za-z0-9]", text) or len(text.lower()) != len(text))


def test_a_very_long_utterance() -> None:
    text = "I need a train . " * 2_500
    assert len(text) < len(longer(text, additions=4)) < len(text) + 500


@pytest.mark.parametrize("spec", ["verbosity(additions=0)", "verbosity(additions=5)", "verbosity(additions=1.5)"])
def test_bad_arguments(spec: str) -> None:
    with pytest.raises(SpecError):
        stressors.create(spec)


def test_the_page_shows_what_comes_out() -> None:
    check_page("verbosity")
