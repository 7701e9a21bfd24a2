"""Explanations: every number of every sentence is in the rows that it names, and no more is said than they say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from dstress.reports.analysis.explain import (
    Answers,
    ErrorStudy,
    Interaction,
    KindRow,
    NameRow,
    SlotRow,
    TurnRow,
    study_errors,
)
from dstress.reports.analysis.systems import open_systems
from dstress.reports.error_findings import error_findings
from dstress.reports.explanation import Explanation, explain_difference, explain_run, explain_system
from dstress.reports.findings import Evidence, Finding, Records, Sentence
from dstress.reports.html import render_html
from dstress.reports.numbers import PAGE
from dstress.runs.folder import RunFolder
from dstress.runs.scores import find_errors
from dstress.scoring.alignment.errors import TurnErrors
from tests.reports.analysis.test_explain import SCHEMA, answers

_NUMBER = re.compile(r"(?<![\w.)-])[−+]?\d[\d,]*(?:\.\d+)?")


def shown(value: Any) -> Iterator[str]:
    """Every way in which a figure may stand in a sentence."""
    if isinstance(value, bool) or value is None or (isinstance(value, float) and math.isnan(value)):
        return
    if isinstance(value, int):
        yield f"{value:,}"
    elif isinstance(value, float):
        for number in (value, -value):
            yield from (PAGE.percent(number), PAGE.percent(number, 2), PAGE.points(number), f"{number:.1f}")
            yield f"{number:,.0f}"
            yield from PAGE.change_interval(number, number).strip("[]").split(", ")
        yield PAGE.probability(value).removeprefix("< ")


def figures(sentence: Sentence, tables: dict[str, Records]) -> set[str]:
    """What a sentence may say by the rows that it names: their figures, sums over them, and differences of two rows."""
    table = tables[sentence.table]
    rows = [table[place] for place in sentence.rows]
    found = {text for row in rows for value in row.values() for text in shown(value)}
    found |= {text for row in rows if "n" in row for text in shown(row["value"] * row["n"])}
    for first, second in permutations(rows, 2):
        if "metric" in first and first["metric"] == second["metric"]:
            found |= set(shown(first["value"] - second["value"]))
    found |= {text for row in rows if row.get("turns") for text in shown(row.get("failed", 0) / row["turns"])}
    found |= {f"{number:,}" for number in range(len(table) + 1)}
    return found | {"95", "0"}


def words_of(sentence: Sentence, tables: dict[str, Records]) -> str:
    """The sentence without the names that it quotes, which may hold digits."""
    text = sentence.text
    names = {str(v) for row in tables[sentence.table] for v in row.values() if isinstance(v, str) and v}
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "...")
    return text


def require_traceable(told: Explanation) -> None:
    assert told.findings
    for finding in told.findings:
        assert finding.text == " ".join(sentence.text for sentence in finding.sentences) != ""
        for sentence in finding.sentences:
            assert sentence.rows, sentence
            numbers = set(_NUMBER.findall(words_of(sentence, told.evidence)))
            assert numbers - figures(sentence, told.evidence) == set(), sentence


@pytest.fixture(scope="module")
def told(run: RunFolder) -> Explanation:
    return explain_run(run, find_errors(run))


@pytest.mark.slow
def test_every_number_of_a_run_is_in_its_rows(told: Explanation) -> None:
    require_traceable(told)
    assert len(told.findings) > 4


@pytest.mark.slow
def test_the_report_opens_with_the_same_text(run: RunFolder, told: Explanation) -> None:
    page = render_html(run, find_errors(run))
    from html import unescape

    shown_text = unescape(re.sub(r"<[^>]+>", "", page.partition('class="findings"')[2].partition("</ol>")[0]))
    for finding in told.opening:
        assert finding.text in shown_text


def test_every_number_of_real_files_is_in_its_rows(shared: Path) -> None:
    files = [shared / f"data/predictions/copy-{name}-test.json.zip" for name in "ac"]
    first, second = open_systems(files)
    for explanation in (explain_system(first), explain_difference(first, second)):
        require_traceable(explanation)
    assert explain_system(first).notes == ["the dialogues have no words, so nothing is told of names that nobody said"]


def slot(name: str, **changes: Any) -> SlotRow:
    base: dict[str, Any] = {"gold": 100, "right": 90, "missed": 5, "wrong": 5, "spurious": 0, "fresh": 10}
    base |= {"recall": 0.9, "low": 0.85, "high": 0.95, "dialogues": 50, "accuracy": 0.5, "fixed": 0.52}
    base |= {"at_stake": 0.02, "at_stake_low": 0.01, "at_stake_high": 0.03, "dialogues_at_stake": 12}
    return SlotRow(slot=name, **base | changes)


def study(**changes: Any) -> ErrorStudy:
    base = study_errors(Answers({"original": answers({}, 1)}, [], SCHEMA, {}))
    return ErrorStudy(**{name: changes.get(name, getattr(base, name)) for name in ErrorStudy.__struct_fields__})


def tell(given: ErrorStudy) -> dict[str, Finding]:
    import msgspec

    tables = {name: msgspec.to_builtins(getattr(given, name)) for name in ErrorStudy.__struct_fields__[1:]}
    found = {finding.title: finding for finding in error_findings(given, Evidence(tables))}
    require_traceable(Explanation("made", list(found.values()), tables))
    return found


def test_few_dialogues_and_a_close_second_are_said() -> None:
    slots = [slot("h-a", dialogues_at_stake=2), slot("h-b", at_stake=0.015, at_stake_high=0.04)]
    found = tell(study(slots=slots))
    assert "from only 2 dialogues" in found["Fix h-a first"].text
    assert "The order is uncertain; as much may be at stake in h-b [1.0, 4.0]" in found["Fix h-a first"].text
    clear = [slot("h-a"), slot("h-b", at_stake=0.001, at_stake_low=0.0, at_stake_high=0.002)]
    assert "chance" not in tell(study(slots=clear))["Fix h-a first"].text


def test_a_slot_is_weak_only_where_its_whole_interval_is() -> None:
    turns = study().turns[0]
    assert 0.8 < turns.recall < 0.97
    rare = slot("h-rare", gold=2, right=0, recall=0.0, low=0.0, high=0.98, dialogues=1)
    sure = slot("h-sure", recall=0.3, low=0.2, high=0.4, dialogues=4)
    found = tell(study(slots=[sure, rare]))
    assert "h-sure is weak" in found
    assert "only 4 dialogues" in found["h-sure is weak"].text
    assert not any("weak" in title for title in tell(study(slots=[rare])))


def test_few_errors_have_no_shares() -> None:
    rows = [KindRow("missed", 5, 3, 4, 0.75, 0.9, 0.95, 0.05), KindRow("wrong", 1, 1, 4, 0.25, 0.9, 0.91, 0.01)]
    turns = study().turns[0]
    import msgspec

    few = msgspec.structs.replace(turns, fresh=4, wrong=6)
    found = tell(study(kinds=rows, turns=[few]))
    assert "These are too few to compare kinds." in found["Only 4 errors"].text
    assert not any("wrong turns" in title for title in found)


@pytest.mark.parametrize(
    ("carrying", "making", "title"),
    [
        (60, 40, "Most wrong turns only carry over an earlier error"),
        (50, 50, "Half of the wrong turns only carry over an earlier error"),
        (40, 60, "Most wrong turns make a new error"),
    ],
)
def test_what_is_carried_on(carrying: int, making: int, title: str) -> None:
    turns = TurnRow(300, 0, 100, making, carrying, carrying / 100, 2.5, 200, 80, 60, 50, 1000, 0.8)
    assert title in tell(study(turns=[turns]))


def test_interactions_are_told_only_where_the_slot_loses() -> None:
    tested = {"p": 0.0001, "p_holm": 0.01, "tests": 40, "slot": "h-a", "stressor": "typos"}
    loss = {"original": 0.9, "stressed": 0.6, "change": -0.3, "others": -0.1}
    row = Interaction(**tested, **loss, difference=-0.2, low=-0.3, high=-0.1, dialogues=8)
    found = tell(study(interactions=[row]))["typos hits h-a harder than other slots"]
    assert "(only 8 dialogues)" in found.text and "over 40 pairs of slot and stressor" in found.text
    kept = {"original": 0.9, "stressed": 0.9, "change": 0.0, "others": 0.3}
    spared = Interaction(**tested, **kept, difference=-0.3, low=-0.4, high=-0.2, dialogues=30)
    assert not any("harder" in title for title in tell(study(interactions=[spared])))


def test_that_no_name_was_made_up_is_told_with_what_it_may_be() -> None:
    found = tell(study(names=[NameRow(12, 0, 0.0, 0.3, 9, 0)]))["No hallucinated names"]
    assert "(in only 9 dialogues)" in found.text and "at most 30.0 % of such dialogues" in found.text


def test_a_tracker_without_a_fault_has_no_error_findings() -> None:
    errors: TurnErrors = answers(dict.fromkeys(("area", "name", "food", "day"), 0.0), 1)
    assert tell_titles(study_errors(Answers({"original": errors}, [], SCHEMA, {}))) == []


def tell_titles(given: ErrorStudy) -> list[str]:
    import msgspec

    tables = {name: msgspec.to_builtins(getattr(given, name)) for name in ErrorStudy.__struct_fields__[1:]}
    return [finding.title for finding in error_findings(given, Evidence(tables))]
