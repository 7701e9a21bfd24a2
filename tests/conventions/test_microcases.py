"""One slot at a time, gold -> prediction: what each official script counts, and the table of it in the docs.

Every number was confirmed by running the script named in `docs/conventions.md` on the same state, but for one: TripPy's
comparison tells `cheap` from `Cheap`, which never reaches it, since all that TripPy reads and writes is lower-cased.
To write the table anew after a change: `python tests/conventions/test_microcases.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from dstress.conventions import conventions
from dstress.conventions.base import INFORMED
from dstress.conventions.mwzeval import to_clock
from dstress.dialogue import Slot
from tests.paths import DOCS

PAGE = DOCS / "conventions.md"
COLUMNS = ("exact", "trade", "simpletod", "trippy", "dstc8", "multiwoz22", "mwzeval", "convlab", "fnctod")


class Case(NamedTuple):
    """A micro-case: what it shows, the two states, and the score under each of COLUMNS."""

    says: str
    gold: dict[str, str]
    predicted: dict[str, str]
    scores: tuple[float, ...]


def one(slot: str, gold: str | None, predicted: str | None, *scores: float) -> Case:
    """A case with one slot; None is absent."""
    words = f"{slot}: {gold or 'absent'} -> {predicted or 'absent'}"
    return Case(words, {slot: gold} if gold else {}, {slot: predicted} if predicted else {}, scores)


STARS = {"hotel-stars": "4"}
# fmt: off
CASES = (
    #                                                          exact trade stod trippy dstc8 mwz22 mwze convl fnctod
    one("hotel-area", "dontcare", None,                           0,    0,    1,    0,    0,    0,    1,    0,    0),
    one("hotel-area", "dontcare", "dontcare",                     1,    1,    1,    1,    1,    1,    0,    1,    0),
    Case("hotel-area: absent -> dontcare, with hotel-stars in gold", STARS, STARS | {"hotel-area": "dontcare"},
                                                                 (0,    0,    1,    0,    0,    0,    0,    0,    1)),
    one("hotel-area", None, "dontcare",                           0,    0,    1,    0,    0,    0,    0,    1,    1),
    one("hotel-area", None, "none",                               0,    1,    1,    1,    0,    0,    0,    1,    1),
    one("hotel-area", "any", "dontcare",                          0,    1,    0,    0, 0.18,    0,    0,    0,    0),
    one("hotel-area", "north", None,                              0,    0,    0,    0,    0,    0,    0,    0,    0),
    Case("extra slot of a domain in gold", STARS, STARS | {"hotel-area": "north"},
                                                                 (0,    0,    0,    0,    0,    0,    0,    0,    0)),
    Case("extra slot of a domain not in gold", STARS, STARS | {"taxi-leaveat": "09:00"},
                                                                 (0,    0,    0,    0,    0,    0,    0,    1,    0)),
    one("hotel-name", "acorn guest house", "acorn",               0,    0,    0,    1, 0.45,    0,    1,    0,    0),
    one("hotel-name", "the acorn rooms", "acorn",                 0,    0,    0,    0,  0.5,    0,    1,    0,    0),
    one("hotel-name", "nonesuch inn", None,                       0,    0,    1,    0,    0,    0,    0,    0,    1),
    one("hotel-type", "guest house", "guesthouse",                0,    0,    0,    1, 0.95,    0,    1,    1,    1),
    one("hotel-type", "guesthouse", "guest house",                0,    1,    0,    1, 0.95,    0,    1,    1,    0),
    one("hotel-type", "guesthouse", "guesthouse",                 1,    0,    1,    1,    1,    1,    1,    1,    0),
    one("hotel-area", "centre", "center",                         0,    0,    0,    1, 0.83,    0,    0,    0,    1),
    one("hotel-area", "center", "centre",                         0,    1,    0,    0, 0.83,    0,    0,    0,    0),
    one("hotel-pricerange", "cheap", "Cheap",                     1,    0,    0,    1,    1,    0,    0,    1,    0),
    one("hotel-pricerange", "moderate", "reasonable",             0,    0,    0,    1, 0.33,    0,    0,    0,    0),
    one("hotel-parking", "yes", "free",                           0,    0,    0,    1, 0.29,    0,    1,    0,    1),
    one("train-leaveat", "18:15", "18:45",                        0,    0,    0,    0,  0.4,    0,    0,    0,    0),
    one("train-leaveat", "09:15", "9:15",                         0,    0,    0,    1, 0.44,    0,    1,    0,    0),
    one("train-leaveat", "17:15", "5:15 pm",                      0,    0,    0,    1,  0.5,    0,    1,    0,    0),
    one("restaurant-food", "british", "english",                  0,    0,    0,    0, 0.43,    0,    1,    0,    0),
    one("restaurant-food", "indian", "indian|thai",               0,    0,    0,    0, 0.71,    0,    1,    1,    0),
    one("restaurant-name", "the copper pan", "copper pan",        0,    0,    0,    0, 0.83,    0,    1,    0,    1),
    one("taxi-destination", "kings college", "king's college",    0,    0,    0,    1, 0.96,    0,    0,    0,    1),
    one("attraction-type", "gallery", "gallery",                  1,    0,    1,    1,    1,    1,    1,    1,    1),
    one("attraction-type", "gallery", None,                       0,    0,    1,    0,    0,    0,    0,    0,    1),
    one("attraction-type", "art", "art",                          1,    0,    1,    1,    1,    1,    1,    1,    0),
)
# fmt: on


def score(convention: str, case: Case) -> float:
    gold = {slot: (value,) for slot, value in case.gold.items()}
    return conventions.create(convention).score(gold, case.predicted)


def table() -> str:
    """The cases as the docs show them."""
    head = [f"| gold -> prediction | {' | '.join(COLUMNS)} |", "|---|" + "---|" * len(COLUMNS)]
    rows = [[case.says.replace("|", "\\|"), *(f"{score(name, case):g}" for name in COLUMNS)] for case in CASES]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
@pytest.mark.parametrize("convention", COLUMNS)
def test_the_script_says(convention: str, case: Case) -> None:
    assert score(convention, case) == pytest.approx(case.scores[COLUMNS.index(convention)], abs=1e-9)


def test_the_docs_show_this_table() -> None:
    assert table() in PAGE.read_text(encoding="utf-8"), (
        f"run python {Path(__file__).name} and commit docs/conventions.md"
    )


@pytest.mark.parametrize(
    ("spec", "gold", "predicted", "expected"),
    [
        ("simpletod(dontcare=keep)", {"hotel-area": "dontcare"}, {}, 0),
        ("simpletod(dontcare=keep)", {}, {"hotel-area": "dontcare"}, 0),
        ("simpletod(dontcare=keep)", {}, {"hotel-area": "none"}, 1),
        ("simpletod(dontcare=keep)", {"attraction-type": "gallery"}, {}, 0),
        ("simpletod(dontcare=keep)", {"hotel-area": "not mentioned"}, {}, 1),
        ("convlab(listed=all)", {}, {"hotel-area": "dontcare"}, 0),
        ("convlab(listed=all)", STARS, STARS | {"taxi-leaveat": "09:00"}, 0),
        ("dstc8(fuzz=difflib)", {"hotel-pricerange": "moderate"}, {"hotel-pricerange": "reasonable"}, 0.22),
        ("trade(labels=coco)", {"hotel-area": "any"}, {"hotel-area": "dontcare"}, 0),
        ("trade(labels=coco)", {"hotel-stars": "3 star hotel"}, {"hotel-stars": "3"}, 1),
        ("trade", {"hotel-stars": "3 star hotel"}, {"hotel-stars": "3"}, 0),
        ("dstc8(fuzzy=false)", {"hotel-name": "the acorn rooms"}, {"hotel-name": "acorn rooms"}, 0),
        ("mwzeval", {"restaurant-book time": "13:00"}, {"restaurant-book time": "13 : 00"}, 1),
        ("mwzeval", {"restaurant-book time": "13 : 00"}, {"restaurant-book time": "13:00"}, 0),
        ("mwzeval(book=same)", {"restaurant-book time": "13:00"}, {"restaurant-book time": "13 : 00"}, 0),
        ("mwzeval(book=same)", {"restaurant-book time": "13 : 00"}, {"restaurant-book time": "13 : 00"}, 1),
        ("mwzeval(book=prefixed)", {"hotel-book people": "2"}, {"hotel-book people": "2"}, 0),
        ("mwzeval(book=prefixed)", {"train-leaveat": "9:15"}, {"train-leaveat": "09:15"}, 1),
        ("mwzeval(book=dropped)", {"hotel-book people": "2"}, {}, 1),
        ("mwzeval(book=dropped)", {"hotel-book people": "2"}, {"hotel-book people": "2"}, 0),
    ],
)
def test_arguments_change_the_answer(
    spec: str, gold: dict[str, str], predicted: dict[str, str], expected: float
) -> None:
    assert score(spec, Case("", gold, predicted, ())) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("convention", "others"),
    [
        ("gca", {"hotel-area: absent -> none": 1}),
        ("checkdst", {"hotel-area: centre -> center": 1, "hotel-area: center -> centre": 1}),
    ],
)
def test_letter_by_letter_but_for_what_the_docs_say(convention: str, others: dict[str, float]) -> None:
    """Where no slot is categorical, `multiwoz22` too is equality letter by letter."""
    expected = {case.says: others.get(case.says, case.scores[COLUMNS.index("multiwoz22")]) for case in CASES}
    assert {case.says: score(convention, case) for case in CASES} == expected


@pytest.mark.parametrize("convention", ["dstc8", "multiwoz22"])
def test_categorical_slots_know_the_first_reference_only_in_any_case(convention: str) -> None:
    kind = {"hotel-area": Slot("area", categorical=True)}
    made = conventions.create(convention)
    gold = {"hotel-area": ("North", "South")}
    assert made.score(gold, {"hotel-area": "north"}, kind) == 1
    assert made.score(gold, {"hotel-area": "South"}, kind) == 0
    assert made.score(gold, {"hotel-area": "South"}) == 1, "not categorical: any reference"
    assert made.score(gold, {"hotel-area": "North", "hotel-colour": "red"}, kind) == 1, "not in the schema: not seen"


def test_trippy_looks_at_the_variants_of_gold_only_if_the_informed_value_has_none() -> None:
    trippy = conventions.create("trippy")
    assert trippy.score({"hotel-area": ("centre",)}, {"hotel-area": "§§center of town§§centre"}) == 1
    assert trippy.score({"hotel-area": ("centre",)}, {"hotel-area": "center of town"}) == 0


@pytest.mark.parametrize(
    ("gold", "then", "expected"),
    [
        ("the acorn rooms", "the acorn rooms", 1),
        ("the acorn rooms", "", 0),
        ("the acorn rooms", "the acorn guest house", 0),
        ("acorn", "the acorn rooms", 0),
    ],
)
def test_trippy_settles_a_value_by_the_gold_of_the_turn_that_takes_it_over(
    gold: str, then: str, expected: float
) -> None:
    """`acorn` was taken over while gold was `then`; it became that gold, whatever gold is now."""
    informed = "§§acorn" + (f"§§{then}" if then else "")
    assert conventions.create("trippy").score({"hotel-name": (gold,)}, {"hotel-name": informed}) == expected


def test_trippy_settles_on_no_value_where_gold_has_none_and_the_words_say_so() -> None:
    assert conventions.create("trippy").score({}, {"hotel-name": "§§none of these"}) == 1
    assert conventions.create("trippy").score({}, {"hotel-name": "none of these"}) == 0


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("5:15", "05:15"),
        ("0515", "05:15"),
        ("9", "09:00"),
        ("by 5:15 pm", "17:15"),
        ("after 5 p.m.", "17:00"),
        ("afer 5am", "05:00"),
        ("12:15 pm", "24:15"),
        ("17 : 15", "17:15"),
        ("17:15?", "17:15"),
        ("half past pm", "half past"),
        ("teatime", "teatime"),
        ("", "00:00"),
    ],
)
def test_mwzeval_reads_the_clock_its_own_way(said: str, read: str) -> None:
    assert to_clock(said) == read


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- micro-cases -->\n")
    after = rest.partition("<!-- end of micro-cases -->")[2]
    PAGE.write_text(
        f"{before}<!-- micro-cases -->\n{table()}\n<!-- end of micro-cases -->{after}", encoding="utf-8", newline="\n"
    )


def test_an_informed_value_is_compared_as_trippys_script_compares_it() -> None:
    """Beside its `check_slot_inform`: runs of words either way, and an empty run is in everything."""
    trippy = conventions.create("trippy")
    cases = {("the acorn rooms", "acorn"): 1, ("acorn", "the acorn rooms"): 1, ("acorn", "acer"): 0, ("acorn", ""): 1}
    for (gold, informed), expected in cases.items():
        predicted = {"hotel-name": INFORMED.join(("", informed, gold))}
        assert trippy.score({"hotel-name": (gold,)}, predicted) == expected, (gold, informed)
    settled = {"train-leaveat": INFORMED.join(("", "5:15 pm", "17:15"))}
    assert trippy.score({"train-leaveat": ("17:15",)}, settled) == 1
