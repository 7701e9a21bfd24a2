"""The plots of several runs, side by side. `dstress.reports.charts` renders them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import isfinite, isnan
from typing import Any

from dstress.reports import charts
from dstress.reports.analysis.ranking import Ranking
from dstress.reports.charts import ABOUT, INK, MUTED, SURFACE, Chart, Layout, Plot, Rows, altair
from dstress.reports.findings import FLOOR, significant
from dstress.reports.numbers import PAGE
from dstress.reports.systems import Systems
from dstress.runs.folder import ORIGINAL
from dstress.scoring.metrics.base import PERCENT
from dstress.scoring.metrics.measures import describe, measure_of
from dstress.scoring.scorecard import TestedDifference

_MOST_METRICS = 4
_MOST_PARALLEL = 8
_MOST_SLOTS = 20
_LONGEST_ACROSS = 12
"""So many letters of a variant's name have room across."""


def make_system_plots(systems: Systems, ranking: Ranking | None) -> dict[str, Plot]:
    """The plots that the systems can fill, by name."""
    of_ranking = (*_ranks(ranking), *_gains(ranking)) if ranking else ()
    of_systems = (plot for kind in (_profile, _drops, _parallel, _slots) for plot in kind(systems))
    return {plot.name: plot for plot in (*of_ranking, *of_systems)}


def _ranks(ranking: Ranking) -> Iterator[Plot]:
    """Ranks on every version, and bars over those that do not differ: critical differences, one per column."""
    names, versions, unit = list(ranking.mean_rank), list(ranking.orders), measure_of(ranking.metric).unit
    rows: Rows = []
    bars: Rows = []
    for version, order in ranking.orders.items():
        for name, own in order.standings.items():
            value, ends = PAGE.measured(own.value, unit), PAGE.measured_interval(own.low, own.high, unit)
            about = f"{name}, {version}: rank {own.rank:g}, {ranking.metric} {value} {ends}"
            rows.append({"version": version, "system": name, "rank": own.rank, ABOUT: about})
        for number, group in enumerate(group for group in order.groups if len(group) > 1):
            first, last = (order.standings[name].rank for name in (group[0], group[-1]))
            bars.append({"version": version, "from": first - 0.12, "to": last + 0.12, "offset": number})

    def chart(layout: Layout) -> Chart:
        alt = altair()
        x = _across("version:N", versions, layout)
        base, marks = charts.marks_of(rows, x=x, y=_rank_axis(len(names))), charts.system_marks(names, layout)
        line = base.mark_line(strokeWidth=1.5, opacity=0.45, aria=False).encode(color=marks["color"])
        width, room = (3, 8) if layout.narrow else (5, 12)
        groups = []
        for offset in sorted({bar["offset"] for bar in bars}):
            place = {"xOffset": room + (width + 3) * offset, "strokeCap": "round"}
            base_of_bars = charts.marks_of([bar for bar in bars if bar["offset"] == offset])
            rule = base_of_bars.mark_rule(color=MUTED, strokeWidth=width, opacity=0.55, **place)
            groups.append(rule.encode(x=x, y=alt.Y("from:Q"), y2="to:Q"))
        layers = line, *groups, charts.dot(base, 90).encode(**marks)
        return alt.layer(*layers).properties(width=layout.width - 20, height=34 * len(names) + 30)

    if len(names) > 2:
        yield Plot("ranks", f"Ranks by {ranking.metric}", chart)


def _rank_axis(systems: int) -> Chart:
    """Ranks down the side, the best on top."""
    alt = altair()
    scale = alt.Scale(domain=[0.5, systems + 0.5], reverse=True, nice=False, zero=False)
    axis = alt.Axis(values=list(range(1, systems + 1)), format="d", grid=False, domain=False)
    return alt.Y("rank:Q", title="rank", scale=scale, axis=axis)


def _gains(ranking: Ranking) -> Iterator[Plot]:
    """What every system has over the first: of a retrained tracker, what that brought (CoCo, figure 4)."""
    first, *others = ranking.mean_rank
    measure = measure_of(ranking.metric)
    rows: Rows = [
        _change(name, version, test, measure.unit, beyond=test.significant)
        for version, order in ranking.orders.items()
        for name in others
        for test in [order.test(name, first)]
        if isfinite(test.low) and isfinite(test.high)
    ]
    if rows:
        title = f"{describe(ranking.metric)} minus that of {first}" + (", points" if measure.unit == PERCENT else "")
        chart = partial(_change_chart, rows, list(ranking.mean_rank), list(ranking.orders), title)
        yield Plot("gains", f"Against {first}", chart)


