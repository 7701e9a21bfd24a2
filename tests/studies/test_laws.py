"""Metric laws: any dialogue keeps to the table, the table is that of the page, and the paper's weaknesses are in it."""

from __future__ import annotations

import re
from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.errors import DstressError
from dstress.studies.laws import LAWS, METRICS, Story, Verdict, judge_laws, make_story, score_stories
from tests.paths import DOCS

MORE = (*METRICS, "iaga", "slot-precision", "slot-recall", "gca(weights=paper)", "gca(partial=true)")
PAGE = (DOCS / "metrics/laws.md").read_text(encoding="utf-8")


@cache
def verdicts() -> dict[tuple[str, str], Verdict]:
    return {(one.law, one.metric): one for one in judge_laws(MORE)}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@given(random=st.randoms(use_true_random=False))
def test_no_dialogue_goes_another_way_than_the_table(law, random: Random) -> None:
    pair = law.change(make_story(random), random)
    before, after = (score_stories([story], MORE) for story in pair)
    for metric in MORE:
        change = float(after[metric][0] - before[metric][0])
        sign = 0 if abs(change) <= 1e-12 else 1 if change > 0 else -1
        assert sign in verdicts()[law.name, metric].ways, (metric, change)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@given(random=st.randoms(use_true_random=False))
def test_a_law_changes_what_it_says_and_nothing_else(law, random: Random) -> None:
    """The number of mistakes is the same where a mistake only moves; gold is another only where turns or slots come."""
    before, after = law.change(make_story(random), random)
    if law.weakness == "double counting" or law.name.startswith("of two mistakes"):
        assert len(before.missed) == len(after.missed)
    turns = {slots for slots in before.named if slots} == {slots for slots in after.named if slots}
    assert turns
    assert before != after


def test_three_weaknesses_are_facts() -> None:
    """What the paper says of JGA, FGA, RSA and AGA holds, and GCA has none of it but in counting a second mistake."""
    word = {place: one.word for place, one in verdicts().items()}
    earlier, goes_on, goes_on_right, begins_later, second, split = (law.name for law in LAWS[:6])
    for metric in ("rsa", "aga", "sa", "slot-f1"):
        assert word[earlier, metric] == "down"
    assert word[earlier, "jga"] == "down or same"
    assert {word[goes_on_right, metric] for metric in ("jga", "fga", "rsa", "aga", "sa", "slot-f1")} == {"up"}
    assert (word[begins_later, "jga"], word[begins_later, "fga"], word[begins_later, "rsa"]) == ("up", "up", "down")
    assert {word[second, metric] for metric in ("jga", "fga")} == {"same"}
    assert word[split, "fga"] == "down or same"
    assert {word[law, "gca"] for law in (earlier, goes_on, goes_on_right, begins_later, split)} == {"same"}
    assert word[second, "gca"] == "down"


def test_the_table_of_the_page_is_the_one_that_is_computed() -> None:
    table = re.search(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE)
    assert table is not None
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines())
    assert tuple(head[2:]) == METRICS
    computed = [[law.name, law.weakness, *(verdicts()[law.name, metric].word for metric in METRICS)] for law in LAWS]
    assert lines == computed


def test_states_of_a_story() -> None:
    story = Story((("a",), ("b", "c")), missed={"a": 1}, wrong={"b": 9}, extra={"z": 1}, forgotten={"c": 1})
    gold, said = story.states[1]
    assert gold == {slot: f"value of {slot}" for slot in "abc"}
    assert said == {"a": "value of a", "b": "quite another", "z": "never said"}
    assert story.states[0] == ({"a": "value of a"}, {})


def test_a_metric_without_states_has_no_laws() -> None:
    with pytest.raises(DstressError, match="has no laws of states"):
        judge_laws(["intent-accuracy"], 2)
