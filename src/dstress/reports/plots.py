"""The report's plots as Vega-Altair specifications, from the scores alone. `dstress.reports.charts` renders them.

Every plot comes wide and narrow: a narrow one is for a phone, laid out anew, not the wide one made smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import isnan
from typing import Any

from dstress.metrics.base import PERCENT
from dstress.metrics.measures import measure_of
from dstress.reports.charts import ACCENT, HEAT, INK, LOSS, MUTED, SURFACE, Chart, Layout, Plot, altair
from dstress.reports.findings import FLOOR, recall, significant
from dstress.reports.numbers import PAGE
from dstress.runs.folder import ORIGINAL, Scores

_MOST_METRICS = 4
_FEW = 4
_MOST_SLOTS = 30
_HEAT_STEPS = (-20, -10, -5, -2, -0.5, 0.5)
_MOVERS = 3
_MOST_ACROSS, _MOST_NUMBERED = 9, 8
"""So many services have room for names across, and on a phone for numbers in their cells."""

Rows = list[dict[str, Any]]


def make_plots(scores: Scores) -> dict[str, Plot]:
    """The plots that the scores can fill, by name."""
    kinds = (_drops, _tasks, _profile, _services, _sensitivity, _slots, _ranks)
    return {plot.name: plot for kind in kinds for plot in kind(scores)}


def _stressed(scores: Scores) -> list[str]:
    return [variant for variant in scores.variants if variant != ORIGINAL]


def _drops(scores: Scores) -> Iterator[Plot]:
    """Each stressor's cost with its interval; a hollow point is within chance."""
    rows: Rows = [
        {
            "stressor": variant,
            "change": 100 * drop.difference,
            "low": 100 * drop.low,
            "high": 100 * drop.high,
            "verdict": "beyond chance" if significant(drop) else "within chance",
        }
        for variant, drop in scores.drops.items()
    ]
    if rows:
        yield Plot("drops", "Cost of each stressor", lambda layout: _drop_chart(rows, layout))


def _drop_chart(rows: Rows, layout: Layout) -> Chart:
    alt = altair()
    base = alt.Chart(alt.Data(values=rows)).encode(y=_names("stressor:N", layout, alt.EncodingSortField("change")))
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=MUTED, strokeDash=[3, 3]).encode(x="zero:Q")
    verdict = alt.Scale(domain=["beyond chance", "within chance"], range=[LOSS, MUTED])
    color = alt.Color("verdict:N", scale=verdict, title=None, legend=layout.legend())
    # At least a point to each side of none, so that a whisker is never blown up to a drama.
    scale = alt.Scale(
        domainMin=min(-1.0, *(row["low"] for row in rows)), domainMax=max(1.0, *(row["high"] for row in rows))
    )
    x = alt.X("low:Q", title="change in joint goal accuracy, points", axis=layout.ticks(), scale=scale)
    reach = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", color=color)
    point = base.mark_point(size=70, filled=True, opacity=1).encode(x="change:Q", color=color)
    return (zero + reach + point).properties(width=layout.width, height=alt.Step(layout.step))


def _tasks(scores: Scores) -> Iterator[Plot]:
    """RADDLE's diagnosis: coarse, the mean over the tasks of an aspect, and fine, every task; the line is the first."""
    cells = [(cell, cell.score) for cell in scores.table if cell.task and cell.score and not isnan(cell.score.value)]
    first: dict[str, float] = {}
    fine: Rows = []
    for cell, score in cells:
        scale = measure_of(cell.metric).scale
        value, low, high = (scale * number for number in (score.value, score.low, score.high))
        line = first.setdefault(cell.measure, value)
        ends = {"low": value if isnan(low) else low, "high": value if isnan(high) else high}
        fine.append(
            {"measure": cell.measure, "name": cell.task, "aspect": cell.aspect, "value": value, "line": line} | ends
        )
    coarse: Rows = []
    for measure, aspect in dict.fromkeys((row["measure"], row["aspect"]) for row in fine):
        values = [row["value"] for row in fine if (row["measure"], row["aspect"]) == (measure, aspect)]
        coarse.append({"measure": measure, "name": aspect, "value": sum(values) / len(values), "line": first[measure]})
    several = [m for m in first if sum(row["measure"] == m for row in coarse) > 1]
    fine = [row if row["measure"] in several else row | {"line": None} for row in fine]
    if several:
        rows = [row for row in coarse if row["measure"] in several]
        yield Plot("coarse", "Diagnosis by aspect", lambda layout: _task_chart(rows, several, layout))
        yield Plot("fine", "Diagnosis by task", lambda layout: _task_chart(fine, list(first), layout))


