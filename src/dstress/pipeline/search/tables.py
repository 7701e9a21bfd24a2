"""What a search found, as tables."""

from __future__ import annotations

import msgspec

from dstress.pipeline.search.search import Measured, Point, SearchResult, Tried
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table

_TRIED_SHOWN = 12


def search_tables(result: SearchResult) -> dict[str, Table]:
    """The frontier on held-out dialogues, and the candidates as the choosing half saw them."""
    return {"frontier": frontier_table(result), "tried": _tried_table(result)}


def frontier_table(result: SearchResult) -> Table:
    """Every reported composition, the least edits first, under the original."""
    turns = f"{result.winner.turns:,} turns of {result.winner.dialogues:,} held-out dialogues"
    rows = [("original", "", PLAIN.percent(result.original.value), _between(result.original), *[""] * 4)]
    for point in result.frontier:
        rows.append(
            (
                point.spec + (" *" if point.is_winner else ""),
                f"{point.edited:.2f}",
                PLAIN.percent(point.accuracy.value),
                _between(point.accuracy),
                PLAIN.points(-point.drop.value),
                PLAIN.change_interval(-point.drop.high, -point.drop.low),
                f"{100 * point.broken.value:.1f}",
                _per_hundred(point.broken),
            )
        )
    columns = ("composition", "#edited", "#right %", "#95 % of right", "#change", "#of change", "#broken", "#of broken")
    caption = f"{turns}; edited: words per turn; change: points; broken: turns per 100 edited words; * chosen"
    return Table(columns, rows, caption, [_record(point) for point in result.frontier])


def _between(found: Measured) -> str:
    return PLAIN.interval(found.low, found.high)


def _per_hundred(found: Measured) -> str:
    return PLAIN.interval(found.low, found.high, 1)


def _record(point: Point) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in msgspec.structs.asdict(point).items():
        if isinstance(value, Measured):
            flat |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            flat[name] = value
    return flat


def _tried_table(result: SearchResult) -> Table:
    most_tried = sorted(result.tried, key=lambda one: (-one.dialogues, -_rate(one)))
    rows = [
        (one.spec, *(f"{number:,}" for number in (one.dialogues, one.lost, one.edited)), f"{100 * _rate(one):.1f}")
        for one in most_tried[:_TRIED_SHOWN]
    ]
    counted = "candidate was" if len(result.tried) == 1 else "candidates were"
    caption = f"{len(result.tried):,} {counted} tried on the other half; these the longest"
    columns = ("candidate", "#dialogues", "#turns lost", "#edited words", "#per 100 words")
    return Table(columns, rows, caption, [msgspec.structs.asdict(one) for one in most_tried])


def _rate(tried: Tried) -> float:
    return tried.lost / max(1, tried.edited)


def describe_winner(found: SearchResult) -> str:
    """What was found, in a sentence or two; that it breaks nothing, where it lost no turn on the held-out half."""
    best = found.winner
    held_out = f"on {best.dialogues:,} dialogues that did not choose it"
    if best.drop.value <= 0:
        told = f"Nothing was found that breaks {found.tracker}: {best.spec}, the one chosen, costs no turns {held_out}."
    else:
        told = (
            f"{best.spec} breaks {found.tracker} most for what it changes: {100 * best.broken.value:.1f} turns per 100 "
            f"edited words {_per_hundred(best.broken)}, {PLAIN.points(-best.drop.value)} points of turns right, "
            f"{held_out}."
        )
    return f"{told}\n{found.asked_to_choose:,} turns were asked to choose, {found.asked_to_report:,} to report."
