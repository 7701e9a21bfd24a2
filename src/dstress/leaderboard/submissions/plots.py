"""The plots of a submission's report, as pages show them: drawn once, by a worker."""

from __future__ import annotations

from typing import NamedTuple

from dstress.leaderboard.benchmarks.results import Result, pack, unpack
from dstress.reports.charts import NARROW, WIDE, draw_adaptive_svg
from dstress.reports.plots import make_plots


class Drawing(NamedTuple):
    """A plot for wide and for narrow screens."""

    title: str
    wide: str
    narrow: str


def draw_plots(results: bytes) -> bytes:
    """Every plot of what a submission has reached, under each convention, as it is kept."""
    drawn = {
        convention: [
            Drawing(plot.title, *(draw_adaptive_svg(plot, layout, is_linked=False) for layout in (WIDE, NARROW)))
            for plot in make_plots(result.scores).values()
        ]
        for convention, result in unpack(results, dict[str, Result]).items()
    }
    return pack(drawn)
