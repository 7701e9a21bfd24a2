"""The plots of several runs, side by side. `dstress.reports.charts` renders them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import isfinite, isnan
from typing import Any

from dstress.analysis.ranking import Ranking, rank_values
from dstress.metrics.base import PERCENT
from dstress.metrics.measures import describe, measure_of
from dstress.reports.charts import INK, MUTED, SERIES, SURFACE, Chart, Layout, Plot, Rows, altair
from dstress.reports.findings import FLOOR, significant
from dstress.reports.systems import Systems
from dstress.runs.folder import ORIGINAL
from dstress.scoring.scorecard import TestedDifference

_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right", "triangle-left")
_MOST_METRICS = 4
_MOST_PARALLEL = 8
_MOST_SLOTS = 20
_LONGEST_ACROSS = 12
"""So many letters of a variant's name have room across."""


def make_system_plots(systems: Systems, ranking: Ranking | None) -> dict[str, Plot]:
    """The plots that the systems can fill, by name."""
    kinds = (_profile, _drops, _parallel, _slots)
    plots = [
        *((*_ranks(ranking), *_gains(ranking)) if ranking else ()),
        *(plot for kind in kinds for plot in kind(systems)),
    ]
    return {plot.name: plot for plot in plots}


def colors(names: Sequence[str], layout: Layout) -> dict[str, Any]:
    """How systems are told apart in every plot: a colour and a shape each, from the ninth on once more."""
    alt = altair()
    marks = [(SERIES[n % len(SERIES)], _SHAPES[n % len(_SHAPES)]) for n in range(len(names))]
    scales = [alt.Scale(domain=list(names), range=list(values)) for values in zip(*marks, strict=True)]
    legend = alt.Legend(orient="top", title=None, columns=2 if layout.narrow else 5, symbolOpacity=1)
    return {
        "color": alt.Color("system:N", scale=scales[0], legend=legend),
        "shape": alt.Shape("system:N", scale=scales[1], legend=legend),
    }


def _names(systems: Systems) -> list[str]:
    return [system.name for system in systems.every]


def _ranks(ranking: Ranking) -> Iterator[Plot]:
    """Ranks on every version, and bars over those that cannot be told apart: critical differences, one per column."""
    rows: Rows = []
    bars: Rows = []
    for version, order in ranking.orders.items():
        for name, standing in order.standings.items():
            rows.append({"version": version, "system": name, "rank": standing.rank})
        joined = [group for group in order.groups if len(group) > 1]
        for number, group in enumerate(joined):
            ends = [order.standings[name].rank for name in (group[0], group[-1])]
            bars.append({"version": version, "from": ends[0] - 0.12, "to": ends[1] + 0.12, "offset": number})
    if len(next(iter(ranking.orders.values())).standings) > 2:
        yield Plot("ranks", f"Ranks by {ranking.metric}", partial(_rank_chart, rows, bars, list(ranking.mean_rank)))


def _rank_chart(rows: Rows, bars: Rows, names: list[str], layout: Layout) -> Chart:
    alt = altair()
    versions = list(dict.fromkeys(row["version"] for row in rows))
    x = _across("version:N", versions, layout)
    y = alt.Y(
        "rank:Q",
        title="rank",
        scale=alt.Scale(domain=[0.5, len(names) + 0.5], reverse=True, nice=False, zero=False),
        axis=alt.Axis(values=list(range(1, len(names) + 1)), format="d", grid=False, domain=False),
    )
    base, marks = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y), colors(names, layout)
    line = base.mark_line(strokeWidth=1.5, opacity=0.45).encode(color=marks["color"])
    point = base.mark_point(size=90, filled=True, opacity=1).encode(**marks)
    width, room = (3, 8) if layout.narrow else (5, 12)
    groups = [
        alt.Chart(alt.Data(values=[bar for bar in bars if bar["offset"] == offset]))
        .mark_rule(color=MUTED, strokeWidth=width, opacity=0.55, xOffset=room + (width + 3) * offset, strokeCap="round")
        .encode(x=x, y=alt.Y("from:Q"), y2="to:Q")
        for offset in sorted({bar["offset"] for bar in bars})
    ]
    return alt.layer(line, *groups, point).properties(width=layout.width - 20, height=34 * len(names) + 30)


def _gains(ranking: Ranking) -> Iterator[Plot]:
    """What every system has over the first: of a retrained tracker, what that brought (CoCo, figure 4)."""
    first, *others = ranking.mean_rank
    measure = measure_of(ranking.metric)
    rows: Rows = [
        _change(name, version, test, measure.scale, beyond=test.significant)
        for version, order in ranking.orders.items()
        for name in others
        for test in [order.test(name, first)]
        if isfinite(test.low) and isfinite(test.high)
    ]
    if rows:
        title = f"{describe(ranking.metric)} less that of {first}" + (", points" if measure.unit == PERCENT else "")
        chart = partial(_change_chart, rows, list(ranking.mean_rank), list(ranking.orders), title)
        yield Plot("gains", f"Against {first}", chart)