def _change(system: str, variant: str, test: TestedDifference, unit: str, *, beyond: bool) -> dict[str, Any]:
    scale = 100 if unit == PERCENT else 1
    ends = {"change": scale * test.difference, "low": scale * test.low, "high": scale * test.high}
    change = "{} {}".format(*PAGE.change(test, unit))
    about = f"{system}, {variant}: {change}, {'significant' if beyond else 'not significant'}"
    return {"system": system, "variant": variant, "beyond": beyond, ABOUT: about, **ends}


def _across(field: str, values: Sequence[str], layout: Layout) -> Chart:
    """Names in a row, upright where they are long or many."""
    alt = altair()
    room = layout.width / max(1, len(values)) / 6.5
    angle = 0 if max(map(len, values), default=0) <= min(room, 2 * _LONGEST_ACROSS) else -40
    place = {"labelAngle": angle, "orient": "bottom" if angle else "top"}
    axis = alt.Axis(**place, domain=False, grid=False, labelLimit=150)
    return alt.X(field, sort=list(values), title=None, scale=alt.Scale(padding=0.5), axis=axis)


def _profile(systems: Systems) -> Iterator[Plot]:
    """Every metric under every variant, the systems side by side (CoCo's figures 3 and 4); a stroke is CoCo's floor."""
    metrics = [name for name in systems.metrics() if measure_of(name).unit == PERCENT][:_MOST_METRICS]
    rows: Rows = []
    for system in systems.every:
        for variant in systems.variants:
            for metric in metrics:
                if score := system.score(variant, metric):
                    low, high = (score.value if isnan(end) else end for end in (score.low, score.high))
                    floor = system.score(variant, FLOOR) if metric == "jga" else None
                    row = {"system": system.name, "variant": variant, "metric": metric, "value": 100 * score.value}
                    row[ABOUT] = f"{system.name}, {metric}, {variant}: {PAGE.scored(score, PERCENT)}"
                    ends = {"low": 100 * low, "high": 100 * high, "floor": 100 * floor.value if floor else None}
                    rows.append(row | ends)
    order = sorted(systems.variants, key=lambda variant: (variant != ORIGINAL, _mean(systems, variant)))

    def chart(layout: Layout) -> Chart:
        alt = altair()
        room, colored = layout.panel(len(metrics)), charts.system_marks(systems.names, layout)
        base = charts.marks_of(rows, in_panels=True, **_rows_of_systems(systems.names, order, layout))
        x = alt.X("low:Q", title=None, scale=charts.free_scale(), axis=room.ticks())
        layers = [
            base.mark_rule(strokeWidth=1.5).encode(x=x, x2="high:Q", color=colored["color"]),
            charts.dot(base, 32).encode(x="value:Q", **colored),
        ]
        if any(row["floor"] is not None for row in rows):
            floor = base.transform_filter("isValid(datum.floor)").mark_tick(color=INK, thickness=1.5, size=7)
            layers.append(floor.encode(x="floor:Q"))
        layered = alt.layer(*layers).properties(width=room.width, height=_height_of_systems(systems.names, layout))
        return charts.facet(layered, "metric", metrics, rows, layout).resolve_scale(x="independent")

    if rows and len(systems.variants) > 1:
        yield Plot("profile", "Robustness profiles", chart)


def _rows_of_systems(names: Sequence[str], variants: Sequence[str], layout: Layout) -> dict[str, Chart]:
    """A row for each variant, and in it one for each system."""
    alt = altair()
    axis = alt.Axis(labelLimit=layout.names, domain=False, grid=True)
    y = alt.Y("variant:N", sort=list(variants), title=None, axis=axis)
    return {"y": y, "yOffset": alt.YOffset("system:N", sort=list(names))}


def _height_of_systems(names: Sequence[str], layout: Layout) -> Chart:
    return altair().Step(max(layout.step, 9 * len(names) + 8) / len(names), **{"for": "offset"})


def _mean(systems: Systems, variant: str) -> float:
    """A variant's sum over systems, by the first metric: what is hard for all comes first."""
    metrics = systems.metrics()
    scores = [system.score(variant, metrics[0]) for system in systems.every] if metrics else []
    return sum(score.value for score in scores if score)