def _task_chart(rows: Rows, measures: list[str], layout: Layout) -> Chart:
    """Bars from 0 of means, or points with intervals; a panel for each measure."""
    alt = altair()
    has_ends = "low" in rows[0]
    base = alt.Chart().encode(y=_names("name:N", layout, list(dict.fromkeys(row["name"] for row in rows))))
    line = alt.Chart().mark_rule(color=INK, strokeDash=[4, 3]).encode(x="mean(line):Q")
    columns = 1 if layout.narrow else min(2, len(measures))
    width = layout.width if columns == 1 else layout.width // 2 - 10
    axis = layout._replace(width=width).ticks()
    if has_ends:
        x = alt.X("low:Q", title=None, scale=alt.Scale(zero=False, nice=True), axis=axis)
        marks = [base.mark_rule(color=ACCENT, strokeWidth=2).encode(x=x, x2="high:Q")]
        marks.append(base.mark_point(color=ACCENT, size=45, filled=True, opacity=1).encode(x="value:Q"))
    else:
        marks = [base.mark_bar(color=ACCENT, height={"band": 0.6}).encode(x=alt.X("value:Q", title=None, axis=axis))]
    layered = alt.layer(*marks, line).properties(width=width, height=alt.Step(layout.step))
    facet = alt.Facet("measure:N", sort=measures, title=None, header=alt.Header(labelAnchor="start"))
    wrapped = layered.facet(facet, data=alt.Data(values=rows), columns=columns)
    return wrapped.resolve_scale(x="independent", y="independent")


def _profile(scores: Scores) -> Iterator[Plot]:
    """Every metric of every variant; the line is the original."""
    original = scores.variants[ORIGINAL].metrics
    metrics = [metric for metric in original if metric != FLOOR and measure_of(metric).unit == PERCENT][:_MOST_METRICS]
    rows: Rows = [
        {
            "metric": metric,
            "variant": variant,
            "value": 100 * score.value,
            "low": 100 * score.low,
            "high": 100 * score.high,
            "original": 100 * original[metric].value,
        }
        for variant in _stressed(scores)
        for metric in metrics
        if (score := scores.variants[variant].metrics.get(metric))
    ]
    if rows:
        yield Plot("profile", "Robustness profile", lambda layout: _profile_chart(rows, metrics, layout))


def _profile_chart(rows: Rows, metrics: list[str], layout: Layout) -> Chart:
    alt = altair()
    jga = {row["variant"]: row["value"] for row in rows if row["metric"] == metrics[0]}
    base = alt.Chart().encode(y=_names("variant:N", layout, sorted(jga, key=jga.__getitem__)))
    line = alt.Chart().mark_rule(color=INK, strokeDash=[4, 3]).encode(x="mean(original):Q")
    columns = 1 if layout.narrow else min(2, len(metrics))
    width = layout.width if columns == 1 else layout.width // 2 - 10
    axis = layout._replace(width=width).ticks()
    x = alt.X("low:Q", title=None, scale=alt.Scale(zero=False, nice=True), axis=axis)
    reach = base.mark_rule(color=ACCENT, strokeWidth=2).encode(x=x, x2="high:Q")
    point = base.mark_point(color=ACCENT, size=45, filled=True, opacity=1).encode(x="value:Q")
    layered = alt.layer(line, reach, point).properties(width=width, height=alt.Step(layout.step))
    facet = alt.Facet("metric:N", sort=metrics, title=None, header=alt.Header(labelAnchor="start"))
    wrapped = layered.facet(facet, data=alt.Data(values=rows), columns=columns)
    return wrapped.resolve_scale(x="independent")


def _services(scores: Scores) -> Iterator[Plot]:
    """What each stressor costs each service; services that a variant renames are left to their own tables."""
    before = scores.variants[ORIGINAL].slices.get("service", {})
    rows: Rows = [
        {"service": service, "stressor": variant, "change": 100 * (after - start)}
        for variant in _stressed(scores)
        for service, values in scores.variants[variant].slices.get("service", {}).items()
        if (after := values.get("jga")) is not None and (start := before.get(service, {}).get("jga")) is not None
    ]
    if len({row["service"] for row in rows}) > 1 and any(row["change"] for row in rows):
        yield Plot("services", "Cost by service", lambda layout: _heat_chart(rows, layout))