def _change(system: str, variant: str, test: TestedDifference, scale: int, *, beyond: bool) -> dict[str, Any]:
    ends = {"change": scale * test.difference, "low": scale * test.low, "high": scale * test.high}
    return {"system": system, "variant": variant, "beyond": beyond, **ends}


def _across(field: str, values: Sequence[str], layout: Layout) -> Chart:
    """Names in a row, upright where they are long or many."""
    alt = altair()
    room = layout.width / max(1, len(values)) / 6.5
    angle = 0 if max(map(len, values), default=0) <= min(room, 2 * _LONGEST_ACROSS) else -40
    axis = alt.Axis(
        labelAngle=angle, orient="top" if angle == 0 else "bottom", domain=False, grid=False, labelLimit=150
    )
    return alt.X(field, sort=list(values), title=None, scale=alt.Scale(padding=0.5), axis=axis)


def _profile(systems: Systems) -> Iterator[Plot]:
    """Every metric under every variant, the systems side by side (CoCo's figures 3 and 4); a stroke is CoCo's floor."""
    metrics = [name for name in systems.metrics() if measure_of(name).unit == PERCENT][:_MOST_METRICS]
    rows: Rows = []
    for system in systems.every:
        for variant in systems.variants:
            for metric in metrics:
                score, floor = system.score(variant, metric), system.score(variant, FLOOR) if metric == "jga" else None
                if score:
                    rows.append({"system": system.name, "variant": variant, "metric": metric} | _percents(score))
                    rows[-1]["floor"] = 100 * floor.value if floor else None
    if rows and len(systems.variants) > 1:
        order = sorted(systems.variants, key=lambda variant: (variant != ORIGINAL, _mean(systems, variant)))
        yield Plot("profile", "Robustness profiles", partial(_profile_chart, rows, metrics, order))


def _percents(score: Any) -> dict[str, float]:
    value = 100 * score.value
    low, high = (value if isnan(end) else 100 * end for end in (score.low, score.high))
    return {"value": value, "low": low, "high": high}


def _mean(systems: Systems, variant: str) -> float:
    """A variant's mean over systems, by the first metric: what is hard for all comes first."""
    metric = systems.metrics()[0]
    scores = [system.score(variant, metric) for system in systems.every]
    return sum(score.value for score in scores if score)


def _profile_chart(rows: Rows, metrics: list[str], order: list[str], layout: Layout) -> Chart:
    alt = altair()
    names = list(dict.fromkeys(row["system"] for row in rows))
    columns = 1 if layout.narrow else min(2, len(metrics))
    width = layout.width if columns == 1 else layout.width // 2 - 10
    y = alt.Y("variant:N", sort=order, title=None, axis=alt.Axis(labelLimit=layout.names, domain=False, grid=True))
    base, colored = alt.Chart().encode(y=y, yOffset=alt.YOffset("system:N", sort=names)), colors(names, layout)
    x = alt.X("low:Q", title=None, scale=alt.Scale(zero=False, nice=True), axis=layout._replace(width=width).ticks())
    reach = base.mark_rule(strokeWidth=1.5).encode(x=x, x2="high:Q", color=colored["color"])
    point = base.mark_point(size=32, filled=True, opacity=1).encode(x="value:Q", **colored)
    floor = base.transform_filter("isValid(datum.floor)").mark_tick(color=INK, thickness=1.5, size=7)
    marks = [reach, point]
    if any(row["floor"] is not None for row in rows):
        marks.append(floor.encode(x="floor:Q"))
    height = alt.Step(max(layout.step, 9 * len(names) + 8) / len(names), **{"for": "offset"})
    layered = alt.layer(*marks).properties(width=width, height=height)
    facet = alt.Facet("metric:N", sort=metrics, title=None, header=alt.Header(labelAnchor="start"))
    return layered.facet(facet, data=alt.Data(values=rows), columns=columns).resolve_scale(x="independent")


def _drops(systems: Systems) -> Iterator[Plot]:
    """What each stressor costs each system, with its interval; of a single run each, whose tests are known."""
    rows: Rows = [
        _change(system.name, variant, drop, 100, beyond=significant(drop))
        for system in systems.every
        if len(system.runs) == 1
        for variant, drop in system.scores[0].drops.items()
        if variant in systems.variants and isfinite(drop.low) and isfinite(drop.high)
    ]
    if rows:
        costs = {
            variant: sum(row["change"] for row in rows if row["variant"] == variant) for variant in systems.variants
        }
        order = sorted(costs, key=costs.__getitem__)
        chart = partial(_change_chart, rows, _names(systems), order, "change in joint goal accuracy, points")
        yield Plot("drops", "Cost of each stressor", chart)


