"""The coreference finder: its conditions one by one, and its figures on labelled turns as the docs state them."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given

from dstress import corpora
from dstress.dialogue import Coreference, Dialogue, State, Turn
from dstress.text.coreference import find, find_all, is_annotated, kind_of, kinds, needs_coreference
from tests import strategies
from tests.paths import DOCS

PAGES = DOCS / "metrics" / "coref-jga.md"
LABELS = Path(__file__).with_name("coreference_labels.tsv")
CUE = re.compile(
    r"\b(same|that|this|those|these|there|it|them|both|two|nearby|(?:the|my) (?:hotel|guest ?house|lodging|restaurant"
    r"|attraction|museum|college|church|park|pool|club|nightclub|gallery|theatre|cinema|place|reservation|booking"
    r"|booked))\b",
    re.IGNORECASE,
)
"""What a turn that the finder passes over had to have to be in the sample."""

BEFORE: State = {
    "restaurant-name": ("sala thong",),
    "restaurant-book day": ("tuesday",),
    "restaurant-book people": ("3",),
    "restaurant-book time": ("18:15",),
    "restaurant-area": ("west",),
    "restaurant-pricerange": ("cheap",),
    "hotel-name": ("acorn guest house",),
}


def found(user: str, changes: dict[str, str], earlier: tuple[str, ...] = (), system: str = "") -> dict[str, str]:
    state = BEFORE | {slot: (value,) for slot, value in changes.items()}
    return {reference.slot: reference.expression for reference in find(Turn(user, system, state), BEFORE, earlier)}


@pytest.mark.parametrize(
    ("user", "slot", "value", "expression"),
    [
        ("A train on the same day as the booking .", "train-day", "tuesday", "on the same day"),
        ("For the same group of people .", "hotel-book people", "3", "same group of people"),
        ("A museum in that area", "attraction-area", "west", "that area"),
        ("something near the restaurant", "attraction-area", "west", "near the restaurant"),
        ("a hotel in the same price range", "hotel-pricerange", "cheap", "same price"),
        ("it should arrive by the booked time", "taxi-arriveby", "18:15", "booked time"),
        ("a taxi to the restaurant", "taxi-destination", "sala thong", "to the restaurant"),
        ("I 'll leave the hotel at 9", "taxi-departure", "acorn guest house", "leave the hotel"),
        ("a cab between the two places", "taxi-departure", "acorn guest house", "between the two"),
        ("can a taxi take us there ?", "taxi-destination", "sala thong", "take us there"),
    ],
)
def test_expressions(user: str, slot: str, value: str, expression: str) -> None:
    assert found(user, {slot: value}) == {slot: expression}


@pytest.mark.parametrize(
    ("user", "slot", "value", "why"),
    [
        ("tuesday , the same day", "train-day", "tuesday", "said"),
        ("three , the same group of people", "hotel-book people", "3", "said in letters"),
        ("to the restaurant sala tong", "taxi-destination", "sala thong", "partly said"),
        ("on the same day", "train-day", "monday", "nothing holds monday"),
        ("on tues", "train-day", "tuesday", "no expression"),
        ("the same day", "train-day", "dontcare", "no value"),
        ("a taxi to the hotel", "taxi-destination", "sala thong", "the noun means another service"),
        ("the same area", "train-day", "tuesday", "an expression of another kind"),
        ("yes , book it", "attraction-name", "sala thong", "a confirmation"),
    ],
)
def test_what_is_no_coreference(user: str, slot: str, value: str, why: str) -> None:
    assert found(user, {slot: value}) == {}, why


def test_a_name_that_was_only_heard() -> None:
    said = ("How about Byard Art ?", "fine")
    assert found("a taxi from the museum", {"taxi-departure": "byard art"}, said) == {
        "taxi-departure": "from the museum"
    }
    assert found("a taxi from the museum", {"taxi-departure": "byard art"}) == {}
    assert found("a taxi there", {"taxi-destination": "byard art"}, system="Byard Art is free .")
    # "the hotel" is the one in the state.
    assert found("a taxi from the hotel", {"taxi-departure": "byard art"}, said) == {}


def test_a_first_turn_refers_to_nothing() -> None:
    assert find(Turn("the same day", "", {"train-day": ("tuesday",)}), {}) == []


def test_annotation_comes_first() -> None:
    marked = Turn("there", "", {}, coreferences=(Coreference("taxi-destination", "there"),))
    dialogue = Dialogue("a", (Turn("hello"), marked))
    assert needs_coreference(dialogue) == [False, True]
    assert needs_coreference(dialogue, annotated=False) == [False, False]
    assert is_annotated([dialogue])
    assert not is_annotated([Dialogue("b", (Turn("hello"),))])


@given(strategies.dialogues)
def test_every_reference_is_to_a_new_value(dialogue: Dialogue) -> None:
    for turn, references in zip(dialogue.turns, find_all(dialogue), strict=True):
        assert all(reference.value == turn.state[reference.slot][0] for reference in references)
    assert len(needs_coreference(dialogue)) == len(dialogue.turns)


def test_every_pattern_compiles_and_has_a_kind() -> None:
    names = [kind.name for kind in kinds()]
    assert len(names) == len(set(names)) == 9
    assert kind_of("hotel-internet") is None


def test_the_figures_of_the_docs(shared: Path) -> None:
    corpora.add("multiwoz21", shared / "data/multiwoz21-raw/test.json.zip")
    flagged, passed_over = strata("multiwoz21:test")
    labels = dict(labelled())
    assert len(labels) == 100
    assert labels.keys() <= flagged | passed_over
    right, missed = (sum(labels[turn] for turn in labels.keys() & turns) for turns in (flagged, passed_over))
    n, m = len(labels.keys() & flagged), len(labels.keys() & passed_over)
    estimated = len(flagged) * right / n
    recall = estimated / (estimated + len(passed_over) * missed / m)
    text = PAGES.read_text("utf-8")
    assert right / n >= 0.95
    assert (
        f"| {right / n:.3f} ({right} of {n}) | {right / (right + missed):.3f} ({right} of {right + missed}) |" in text
    )
    assert f"estimated from them | {right / n:.3f} | {recall:.2f} |" in text
    assert f"{n} of the {len(flagged)} turns found, and {m} of the {len(passed_over)} turns" in text
    low, high = wilson(right, n)
    assert f"of the precision is [{low:.3f}, {high:.3f}]." in text
    least, most = (estimated / (estimated + len(passed_over) * rate) for rate in reversed(wilson(missed, m)))
    assert f"its interval is wide, [{least:.2f}, {most:.2f}]" in text


def wilson(right: int, n: int, z: float = 1.96) -> tuple[float, float]:
    centre, half = right / n + z * z / (2 * n), z * math.sqrt(right * (n - right) / n**3 + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


def labelled() -> list[tuple[tuple[str, int], int]]:
    rows = [line.split("\t") for line in LABELS.read_text("utf-8").splitlines()[1:]]
    return [((dialogue, int(turn)), int(label)) for dialogue, turn, label in rows]


def strata(name: str) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """The turns that the finder takes, and those that it passes over although they have a cue."""
    taken, passed_over = set(), set()
    for dialogue in corpora.load(name):
        turns = zip(dialogue.turns, find_all(dialogue), dialogue.updates(), strict=True)
        for number, (turn, references, change) in enumerate(turns):
            if references:
                taken.add((dialogue.id, number))
            elif number and any(change.values()) and CUE.search(turn.user):
                passed_over.add((dialogue.id, number))
    return taken, passed_over


def test_the_figures_on_the_embedded_corpus() -> None:
    turns = [
        (bool(turn.coreferences), bool(references))
        for dialogue in corpora.load("reminder:test")
        for turn, references in zip(dialogue.turns, find_all(dialogue), strict=True)
    ]
    both, gold, ours = (sum(map(rule, turns)) for rule in (all, lambda pair: pair[0], lambda pair: pair[1]))
    row = f"{both / ours:.3f} ({both} of {ours}) | {both / gold:.3f} ({both} of {gold}) |"
    assert f"against its annotation | {row}" in PAGES.read_text("utf-8")


def test_the_worked_example_of_the_docs() -> None:
    dialogue, text = worked_example()
    rows = re.findall(r"^\| (\d) \| (.*?) ?\| (\d) \|$", text, re.MULTILINE)
    assert len(rows) == len(dialogue.turns) == 4
    shown = [{tuple(part.split(": ")) for part in cell.split("; ") if part} for _, cell, _ in rows]
    seen = [{(one.slot, one.expression) for one in references} for references in find_all(dialogue)]
    assert seen == [{(slot, expression) for slot, expression in cell} for cell in shown]
    right = [int(row[2]) for row in rows]
    chosen = [score for score, needed in zip(right, needs_coreference(dialogue), strict=True) if needed]
    assert f"JGA is {sum(right) / 4:.2f}, coref-jga {sum(chosen) / len(chosen):.2f}." in text


def worked_example() -> tuple[Dialogue, str]:
    text = PAGES.read_text("utf-8").partition("## Worked example")[2]
    lines = [("SYSTEM", ""), *re.findall(r"^    (USER|STATE|SYSTEM) +(?:\+ )?(.+)$", text, re.MULTILINE)]
    state: State = {}
    turns = []
    for (_, system), (_, user), (_, change) in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        state = state | {slot: (value,) for slot, _, value in (part.partition("=") for part in change.split("; "))}
        turns.append(Turn(user, system, state))
    assert all(one.state.items() <= other.state.items() for one, other in pairwise(turns))
    return Dialogue("example", tuple(turns)), text