def _heat_chart(rows: Rows, layout: Layout) -> Chart:
    alt = altair()
    many = len({row["service"] for row in rows})
    rows = [
        row | {"long": PAGE.points(row["change"] / 100), "short": PAGE.points(row["change"] / 100, 0)} for row in rows
    ]
    angle = -90 if layout.narrow or many > _MOST_ACROSS else 0
    axis = alt.Axis(orient="top", labelAngle=angle, labelLimit=150, title=None, domain=False, grid=False)
    rows_axis = _names("stressor:N", layout, alt.EncodingSortField("change", op="mean"), grid=False)
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("service:N", axis=axis), y=rows_axis)
    scale = alt.Scale(type="threshold", domain=list(_HEAT_STEPS), range=list(HEAT))
    has_numbers = not (layout.narrow and many > _MOST_NUMBERED)
    legend = None if has_numbers else layout.legend("points")
    color = alt.Color("change:Q", scale=scale, legend=legend)
    cells = base.mark_rect(stroke=SURFACE, strokeWidth=2).encode(color=color)
    size = {"width": layout.width, "height": alt.Step(layout.step + 6)}
    if not has_numbers:
        return cells.properties(**size)
    strong = alt.datum.change < _HEAT_STEPS[1]
    words = base.mark_text(fontSize=10.5).encode(
        text="short:N" if layout.narrow else "long:N",
        color=alt.condition(strong, alt.value(SURFACE), alt.value(INK)),
    )
    return (cells + words).properties(**size)


def _sensitivity(scores: Scores) -> Iterator[Plot]:
    """A point for each service: the mean over a group of variants, and how much it varies (SGD-X's figure 6)."""
    for place, slices in enumerate(scores.across_slices.values(), start=1):
        services = slices.get("service", {})
        metric = next(
            (name.removesuffix("-v1-5") for v in services.values() for name in v if name.endswith("-v1-5")), ""
        )
        mean, sensitivity = f"{metric}-v1-5", f"ss({metric})"
        rows: Rows = [
            {"service": service, "mean": 100 * x, "sensitivity": 100 * y}
            for service, values in services.items()
            if (x := values.get(mean)) is not None and (y := values.get(sensitivity)) is not None
        ]
        if len(rows) > 1 and any(row["sensitivity"] for row in rows):
            name = "sensitivity" if place == 1 else f"sensitivity-{place}"
            title = "Accuracy and sensitivity by service"
            yield Plot(name, title, partial(_scatter_chart, rows, (mean, sensitivity)))


def _scatter_chart(rows: Rows, names: tuple[str, str], layout: Layout) -> Chart:
    alt = altair()
    low, high = min(row["mean"] for row in rows), max(row["mean"] for row in rows)
    rows = [row | {"left": row["mean"] > (low + high) / 2} for row in rows]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("mean:Q", title=f"{names[0]}, %", axis=layout.ticks(), scale=alt.Scale(zero=False, padding=24)),
        y=alt.Y("sensitivity:Q", title=f"{names[1]}, %", axis=alt.Axis(tickCount=5)),
    )
    point = base.mark_point(color=ACCENT, size=60, filled=True, opacity=1)
    text = {"fontSize": 11, "color": INK}
    right = base.transform_filter("!datum.left").mark_text(align="left", dx=8, **text).encode(text="service:N")
    left = base.transform_filter("datum.left").mark_text(align="right", dx=-8, **text).encode(text="service:N")
    labels = [] if layout.narrow and len(rows) > 12 else [right, left]
    return alt.layer(point, *labels).properties(width=layout.width, height=240)


def _slots(scores: Scores) -> Iterator[Plot]:
    """Each slot's recall on the original, and under the stressor that hurts it most (after CoCo's figure 5)."""
    rows: Rows = []
    for slot, errors in scores.variants[ORIGINAL].slots.items():
        cards = {variant: scores.variants[variant].slots for variant in _stressed(scores)}
        recalls = {variant: recall(slots[slot]) for variant, slots in cards.items() if slot in slots}
        recalls = {variant: value for variant, value in recalls.items() if not isnan(value)}
        if recalls and not isnan(recall(errors)):
            worst = min(recalls, key=recalls.__getitem__)
            row = {"slot": slot, "original": 100 * recall(errors), "worst": 100 * recalls[worst], "stressor": worst}
            rows.append(row)
    rows = [row for row in rows if row["worst"] < row["original"]]
    rows = sorted(rows, key=lambda row: row["worst"] - row["original"])[:_MOST_SLOTS]
    if rows:
        yield Plot("slots", "Slots, on the original and at their worst", lambda layout: _slot_chart(rows, layout))


