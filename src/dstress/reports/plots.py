"""The report's plots as Vega-Altair specifications, from the scores alone. `dstress.reports.charts` renders them.

Every plot comes wide and narrow: a narrow one is for a phone, laid out anew, not the wide one made smaller. Every mark
says in full what it shows, and names the turns behind it, which the page's explorer opens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import isnan
from typing import NamedTuple

from dstress.metrics.base import PERCENT
from dstress.metrics.measures import measure_of
from dstress.reports.charts import (
    ABOUT,
    ACCENT,
    INK,
    LOSS,
    MUTED,
    SEE,
    Chart,
    Layout,
    Plot,
    Rows,
    altair,
    explorer_link,
)
from dstress.reports.findings import FLOOR, recall, significant
from dstress.reports.heatmaps import heat_chart
from dstress.reports.numbers import PAGE
from dstress.reports.scatter import scatter_chart
from dstress.runs.folder import ORIGINAL, Drop, Scores
from dstress.scoring.scorecard import UNITS

_MOST_METRICS = 4
_FEW = 4
_MOST_SLOTS = 30
_MOVERS = 3
_WORSE, _BETTER, _CHANCE = "worse, beyond chance", "better, beyond chance", "within chance"


class _Naming(NamedTuple):
    """What variants are called: in short beside a plot, in full where a mark says what it is."""

    names: Mapping[str, str]

    def short(self, variant: str) -> str:
        return self.names.get(variant, variant)

    def full(self, variant: str) -> str:
        name = self.short(variant)
        return name if name == variant else f"{name} ({variant})"


def make_plots(scores: Scores, names: Mapping[str, str] | None = None) -> dict[str, Plot]:
    """The plots that the scores can fill, by name; `names` are what variants are called in them."""
    kinds = (_drops, _tasks, _profile, _services, _sensitivity, _slot_stressors, _slots, _ranks)
    return {plot.name: plot for kind in kinds for plot in kind(scores, _Naming(names or {}))}


def _stressed(scores: Scores) -> list[str]:
    return [variant for variant in scores.variants if variant != ORIGINAL]


def _drops(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """Each stressor's cost with its interval: harm, gain, or what may be chance."""
    rows: Rows = [
        {
            "stressor": naming.short(variant),
            "change": 100 * drop.difference,
            "low": 100 * drop.low,
            "high": 100 * drop.high,
            "verdict": _verdict(drop),
            ABOUT: f"{naming.full(variant)}: {PAGE.points(drop.difference)} points "
            f"{PAGE.change_interval(drop.low, drop.high)}, {_verdict(drop)}",
            SEE: explorer_link(variant),
        }
        for variant, drop in scores.drops.items()
    ]
    if rows:
        yield Plot("drops", "Cost of each stressor", lambda layout: _drop_chart(rows, layout))


def _verdict(drop: Drop) -> str:
    if not significant(drop):
        return _CHANCE
    return _WORSE if drop.difference < 0 else _BETTER


def _drop_chart(rows: Rows, layout: Layout) -> Chart:
    alt = altair()
    names = layout.names_axis("stressor:N", [row["stressor"] for row in rows], alt.EncodingSortField("change"))
    base = alt.Chart(alt.Data(values=rows)).encode(y=names, description=f"{ABOUT}:N")
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=MUTED, strokeDash=[3, 3], aria=False)
    there = [verdict for verdict in (_WORSE, _BETTER, _CHANCE) if any(row["verdict"] == verdict for row in rows)]
    colors = {_WORSE: LOSS, _BETTER: ACCENT, _CHANCE: MUTED}
    verdicts = alt.Scale(domain=there, range=[colors[verdict] for verdict in there])
    color = alt.Color("verdict:N", scale=verdicts, title=None, legend=layout.legend())
    # At least a point to each side of none, so that a whisker is never blown up to a drama.
    scale = alt.Scale(
        domainMin=min(-1.0, *(row["low"] for row in rows)), domainMax=max(1.0, *(row["high"] for row in rows))
    )
    x = alt.X("low:Q", title="change in joint goal accuracy, points", axis=layout.ticks(), scale=scale)
    reach = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", color=color)
    point = base.mark_point(size=70, filled=True, opacity=1).encode(x="change:Q", color=color)
    return (zero.encode(x="zero:Q") + reach + point).properties(width=layout.width, height=alt.Step(layout.step))


