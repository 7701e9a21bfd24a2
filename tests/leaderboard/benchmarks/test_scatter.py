"""The scatter beside a board: places by value, systems in one place together, and sometimes nothing to draw."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace
from typing import Any

from dstress.leaderboard.benchmarks.board import Board, Standing
from dstress.leaderboard.benchmarks.ranking import Entry, Row
from dstress.leaderboard.benchmarks.results import Result, View, views_of
from dstress.leaderboard.benchmarks.scatter import draw_scatter
from dstress.runs.folder import Cell, Scores
from dstress.runs.suites.base import ORIGINAL, Column, Suite
from dstress.scoring.metrics.measures import AVERAGE
from dstress.scoring.scorecard import Score


def board(
    *systems: tuple[float, float], view: str = "jga", stressors: tuple[str, ...] = ("typos", "entities")
) -> Board:
    table = (Column("JGA", ORIGINAL, "jga"),)
    views: dict[str, View] = views_of(Suite("x", stressors=stressors, table=table, metrics=("jga", "words-changed")))
    standings = []
    for place, (original, stressed) in enumerate(systems, start=1):
        cells = [
            Cell("original", ORIGINAL, "jga", Score(original, original - 0.1, original + 0.1, 9, "jga|x")),
            Cell("Avg.c", "", AVERAGE, Score(stressed, nan, nan, 2, "average|x")),
        ]
        entry = Entry(place, Result(Scores({}), {"jga": cells}), {})
        standings.append(Standing(Row(place, entry, [], nan), SimpleNamespace(system=f"S{place}", team="We")))
    nothing: Any = None
    return Board(nothing, views, views[view], "exact", ["exact"], "original", standings, {})


def test_places_are_values_on_one_scale() -> None:
    drawn = draw_scatter(board((0.8, 60.0), (0.6, 60.0), (0.8, 60.0)))
    assert drawn is not None and drawn.stressed == "Avg.c"
    assert [text for _, text in drawn.ticks] == ["50", "60", "70", "80", "90"]
    assert drawn.ticks[0][0] == drawn.margin and drawn.ticks[-1][0] == drawn.end
    first, second = drawn.spots
    assert (first.label, second.label) == ("1, 3", "2")
    by_value = {text: place for place, text in drawn.ticks}
    assert (first.x, first.y) == (by_value["80"], by_value["60"]) and second.x == second.y == by_value["60"]
    assert first.across == (by_value["70"], by_value["90"])
    assert first.up == (first.y, first.y)  # an average without an interval is a point


def test_the_suite_s_table_shows_the_first_metric() -> None:
    drawn = draw_scatter(board((0.8, 60.0), view="suite"))
    assert drawn is not None and drawn.metric == "jga"


def test_nothing_is_drawn_of_nothing() -> None:
    assert draw_scatter(board()) is None
    assert draw_scatter(board((nan, 60.0))) is None
    assert draw_scatter(board((0.8, 60.0), view="words-changed")) is None  # of the data, and not of a system
    assert draw_scatter(board((0.8, 60.0), stressors=())) is None