def _slot_chart(rows: Rows, layout: Layout) -> Chart:
    alt = altair()
    base = alt.Chart(alt.Data(values=rows)).encode(y=_names("slot:N", layout, [row["slot"] for row in rows]))
    scale = alt.Scale(zero=False, nice=True)
    reach = base.mark_rule(color=MUTED, strokeWidth=2, opacity=0.5).encode(
        x=alt.X("worst:Q", title="values that are right, %", scale=scale, axis=layout.ticks()), x2="original:Q"
    )
    long = base.transform_fold(["original", "worst"], as_=["where", "recall"])
    names = alt.Scale(domain=["original", "worst"], range=[ACCENT, LOSS])
    legend = layout.legend(None, "{original: 'original', worst: 'under the worst stressor'}[datum.label]")
    point = long.mark_point(size=55, filled=True, opacity=1).encode(
        x="recall:Q", color=alt.Color("where:N", scale=names, legend=legend, title=None)
    )
    return (reach + point).properties(width=layout.width, height=alt.Step(layout.step))


def _ranks(scores: Scores) -> Iterator[Plot]:
    """The order that each metric puts the stressors in (metrics disagree, as GCA's figure 3 shows for trackers)."""
    metrics = list(scores.variants[ORIGINAL].metrics)
    stressed = _stressed(scores)
    orders = {
        metric: sorted(stressed, key=lambda variant: _goodness(scores, variant, metric))
        for metric in metrics
        if metric != FLOOR and all(metric in scores.variants[variant] for variant in stressed)
    }
    values = ({scores.variants[variant][metric].value for variant in stressed} for metric in orders)
    if len(orders) < 2 or all(len(different) < 2 for different in values):
        return
    ranks = {variant: [order.index(variant) + 1 for order in orders.values()] for variant in stressed}
    movers = sorted(ranks, key=lambda variant: min(ranks[variant]) - max(ranks[variant]))[:_MOVERS]
    rows: Rows = [
        {
            "metric": metric,
            "stressor": variant,
            "rank": order.index(variant) + 1,
            "kind": "moves most" if variant in movers and len(set(ranks[variant])) > 1 else "other",
        }
        for metric, order in orders.items()
        for variant in stressed
    ]
    yield Plot("metrics", "What each metric calls worst", lambda layout: _rank_chart(rows, list(orders), layout))


def _goodness(scores: Scores, variant: str, metric: str) -> float:
    value = scores.variants[variant][metric].value
    return value if measure_of(metric).higher_is_better else -value


def _rank_chart(rows: Rows, metrics: list[str], layout: Layout) -> Chart:
    alt = altair()
    many = max(row["rank"] for row in rows)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(
            "metric:N",
            sort=metrics,
            title=None,
            scale=alt.Scale(padding=0.2),
            axis=alt.Axis(labelAngle=-90 if layout.narrow and len(metrics) > _FEW else 0, orient="top", domain=False),
        ),
        y=alt.Y(
            "rank:O", title=None, axis=alt.Axis(labelExpr="datum.value == 1 ? 'worst' : datum.label", domain=False)
        ),
        detail="stressor:N",
        color=alt.Color("kind:N", scale=alt.Scale(domain=["moves most", "other"], range=[LOSS, MUTED]), legend=None),
    )
    line, point = base.mark_line(strokeWidth=2), base.mark_point(size=60, filled=True, opacity=1)
    words = base.transform_filter(alt.datum.metric == metrics[-1]).mark_text(align="left", dx=9, limit=layout.names)
    chart = alt.layer(line, point, words.encode(text="stressor:N"))
    return chart.properties(width=layout.width - 40, height=max(120, many * layout.step + 10))


def _names(field: str, layout: Layout, sort: Any, *, grid: bool = True) -> Chart:
    alt = altair()
    return alt.Y(field, sort=sort, title=None, axis=alt.Axis(labelLimit=layout.names, domain=False, grid=grid))
