"""The sheets that judges give back, and the verdict on them: majorities, intervals, agreement (CoCo, table 3)."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from dstress.errors import DstressError

YES = frozenset({"yes", "y", "1", "true"})
NO = frozenset({"no", "n", "0", "false"})
Z95 = 1.959963984540054

Sheet = dict[str, dict[str, bool]]
"""One judge's answers: item -> question -> yes or no. What was left empty is absent."""


class Share(msgspec.Struct, frozen=True):
    """Items with a majority for yes among those with a majority; the interval is Wilson's, 95 %.

    `tied` items had as many for as against, `unjudged` ones no answer: neither is in the share.
    """

    yes: int
    decided: int
    tied: int
    unjudged: int
    value: float | None
    low: float | None
    high: float | None


class Verdict(msgspec.Struct, frozen=True):
    """`variants`: variant -> question -> share. `agreement`: question -> Krippendorff's alpha over all items.

    `missing`: judge -> question -> how many items were left empty.
    """

    judges: list[str]
    items: int
    variants: dict[str, dict[str, Share]]
    agreement: dict[str, float | None]
    missing: dict[str, dict[str, int]]


def read_sheet(path: Path, items: Iterable[str], questions: Sequence[str]) -> Sheet:
    """A judge's sheet: CSV with commas, semicolons or tabs, as spreadsheets save it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DstressError("the sheet is not UTF-8", where=str(path), fix="save it as CSV UTF-8") from None
    except OSError as error:
        raise DstressError(f"cannot read the sheet ({error.strerror})", where=str(path)) from None
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    try:
        return _parse_rows(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), path, set(items), questions)
    except csv.Error as error:
        raise DstressError(f"this is no CSV: {error}", where=str(path), fix="save the sheet as CSV UTF-8") from None


def _parse_rows(rows: Any, path: Path, items: set[str], questions: Sequence[str]) -> Sheet:
    header = [cell.strip().casefold() for cell in next(rows, [])]
    for column in ("item", *questions):
        if header.count(column) != 1:
            problem = f"two columns are {column!r}" if column in header else f"the header has no column {column!r}"
            fix = f"keep the first line as it was: item ... {', '.join(questions)}"
            raise DstressError(problem, where=f"{path}, line 1", fix=fix)
    sheet: Sheet = {}
    for row in rows:
        if any(cell.strip() for cell in row):
            where = f"{path}, line {rows.line_num}"
            if len(row) < len(header):
                problem = f"{len(row)} columns in place of {len(header)}"
                raise DstressError(problem, where=where, fix="keep every column, also those that are empty")
            cells = {column: cell.strip() for column, cell in zip(header, row, strict=False)}
            item = cells["item"]
            if item not in items:
                fix = "give the key that was written with this sheet, and leave the column `item` as it was"
                raise DstressError(f"the key has no item {item!r}", where=where, fix=fix)
            if item in sheet:
                raise DstressError(f"the item {item} is there twice", where=where, fix="keep one of the two lines")
            sheet[item] = _parse_row(cells, questions, where)
    return sheet


def _parse_row(cells: Mapping[str, str], questions: Sequence[str], where: str) -> dict[str, bool]:
    answers = {}
    for question in questions:
        text = cells[question]
        if text.casefold() not in YES | NO | {""}:
            fix = "write yes or no (1 or 0), or leave it empty"
            raise DstressError(f"{question} is {text!r}", where=where, fix=fix)
        if text:
            answers[question] = text.casefold() in YES
    return answers


def judge(sheets: Mapping[str, Sheet], items_by_question: Mapping[str, Mapping[str, Sequence[str]]]) -> Verdict:
    """The verdict of several judges. `items_by_question`: question -> variant -> the items at which it was asked.

    An item that looks the same under two variants may be judged once and stand for both.
    """
    shares: dict[str, dict[str, Share]] = {}
    agreement: dict[str, float | None] = {}
    items = {question: dict.fromkeys(chain(*groups.values())) for question, groups in items_by_question.items()}
    for question, groups in items_by_question.items():
        votes = {
            item: [sheet[item][question] for sheet in sheets.values() if question in sheet.get(item, {})]
            for item in items[question]
        }
        for name, group in groups.items():
            shares.setdefault(name, {})[question] = majority_share([votes[item] for item in group])
        agreement[question] = krippendorff_alpha(list(votes.values()))
    missing = {
        name: {q: sum(q not in sheet.get(item, {}) for item in judged) for q, judged in items.items()}
        for name, sheet in sheets.items()
    }
    return Verdict(list(sheets), len(set(chain(*items.values()))), shares, agreement, missing)


def majority_share(votes: Sequence[Sequence[bool]]) -> Share:
    """The majority on each item, and the share of those for yes."""
    counts: Counter[str] = Counter()
    for item_votes in votes:
        balance = 2 * sum(item_votes) - len(item_votes)
        counts["unjudged" if not item_votes else "tied" if not balance else "yes" if balance > 0 else "no"] += 1
    decided = counts["yes"] + counts["no"]
    low, high = wilson_interval(counts["yes"], decided) if decided else (None, None)
    value = counts["yes"] / decided if decided else None
    return Share(counts["yes"], decided, counts["tied"], counts["unjudged"], value, low, high)


def wilson_interval(yes: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, which stays within 0 and 1 and is right for few items (Wilson 1927)."""
    share, square = yes / of, Z95 * Z95
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = Z95 / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def krippendorff_alpha(votes: Sequence[Sequence[bool]]) -> float | None:
    """Krippendorff's alpha for yes and no (2004, chapter 11): 1 is full agreement, 0 what chance would give.

    Judges may leave items out. None where no two judges judged one item, or where all answers are the same: then there
    is no disagreement that chance could have made.
    """
    paired = [item_votes for item_votes in votes if len(item_votes) > 1]
    answers = sum(map(len, paired))
    yes = sum(map(sum, paired))
    no = answers - yes
    if not yes or not no:
        return None
    disagreements = (2 * sum(item) * (len(item) - sum(item)) / (len(item) - 1) for item in paired)
    observed = sum(disagreements) / answers
    expected = 2 * yes * no / (answers * (answers - 1))
    return 1 - observed / expected
