"""The numbers of the page as CSV, inside the page: a link each, that needs neither a network nor a script."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping
from typing import Any

from dstress.reports.explorer import Confusions
from dstress.reports.findings import Records, recall
from dstress.reports.tables import Table
from dstress.runs.folder import RunFolder, Scores
from dstress.scoring.scorecard import UNITS

_MOST_PAIRS = 20
"""Pairs of a gold value and another answer that are kept of a slot, the most frequent ones."""


def make_downloads(
    run: RunFolder, scores: Scores, confusions: Mapping[str, Confusions], stressors: Records
) -> dict[str, str]:
    """The tables that have rows, by name, each as an address that holds all of it."""
    records: dict[str, list[dict[str, Any]]] = {}
    # Every slot under every variant: how many of its gold values are right, and what is wrong with the others.
    records["slots"] = [
        {"variant": variant, "slot": slot, "recall": recall(errors), "right": errors.right, "wrong": errors.wrong}
        | {"missed": errors.missed, "extra": errors.extra}
        for variant, card in scores.variants.items()
        for slot, errors in card.slots.items()
    ]
    # Every service under every variant, by every metric.
    records["services"] = [
        {"variant": variant, "service": service, UNITS: values.get(UNITS)}
        | {metric: value for metric, value in values.items() if metric != UNITS}
        for variant, card in scores.variants.items()
        for service, values in card.slices.get("service", {}).items()
    ]
    records["confusions"] = [
        {"slot": slot, "gold": gold, "answer": answer, "variant": variant, "turns": times}
        for slot, pairs in frequent_confusions(confusions).items()
        for gold, answer, counts in pairs
        for variant, times in zip(confusions, counts, strict=True)
        if times
    ]
    records["schema"] = [
        {"stressor": row["variant"], "slot": slot.before, "slot there": slot.after}
        | {"description": slot.description_before, "description there": slot.description_after}
        for row in stressors
        if row["schema"]
        for slot in row["schema"].slots
    ]
    tables = run.tables | {name: Table((), (), "", rows) for name, rows in records.items() if rows}
    csv = {name: table.to_csv().encode("utf-8", "replace") for name, table in tables.items() if table.data}
    return {name: f"data:text/csv;charset=utf-8;base64,{base64.b64encode(data).decode()}" for name, data in csv.items()}


def frequent_confusions(confusions: Mapping[str, Confusions]) -> dict[str, list[tuple[str, str, list[int]]]]:
    """By slot, what was taken for what and how often under each variant; slots and pairs with the most errors first."""
    total: Confusions = sum(confusions.values(), Counter())
    slots = Counter[str]()
    for (slot, _, _), times in total.items():
        slots[slot] += times
    pairs: dict[str, list[tuple[str, str, list[int]]]] = {slot: [] for slot, _ in _ordered(slots)}
    for pair, _ in _ordered(total):
        slot, gold, answer = pair
        if len(pairs[slot]) < _MOST_PAIRS:
            pairs[slot].append((gold, answer, [counted[pair] for counted in confusions.values()]))
    return pairs


def _ordered(counted: Counter[Any]) -> list[tuple[Any, int]]:
    """The most frequent first; where two are as frequent, by name: the same run gives the same page."""
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))