def _change_chart(rows: Rows, names: list[str], order: list[str], title: str, layout: Layout) -> Chart:
    """Changes with their intervals; a hollow mark is within chance."""
    alt = altair()
    y = alt.Y("variant:N", sort=order, title=None, axis=alt.Axis(labelLimit=layout.names, domain=False, grid=True))
    base = alt.Chart(alt.Data(values=rows)).encode(y=y, yOffset=alt.YOffset("system:N", sort=names))
    marks = colors(names, layout)
    x = alt.X("low:Q", title=title, axis=layout.ticks())
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=MUTED, strokeDash=[3, 3]).encode(x="zero:Q")
    reach = base.mark_rule(strokeWidth=1.5).encode(x=x, x2="high:Q", color=marks["color"])
    solid = base.mark_point(size=36, filled=True, opacity=1).transform_filter("datum.beyond")
    hollow = base.mark_point(size=30, filled=False, strokeWidth=1.5, fill=SURFACE, opacity=1).transform_filter(
        "!datum.beyond"
    )
    points = [point.encode(x="change:Q", **marks) for point in (solid, hollow)]
    height = alt.Step(max(layout.step, 9 * len(names) + 8) / len(names), **{"for": "offset"})
    return alt.layer(zero, reach, *points).properties(width=layout.width, height=height)


def _parallel(systems: Systems) -> Iterator[Plot]:
    """Systems by metrics (GCA's figure 3): the values, and below them the ranks, where lines that cross disagree."""
    metrics = [name for name in systems.metrics() if measure_of(name).unit == PERCENT][:_MOST_PARALLEL]
    rows: Rows = []
    for metric in metrics:
        scores = [score for system in systems.every if (score := system.score(ORIGINAL, metric))]
        order = rank_values([measure_of(metric).sign * score.value for score in scores])
        for system, score, rank in zip(systems.every, scores, order, strict=True):
            rows.append({"system": system.name, "metric": metric, "value": 100 * score.value, "rank": rank})
    if len(metrics) > 1:
        yield Plot("metrics", "Systems by metrics", partial(_parallel_chart, rows, metrics))


def _parallel_chart(rows: Rows, metrics: list[str], layout: Layout) -> Chart:
    alt = altair()
    names = list(dict.fromkeys(row["system"] for row in rows))
    base = alt.Chart(alt.Data(values=rows)).encode(x=_across("metric:N", metrics, layout))
    colored = colors(names, layout)
    axes = {
        "value": alt.Y("value:Q", title="%", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=5)),
        "rank": alt.Y(
            "rank:Q",
            title="rank",
            scale=alt.Scale(domain=[0.5, len(names) + 0.5], reverse=True, nice=False, zero=False),
            axis=alt.Axis(values=list(range(1, len(names) + 1)), format="d"),
        ),
    }
    heights = {"value": 190, "rank": 26 * len(names) + 20}
    panels = [
        alt.layer(
            base.mark_line(strokeWidth=1.5, opacity=0.6).encode(y=y, color=colored["color"]),
            base.mark_point(size=60, filled=True, opacity=1).encode(y=y, **colored),
        ).properties(width=layout.width - 40, height=heights[name])
        for name, y in axes.items()
    ]
    return alt.vconcat(*panels, spacing=18)


def slot_order(systems: Systems) -> list[str]:
    """The slots that gold uses, those first that lose most, in any system under any stressor."""
    stressed = [variant for variant in systems.variants if variant != ORIGINAL]
    losses: dict[str, float] = {}
    for slot in systems.every[0].scores[0].variants[ORIGINAL].slots:
        changes = [
            system.recall(variant, slot) - system.recall(ORIGINAL, slot)
            for system in systems.every
            for variant in stressed
        ]
        known = [change for change in changes if not isnan(change)]
        if known:
            losses[slot] = min(known)
    return sorted(losses, key=losses.__getitem__)


def _slots(systems: Systems) -> Iterator[Plot]:
    """Slot by slot, on the original and under the stressor that costs all systems most (CoCo, figure 5)."""
    stressed = [variant for variant in systems.variants if variant != ORIGINAL]
    metrics = systems.metrics()
    if not stressed or not metrics:
        return
    worst = min(stressed, key=lambda variant: _mean(systems, variant))
    rows: Rows = [
        {"system": system.name, "slot": slot, "where": variant, "recall": 100 * value}
        for slot in slot_order(systems)[:_MOST_SLOTS]
        for system in systems.every
        for variant in (ORIGINAL, worst)
        if not isnan(value := system.recall(variant, slot))
    ]
    if rows:
        yield Plot("slots", f"Slots on the original and under {worst}", partial(_slot_chart, rows, [ORIGINAL, worst]))


def _slot_chart(rows: Rows, places: list[str], layout: Layout) -> Chart:
    alt = altair()
    names, slots = (list(dict.fromkeys(row[part] for row in rows)) for part in ("system", "slot"))
    columns = 1 if layout.narrow else 2
    width = layout.width if columns == 1 else layout.width // 2 - 10
    y = alt.Y("slot:N", sort=slots, title=None, axis=alt.Axis(labelLimit=layout.names, domain=False, grid=True))
    x = alt.X("recall:Q", title="values that are right, %", axis=layout._replace(width=width).ticks())
    point = alt.Chart().mark_point(size=42, filled=True, opacity=0.85).encode(x=x, y=y, **colors(names, layout))
    facet = alt.Facet("where:N", sort=places, title=None, header=alt.Header(labelAnchor="start"))
    sized = point.properties(width=width, height=alt.Step(20))
    return sized.facet(facet, data=alt.Data(values=rows), columns=columns)