def _drops(systems: Systems) -> Iterator[Plot]:
    """What each stressor costs each system, with its interval; of a single run each, whose tests are known."""
    rows: Rows = [
        _change(system.name, variant, drop, PERCENT, beyond=significant(drop))
        for system in systems.every
        if len(system.runs) == 1
        for variant, drop in system.scores[0].drops.items()
        if variant in systems.variants and isfinite(drop.low) and isfinite(drop.high)
    ]
    if rows:
        costs = {name: sum(row["change"] for row in rows if row["variant"] == name) for name in systems.variants}
        order, title = sorted(costs, key=costs.__getitem__), "change in joint goal accuracy, points"
        chart = partial(_change_chart, rows, systems.names, order, title)
        yield Plot("drops", "Cost of each stressor", chart)


def _change_chart(rows: Rows, names: list[str], order: list[str], title: str, layout: Layout) -> Chart:
    """Changes with their intervals; a hollow mark is within chance."""
    alt = altair()
    base, marks = charts.marks_of(rows, **_rows_of_systems(names, order, layout)), charts.system_marks(names, layout)
    x = alt.X("low:Q", title=title, axis=layout.ticks())
    reach = base.mark_rule(strokeWidth=1.5).encode(x=x, x2="high:Q", color=marks["color"])
    solid = charts.dot(base, 36).transform_filter("datum.beyond")
    hollow = base.mark_point(size=30, filled=False, strokeWidth=1.5, fill=SURFACE, opacity=1)
    points = [point.encode(x="change:Q", **marks) for point in (solid, hollow.transform_filter("!datum.beyond"))]
    height = _height_of_systems(names, layout)
    return alt.layer(charts.zero_line("x"), reach, *points).properties(width=layout.width, height=height)


def _parallel(systems: Systems) -> Iterator[Plot]:
    """Systems by metrics (GCA's figure 3): the values, and below them the ranks, where lines that cross disagree."""
    metrics = [name for name in systems.metrics() if measure_of(name).unit == PERCENT][:_MOST_PARALLEL]
    rows: Rows = [
        {"system": name, "metric": metric, "value": 100 * score.value, "rank": rank}
        | {ABOUT: f"{name}, {metric}: {PAGE.percent(score.value)}, rank {rank:g}"}
        for metric in metrics
        for name, (score, rank) in systems.ranked(metric).items()
    ]

    def chart(layout: Layout) -> Chart:
        alt = altair()
        base = charts.marks_of(rows, x=_across("metric:N", metrics, layout))
        colored, count = charts.system_marks(systems.names, layout), len(systems.names)
        values = alt.Y("value:Q", title="%", scale=charts.free_scale(), axis=alt.Axis(tickCount=5))
        panels = []
        for y, height in ((values, 190), (_rank_axis(count), 26 * count + 20)):
            line = base.mark_line(strokeWidth=1.5, opacity=0.6, aria=False).encode(y=y, color=colored["color"])
            point = charts.dot(base, 60).encode(y=y, **colored)
            panels.append(alt.layer(line, point).properties(width=layout.width - 40, height=height))
        return alt.vconcat(*panels, spacing=18)

    if len(metrics) > 1:
        yield Plot("metrics", "Systems by metrics", chart)


def _slots(systems: Systems) -> Iterator[Plot]:
    """Slot by slot, on the original and under the stressor that costs all systems most (CoCo, figure 5)."""
    if not systems.stressed or not systems.metrics():
        return
    worst = min(systems.stressed, key=lambda variant: _mean(systems, variant))
    rows: Rows = [
        {"system": system.name, "slot": slot, "where": variant, "recall": 100 * value}
        | {ABOUT: f"{system.name}, {slot}, {variant}: {PAGE.percent(value)} % of values right"}
        for slot in systems.slots[:_MOST_SLOTS]
        for system in systems.every
        for variant in (ORIGINAL, worst)
        if not isnan(value := system.recall(variant, slot))
    ]
    names, slots = (list(dict.fromkeys(row[part] for row in rows)) for part in ("system", "slot"))

    def chart(layout: Layout) -> Chart:
        alt = altair()
        room = layout.panel(2)
        x = alt.X("recall:Q", title="values that are right, %", axis=room.ticks())
        axis = alt.Axis(labelLimit=layout.names, domain=False, grid=True)
        y = alt.Y("slot:N", sort=slots, title=None, axis=axis)
        base = charts.marks_of(rows, in_panels=True, x=x, y=y, **charts.system_marks(names, layout))
        sized = charts.dot(base, 42).properties(width=room.width, height=alt.Step(20))
        return charts.facet(sized, "where", [ORIGINAL, worst], rows, layout)

    if rows:
        yield Plot("slots", f"Slots on the original and under {worst}", chart)
