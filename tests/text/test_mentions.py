"""The value finder: each way to say a value, its laws, and its figures on MultiWOZ 2.1 test as the docs state them."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.finding import Case, cases, failures, figures
from dstress import corpora
from dstress.dialogue import Act, Frame, Span, State, Turn
from dstress.text.mentions import Mention, find_mentions, find_value, merge_places, protected_spans
from tests import strategies
from tests.paths import DOCS

PAGES = DOCS / "values.md"
RECALL, PRECISION = 0.98, 0.99


def find_words(text: str, slot: str, *forms: str) -> list[str]:
    return [text[mention.start : mention.end] for mention in find_value(text, slot, forms)]


@pytest.mark.parametrize(
    ("text", "slot", "value", "places"),
    [
        ("Saint John 's college , please", "attraction-name", "saint johns college", ["Saint John 's college"]),
        ("St. Johns College", "attraction-name", "saint john's college", ["St. Johns College"]),
        ("the Pizza Hut Fen Ditton", "restaurant-name", "pizza hut fenditton", ["Pizza Hut Fen Ditton"]),
        ("two guest houses", "hotel-type", "guesthouse", ["guest houses"]),
        ("a B & B", "hotel-type", "guesthouse", ["B & B"]),
        ("in the city center", "hotel-area", "centre", ["city center"]),
        ("any theaters ?", "attraction-type", "theatre", ["theaters"]),
        ("museums or a museum", "attraction-type", "museum", ["museums", "museum"]),
        ("moderately priced", "hotel-pricerange", "moderate", ["moderately"]),
        ("an inexpensive one", "hotel-pricerange", "cheap", ["inexpensive"]),
        ("on weds", "train-day", "wednesday", ["weds"]),
        ("on Sundays", "train-day", "sunday", ["Sundays"]),
        ("the slug and lettuce", "restaurant-name", "slug and lettuce", ["slug and lettuce"]),
        ("Slug & Lettuce", "restaurant-name", "the slug and lettuce", ["Slug & Lettuce"]),
        ("gonvile and caius", "attraction-name", "gonville and caius college", ["gonvile and caius"]),
        ("at the hamilton", "hotel-name", "hamilton lodge", ["hamilton"]),
        ("from kings cross", "train-departure", "london kings cross", ["kings cross"]),
        ("a flight to london", "Flights_4-origin_airport", "London, UK", ["london"]),
        ("Café Uno", "restaurant-name", "cafe uno", ["Café Uno"]),
        ("a musuem", "attraction-type", "museum", ["musuem"]),
        ("去北京 , please", "train-destination", "北京", ["北京"]),
        ("أريد فندق الأمل هنا", "hotel-name", "الأمل", ["الأمل"]),
        ("pay with 🍕 now", "shop-item", "🍕", ["🍕"]),
        ("play (a+b)* [live] now", "music-track", "(a+b)* [live]", ["a+b)* [live"]),
    ],
)
def test_names_and_words(text: str, slot: str, value: str, places: list[str]) -> None:
    assert find_words(text, slot, value) == places


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("an inexpensive hotel", "hotel-pricerange", "expensive"),
        ("go to the theatre", "restaurant-name", "eat"),
        ("the golden wok", "restaurant-name", "golden house"),
        ("a place to eat", "restaurant-name", "the place"),
        ("restaurant 12", "restaurant-name", "restaurant 17"),
        ("monday", "train-day", "sunday"),
        ("in expensive places", "hotel-pricerange", "cheap"),
        ("the same area", "hotel-area", "centre"),
        ("", "hotel-area", "centre"),
    ],
)
def test_what_is_not_said(text: str, slot: str, value: str) -> None:
    assert find_words(text, slot, value) == []


@pytest.mark.parametrize(
    ("text", "slot", "value", "places"),
    [
        ("I want free wi-fi", "hotel-internet", "yes", ["wi-fi"]),
        ("does it have Internet ?", "hotel-internet", "yes", ["Internet"]),
        ("I do n't need parking", "hotel-parking", "no", ["do n't need parking"]),
        ("I do n't need parking", "hotel-parking", "yes", []),
        ("parking is not needed", "hotel-parking", "no", ["parking is not"]),
        ("no wifi , but parking", "hotel-parking", "yes", ["parking"]),
        ("we don't want step-free access", "events-step_free", "no", ["don't want step-free"]),
        ("a room where smoking is fine", "Hotels_4-smoking_allowed", "True", ["smoking"]),
        ("Yes please", "hotel-parking", "yes", ["Yes"]),
        ("it does n't need to include internet", "hotel-internet", "dontcare", ["does n't need to include internet"]),
        ("I do n't really care", "hotel-area", "dontcare", ["do n't really care"]),
        ("Any area is fine", "hotel-area", "dontcare", ["Any"]),
        ("No particular price", "hotel-pricerange", "dontcare", ["No particular"]),
        ("Not really , thanks", "hotel-area", "dontcare", ["Not really"]),
    ],
)
def test_yes_no_and_dontcare(text: str, slot: str, value: str, places: list[str]) -> None:
    assert find_words(text, slot, value) == places


def test_the_longest_form_is_given_and_named() -> None:
    assert find_value("to New York City", "x-city", ("New York", "New York City")) == [
        Mention("x-city", "New York City", 3, 16)
    ]


SPANNED: State = {"hotel-book people": ("3",), "hotel-book stay": ("3",)}
THREES = "3 for 3 at the ashley hotel"


def test_annotations_settle_which_slot_a_place_belongs_to() -> None:
    frame = Frame("hotel", spans=(Span("book people", 0, 1), Span("book stay", 6, 7)))
    mentions = find_mentions(Turn(THREES, "", SPANNED, (frame,)), {})
    assert [(mention.slot, mention.start) for mention in mentions] == [("hotel-book people", 0), ("hotel-book stay", 6)]


def test_an_annotation_that_does_not_say_the_value_is_not_trusted() -> None:
    frame = Frame("hotel", spans=(Span("area", 7, 16),), acts=(Act("INFORM", "area", ("centre",)),))
    turn = Turn("in the same area", "", {"hotel-area": ("centre",)}, (frame,))
    assert find_mentions(turn, {}) == []
    assert protected_spans(turn, {}) == [(7, 16)]


def test_an_act_vouches_for_another_form() -> None:
    act = Act("INFORM", "city", ("Big Smoke",), ("London",))
    frame = Frame("x", spans=(Span("city", 3, 12),), acts=(act,))
    turn = Turn("to Big Smoke", "", {"x-city": ("London",)}, (frame,))
    assert find_mentions(turn, {}) == [Mention("x-city", "London", 3, 12)]


def test_only_changes_are_mentioned_but_all_values_are_protected() -> None:
    before: State = {"train-day": ("monday",), "train-departure": ("ely",)}
    turn = Turn("from ely on tuesday , not monday", "", before | {"train-day": ("tuesday",)})
    assert find_mentions(turn, before) == [Mention("train-day", "tuesday", 12, 19)]
    assert protected_spans(turn, before) == [(5, 8), (12, 19), (26, 32)]


def test_a_type_inside_a_name_gives_way_to_one_outside() -> None:
    state: State = {"hotel-name": ("ashley hotel",), "hotel-type": ("hotel",)}
    assert [m.start for m in find_mentions(Turn("a hotel , the ashley hotel", "", state), {})] == [2, 14]
    assert [m.start for m in find_mentions(Turn("the ashley hotel", "", state), {})] == [4, 11]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda text: text.strip() and re.search(r"[^\W\d_]", text) and not re.search(r"\d|\s", text)
)


@given(TEXTS, NAMES, TEXTS)
@example("", "ǅ", "")
@example("x", "(.*", "y")
def test_a_value_between_blanks_is_found(left: str, value: str, right: str) -> None:
    text, start = f"{left} {value} {right}", len(left) + 1
    mentions = find_value(text, "shop-label", (value,))
    assert any(mention.start < start + len(value) and start < mention.end for mention in mentions)


@given(TEXTS, strategies.slot_ids, strategies.accepted)
def test_places_are_in_the_text_in_order_and_the_same_every_time(text: str, slot: str, forms: tuple[str, ...]) -> None:
    text = f"{text} {forms[0]} {text} 5 pm or 18:15 , any hotel, yes"
    mentions = find_value(text, slot, forms)
    assert all(0 <= mention.start < mention.end <= len(text) and mention.value in forms for mention in mentions)
    assert all(before.end <= after.start for before, after in pairwise(mentions))
    assert find_value(text, slot, list(forms)) == mentions


@given(strategies.turns, strategies.states)
def test_mentions_and_protected_ranges(turn: Turn, before: State) -> None:
    mentions = find_mentions(turn, before)
    assert all(
        0 <= mention.start < mention.end <= len(turn.user) and mention.value in turn.state[mention.slot]
        for mention in mentions
    )
    assert [mention.start for mention in mentions] == sorted(mention.start for mention in mentions)
    ranges = protected_spans(turn, before)
    assert all(start < end for start, end in ranges)
    assert all(first[1] < second[0] for first, second in pairwise(ranges))
    assert all(any(start <= mention.start and mention.end <= end for start, end in ranges) for mention in mentions)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50))))
def test_merging_keeps_the_characters(places: list[tuple[int, int]]) -> None:
    covered = {at for start, end in places for at in range(start, end)}
    assert {at for start, end in merge_places(places) for at in range(start, end)} >= covered


@pytest.fixture(scope="module")
def measured(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSTRESS_HOME", str(tmp_path_factory.mktemp("home")))
        corpora.add("multiwoz21", shared / "data" / "multiwoz21-raw")
        return list(cases(corpora.load("multiwoz21:test")))


def test_recall_and_precision_on_multiwoz(measured: list[Case]) -> None:
    reached = figures(measured)
    assert reached.recall >= RECALL
    assert reached.precision >= PRECISION
    assert str(reached) in " ".join(PAGES.read_text("utf-8").split()), f"docs/values.md does not say: {reached}"


def test_the_docs_list_the_failure_kinds(measured: list[Case]) -> None:
    rows = [f"| {kind} | {count} |" for kind, count in failures(measured).items()]
    assert [row for row in rows if row not in PAGES.read_text("utf-8")] == []
