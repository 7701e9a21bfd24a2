"""Robustness against accuracy: a point for each system of a board, for the page beside it.

Across is the score on the original dialogues, up the score under stress, on one scale: what lies below the diagonal
is what stress costs.
"""

from __future__ import annotations

from math import ceil, floor, isfinite
from typing import NamedTuple

from dstress.leaderboard.benchmarks.board import Board, Standing
from dstress.leaderboard.benchmarks.results import SUITE_TABLE, View
from dstress.runs.folder import Cell
from dstress.runs.suites.base import ORIGINAL
from dstress.scoring.metrics.measures import measure_of

SIZE, MARGIN, EDGE = 340, 40, 12
"""The picture's side; what axes have for their numbers, and what is left free on the other side."""
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 25, 50, 100)
_MOST_TICKS = 6


class Spot(NamedTuple):
    """Systems that lie in one place, by their ranks; a line each way is the 95 % interval, where there is one."""

    standings: list[Standing]
    x: float
    y: float
    across: tuple[float, float]
    up: tuple[float, float]

    @property
    def label(self) -> str:
        """Their places on the board."""
        return ", ".join(str(standing.row.rank) for standing in self.standings)


class Scatter(NamedTuple):
    """The picture: spots and ticks by their distance from the lower left corner, and what is drawn."""

    metric: str
    stressed: str
    spots: list[Spot]
    ticks: list[tuple[float, str]]
    size: int = SIZE
    margin: int = MARGIN
    end: int = SIZE - EDGE


def draw_scatter(board: Board) -> Scatter | None:
    """The picture of a board: of its metric, or in the suite's table of the first; None with nothing to show."""
    metric, view = board.view.name, board.view
    if metric == SUITE_TABLE:
        metric, view = next(item for item in board.views.items() if item[0] != SUITE_TABLE)
    stressed = _stressed_label(view)
    if not stressed or measure_of(metric).of_data:
        return None

    points = []
    for standing in board.standings:
        result = standing.row.entry.result
        ends = [_scaled(result.cell(metric, label)) for label in (ORIGINAL, stressed)]
        if all(isfinite(value) for value, *_ in ends):
            points.append((standing, ends))
    if not points:
        return None
    numbers = [number for _, ends in points for end in ends for number in end if isfinite(number)]
    low, high = min(numbers), max(numbers)
    step = next((step for step in _STEPS if (high - low) / step <= _MOST_TICKS - 1), _STEPS[-1])
    low, high = floor(low / step) * step, max(ceil(high / step) * step, floor(low / step) * step + step)

    def place(number: float) -> float:
        return round(MARGIN + (number - low) / (high - low) * (SIZE - MARGIN - EDGE), 1)

    def reach(value: float, below: float, above: float) -> tuple[float, float]:
        return tuple(place(end if isfinite(end) else value) for end in (below, above))  # type: ignore[return-value]

    spots: dict[tuple[float, float], Spot] = {}
    for standing, (original, under) in points:
        x, y = place(original[0]), place(under[0])
        fresh = Spot([], x, y, reach(*original), reach(*under))
        spots.setdefault((round(x), round(y)), fresh).standings.append(standing)
    values = [round(low + step * number, 1) for number in range(round((high - low) / step) + 1)]
    return Scatter(metric, stressed, list(spots.values()), [(place(value), f"{value:g}") for value in values])


def _stressed_label(view: View) -> str:
    """The column of a metric's view that sums up the stressed variants: their mean, or the only one."""
    means = [average.column for average in view.averages if ORIGINAL in average.without]
    stressed = [column.name for column in view.columns if column.variant != ORIGINAL]
    has_original = any(column.variant == ORIGINAL for column in view.columns)
    return (means or stressed or [""])[0] if has_original and (means or len(stressed) == 1) else ""


def _scaled(cell: Cell | None) -> tuple[float, float, float]:
    """A cell's value and interval as people read them; nan for what there is not."""
    if cell is None or cell.score is None:
        return (float("nan"),) * 3
    scale = measure_of(cell.metric).scale
    return cell.score.value * scale, cell.score.low * scale, cell.score.high * scale