def _tasks(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """RADDLE's diagnosis: coarse, the mean over the tasks of an aspect, and fine, every task; the line is the first."""
    cells = [(cell, cell.score) for cell in scores.table if cell.task and cell.score and not isnan(cell.score.value)]
    first: dict[str, float] = {}
    fine: Rows = []
    for cell, score in cells:
        scale = measure_of(cell.metric).scale
        value, low, high = (scale * number for number in (score.value, score.low, score.high))
        line = first.setdefault(cell.measure, value)
        ends = {"low": value if isnan(low) else low, "high": value if isnan(high) else high}
        about = f"{naming.full(cell.variant)}, {cell.measure}: {value:.1f} [{ends['low']:.1f}, {ends['high']:.1f}]"
        fine.append(
            {"measure": cell.measure, "name": cell.task, "aspect": cell.aspect, "value": value, "line": line}
            | {ABOUT: about, SEE: explorer_link(cell.variant)}
            | ends
        )
    coarse: Rows = []
    for measure, aspect in dict.fromkeys((row["measure"], row["aspect"]) for row in fine):
        values = [row["value"] for row in fine if (row["measure"], row["aspect"]) == (measure, aspect)]
        mean = sum(values) / len(values)
        coarse.append({"measure": measure, "name": aspect, "value": mean, "line": first[measure]})
        coarse[-1][ABOUT] = f"{aspect}, {measure}: {mean:.1f}, the mean of {len(values)}"
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
    names = list(dict.fromkeys(row["name"] for row in rows))
    base = alt.Chart().encode(y=layout.names_axis("name:N", names, names), description=f"{ABOUT}:N")
    line = alt.Chart().mark_rule(color=INK, strokeDash=[4, 3], aria=False).encode(x="mean(line):Q")
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


def _profile(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """Every metric of every variant; the line is the original."""
    original = scores.variants[ORIGINAL].metrics
    metrics = [metric for metric in original if metric != FLOOR and measure_of(metric).unit == PERCENT][:_MOST_METRICS]
    rows: Rows = [
        {
            "metric": _with_direction(metric),
            "variant": naming.short(variant),
            "value": 100 * score.value,
            "low": 100 * score.low,
            "high": 100 * score.high,
            "original": 100 * original[metric].value,
            ABOUT: f"{metric} under {naming.full(variant)}: {PAGE.percent(score.value)} % "
            f"{PAGE.interval(score.low, score.high)}, original {PAGE.percent(original[metric].value)} %",
            SEE: explorer_link(variant),
        }
        for variant in _stressed(scores)
        for metric in metrics
        if (score := scores.variants[variant].metrics.get(metric))
    ]
    if rows:
        shown = list(map(_with_direction, metrics))
        yield Plot("profile", "Robustness profile", lambda layout: _profile_chart(rows, shown, layout))


def _with_direction(metric: str) -> str:
    return metric if measure_of(metric).higher_is_better else f"{metric} ↓"


def _profile_chart(rows: Rows, metrics: list[str], layout: Layout) -> Chart:
    alt = altair()
    jga = {row["variant"]: row["value"] for row in rows if row["metric"] == metrics[0]}
    base = alt.Chart().encode(
        y=layout.names_axis("variant:N", jga, sorted(jga, key=jga.__getitem__)), description=f"{ABOUT}:N"
    )
    line = alt.Chart().mark_rule(color=INK, strokeDash=[4, 3], aria=False).encode(x="mean(original):Q")
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


def _services(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """What each stressor costs each service."""
    before = scores.variants[ORIGINAL].slices.get("service", {})
    rows: Rows = []
    for variant in _by_cost(scores):
        for service, values in scores.variants[variant].slices.get("service", {}).items():
            after, start = values.get("jga"), before.get(service, {}).get("jga")
            if after is not None and start is not None:
                about = (
                    f"{service} under {naming.full(variant)}: {PAGE.points(after - start)} points of joint goal "
                    f"accuracy, from {PAGE.percent(start)} to {PAGE.percent(after)} %, "
                    f"over {values.get(UNITS) or 0:,.0f}"
                )
                see = explorer_link(variant, slot=f"{service}-*", error=_error(after - start))
                row = {"service": service, "stressor": naming.short(variant), "change": 100 * (after - start)}
                rows.append(row | {ABOUT: about, SEE: see})
    if len({row["service"] for row in rows}) > 1 and any(row["change"] for row in rows):
        yield Plot("services", "Cost by service", lambda layout: heat_chart(rows, "service", layout))


def _by_cost(scores: Scores) -> list[str]:
    """The stressors, the costly first."""
    drops = scores.drops
    return sorted(_stressed(scores), key=lambda variant: drops[variant].difference if variant in drops else 0.0)


def _error(change: float) -> str:
    """Which errors a cell is made of: new ones where it lost, mended ones where it won."""
    return "mended" if change > 0 else "new"


def _slot_stressors(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """What each stressor costs each slot, in gold values that are right; those that lose most anywhere."""
    rows: Rows = []
    for variant in _by_cost(scores):
        for slot, errors in scores.variants[variant].slots.items():
            before = scores.variants[ORIGINAL].slots.get(slot)
            if before is None or isnan(recall(before)) or isnan(recall(errors)):
                continue
            change = recall(errors) - recall(before)
            gold = errors.right + errors.wrong + errors.missed
            about = (
                f"{slot} under {naming.full(variant)}: {PAGE.points(change)} points, "
                f"from {PAGE.percent(recall(before))} to {PAGE.percent(recall(errors))} % of {gold:,} gold values; "
                f"{errors.missed:,} missed, {errors.wrong:,} wrong, {errors.extra:,} extra"
            )
            see = explorer_link(variant, slot=slot, error=_error(change))
            row = {"slot": slot, "stressor": naming.short(variant), "change": 100 * change}
            rows.append(row | {ABOUT: about, SEE: see})
    changed = {row["slot"] for row in rows if row["change"]}
    worst = {slot: min(row["change"] for row in rows if row["slot"] == slot) for slot in changed}
    shown = sorted(worst, key=lambda slot: (worst[slot], slot))[:_MOST_SLOTS]
    if kept := [row for row in rows if row["slot"] in shown]:
        yield Plot("slot-stressors", "Cost by slot and stressor", lambda layout: heat_chart(kept, "slot", layout))


def _sensitivity(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """A point for each service: the mean over a group of variants, and how much it varies (SGD-X's figure 6)."""
    for place, slices in enumerate(scores.across_slices.values(), start=1):
        services = slices.get("service", {})
        metric = next(
            (name.removesuffix("-v1-5") for v in services.values() for name in v if name.endswith("-v1-5")), ""
        )
        mean, sensitivity = f"{metric}-v1-5", f"ss({metric})"
        rows: Rows = [
            {
                "service": service,
                "mean": 100 * x,
                "sensitivity": 100 * y,
                ABOUT: f"{service}: {mean} {PAGE.percent(x)} %, {sensitivity} {PAGE.percent(y)} %",
                SEE: explorer_link("", slot=f"{service}-*"),
            }
            for service, values in services.items()
            if (x := values.get(mean)) is not None and (y := values.get(sensitivity)) is not None
        ]
        if len(rows) > 1 and any(row["sensitivity"] for row in rows):
            name = "sensitivity" if place == 1 else f"sensitivity-{place}"
            title = "Accuracy and sensitivity by service"
            yield Plot(name, title, partial(scatter_chart, rows, (f"{mean}, %", f"{sensitivity} ↓, %")))


def _slots(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """Each slot's recall on the original, and under the stressor that hurts it most (after CoCo's figure 5)."""
    rows: Rows = []
    for slot, errors in scores.variants[ORIGINAL].slots.items():
        cards = {variant: scores.variants[variant].slots for variant in _stressed(scores)}
        recalls = {variant: recall(slots[slot]) for variant, slots in cards.items() if slot in slots}
        recalls = {variant: value for variant, value in recalls.items() if not isnan(value)}
        if recalls and not isnan(recall(errors)):
            worst = min(recalls, key=recalls.__getitem__)
            row = {"slot": slot, "original": 100 * recall(errors), "worst": 100 * recalls[worst]}
            about = (
                f"{slot}: {PAGE.percent(recall(errors))} % right on the original, "
                f"{PAGE.percent(recalls[worst])} % under {naming.full(worst)}"
            )
            rows.append(row | {ABOUT: about, SEE: explorer_link(worst, slot=slot)})
    rows = [row for row in rows if row["worst"] < row["original"]]
    rows = sorted(rows, key=lambda row: row["worst"] - row["original"])[:_MOST_SLOTS]
    if rows:
        yield Plot("slots", "Slots, on the original and at their worst", lambda layout: _slot_chart(rows, layout))


def _slot_chart(rows: Rows, layout: Layout) -> Chart:
    alt = altair()
    slots = [row["slot"] for row in rows]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=layout.names_axis("slot:N", slots, slots), description=f"{ABOUT}:N"
    )
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


def _ranks(scores: Scores, naming: _Naming) -> Iterator[Plot]:
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
            "metric": _with_direction(metric),
            "stressor": naming.short(variant),
            "rank": order.index(variant) + 1,
            "kind": "moves most" if variant in movers and len(set(ranks[variant])) > 1 else "other",
            ABOUT: f"{naming.full(variant)} by {metric}: "
            f"{PAGE.measured(scores.variants[variant][metric].value, measure_of(metric).unit)} "
            f"{measure_of(metric).unit}, "
            f"number {order.index(variant) + 1} of {len(order)} from the worst",
            SEE: explorer_link(variant),
        }
        for metric, order in orders.items()
        for variant in stressed
    ]
    yield Plot(
        "metrics", "What each metric calls worst", partial(_rank_chart, rows, list(map(_with_direction, orders)))
    )


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
        description=f"{ABOUT}:N",
        color=alt.Color("kind:N", scale=alt.Scale(domain=["moves most", "other"], range=[LOSS, MUTED]), legend=None),
    )
    line, point = base.mark_line(strokeWidth=2, aria=False), base.mark_point(size=60, filled=True, opacity=1)
    last = base.transform_filter(alt.datum.metric == metrics[-1])
    words = last.mark_text(align="left", dx=9, limit=layout.names, aria=False)
    chart = alt.layer(line, point, words.encode(text="stressor:N"))
    return chart.properties(width=layout.width - 40, height=max(120, many * layout.step + 10))
