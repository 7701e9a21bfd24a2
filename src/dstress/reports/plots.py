"""The report's plots as Vega-Altair specifications, from the scores alone. `dstress.reports.charts` renders them.

Every plot comes wide and narrow: a narrow one is for a phone, laid out anew, not the wide one made smaller. Every mark
says in full what it shows, and names the turns behind it, which the page's explorer opens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isnan
from typing import Any, NamedTuple

from dstress.reports import charts
from dstress.reports.charts import ABOUT, ACCENT, LOSS, MUTED, SEE, Chart, Layout, Plot, Rows, altair
from dstress.reports.findings import FLOOR, recall, significant, slots_at_worst
from dstress.reports.heatmaps import heat_chart
from dstress.reports.numbers import PAGE
from dstress.reports.scatter import scatter_chart
from dstress.runs.folder import ORIGINAL, Scores
from dstress.scoring.metrics.base import PERCENT
from dstress.scoring.metrics.measures import measure_of
from dstress.scoring.scorecard import UNITS

_MOST_METRICS = 4
_FEW = 4
"""More metrics than this are written upright on a phone."""
_MOST_SLOTS = 30
_MOVERS = 3
_WORSE, _BETTER, _CHANCE = "significantly worse", "significantly better", "not significant"


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


def _by_cost(scores: Scores) -> list[str]:
    """The stressed variants, the costly first."""
    drops = scores.drops
    stressed = [variant for variant in scores.variants if variant != ORIGINAL]
    return sorted(stressed, key=lambda variant: drops[variant].difference if variant in drops else 0.0)


def _drops(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """Each stressor's cost with its interval: harm, gain, or what may be chance."""
    rows: Rows = []
    for variant, drop in scores.drops.items():
        verdict = _CHANCE if not significant(drop) else _WORSE if drop.difference < 0 else _BETTER
        about = "{} points {}, {}".format(*PAGE.change(drop), verdict)
        change = {"change": 100 * drop.difference, "low": 100 * drop.low, "high": 100 * drop.high, "verdict": verdict}
        mark = {ABOUT: f"{naming.full(variant)}: {about}", SEE: charts.explorer_link(variant)}
        rows.append({"stressor": naming.short(variant)} | change | mark)

    def chart(layout: Layout) -> Chart:
        alt = altair()
        names = layout.names_axis("stressor:N", [row["stressor"] for row in rows], alt.EncodingSortField("change"))
        base = charts.marks_of(rows, y=names)
        verdicts = {row["verdict"] for row in rows}
        colors = {_WORSE: LOSS, _BETTER: ACCENT, _CHANCE: MUTED}
        color = layout.colors("verdict", {verdict: colors[verdict] for verdict in colors if verdict in verdicts})
        # At least a point to each side of none, so that a whisker is never blown up to a drama.
        lowest, highest = min(-1.0, *(row["low"] for row in rows)), max(1.0, *(row["high"] for row in rows))
        scale = alt.Scale(domainMin=lowest, domainMax=highest)
        x = alt.X("low:Q", title=f"change in {scores.joint_title}, points", axis=layout.ticks(), scale=scale)
        reach = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", color=color)
        point = charts.dot(base, 70).encode(x="change:Q", color=color)
        return (charts.zero_line("x") + reach + point).properties(width=layout.width, height=layout.height)

    if rows:
        yield Plot("drops", "Cost of each stressor", chart)


def _tasks(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """RADDLE's diagnosis: coarse, the mean over the tasks of an aspect, and fine, every task; the line is the first."""
    first: dict[str, float] = {}
    fine: Rows = []
    for cell in scores.table:
        if not cell.task or not cell.score or isnan(cell.score.value):
            continue
        scale = measure_of(cell.metric).scale
        value, low, high = (scale * number for number in (cell.score.value, cell.score.low, cell.score.high))
        low, high = (value if isnan(end) else end for end in (low, high))
        line = first.setdefault(cell.measure, value)
        about = f"{naming.full(cell.variant)}, {cell.measure}: {value:.1f} [{low:.1f}, {high:.1f}]"
        fine.append(
            {"measure": cell.measure, "name": cell.task, "aspect": cell.aspect, "value": value, "line": line}
            | {ABOUT: about, SEE: charts.explorer_link(cell.variant)}
            | {"low": low, "high": high}
        )
    coarse: Rows = []
    for measure, aspect in dict.fromkeys((row["measure"], row["aspect"]) for row in fine):
        values = [row["value"] for row in fine if (row["measure"], row["aspect"]) == (measure, aspect)]
        mean = sum(values) / len(values)
        about = f"{aspect}, {measure}: {mean:.1f}, the mean of {len(values)}"
        coarse.append({"measure": measure, "name": aspect, "value": mean, "line": first[measure], ABOUT: about})
    if several := [m for m in first if sum(row["measure"] == m for row in coarse) > 1]:
        coarse = [row for row in coarse if row["measure"] in several]
        fine = [row if row["measure"] in several else row | {"line": None} for row in fine]
        yield Plot("coarse", "Diagnosis by aspect", partial(_panel_chart, coarse, "measure", several, "name", "line"))
        yield Plot("fine", "Diagnosis by task", partial(_panel_chart, fine, "measure", list(first), "name", "line"))


def _panel_chart(
    rows: Rows, panel: str, panels: Sequence[str], names: str, line: str, layout: Layout, order: Sequence[str] = ()
) -> Chart:
    """A panel for each of several measures: a row for each name, and a line to compare them with.

    Rows are points with intervals, or bars from 0 where they have none.
    """
    alt = altair()
    order = order or list(dict.fromkeys(row[names] for row in rows))
    room = layout.panel(len(panels))
    base = charts.marks_of(rows, in_panels=True, y=layout.names_axis(f"{names}:N", order, order))
    if "low" in rows[0]:
        x = alt.X("low:Q", title=None, scale=charts.free_scale(), axis=room.ticks())
        reach = base.mark_rule(color=ACCENT, strokeWidth=2).encode(x=x, x2="high:Q")
        marks = [reach, charts.dot(base, 45, color=ACCENT).encode(x="value:Q")]
    else:
        x = alt.X("value:Q", title=None, axis=room.ticks())
        marks = [base.mark_bar(color=ACCENT, height={"band": 0.6}).encode(x=x)]
    layered = alt.layer(*marks, charts.mean_line(line)).properties(width=room.width, height=layout.height)
    return charts.facet(layered, panel, panels, rows, layout)


def _profile(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """Every metric of every variant; the line is the original."""
    original = scores.variants[ORIGINAL].metrics
    metrics = [metric for metric in original if metric != FLOOR and measure_of(metric).unit == PERCENT][:_MOST_METRICS]
    rows: Rows = []
    for variant, card in scores.variants.items():
        for metric in metrics if variant != ORIGINAL else ():
            if score := card.metrics.get(metric):
                start = original[metric].value
                value = {"value": 100 * score.value, "low": 100 * score.low, "high": 100 * score.high}
                about = (
                    f"{metric} under {naming.full(variant)}: {PAGE.percent(score.value)} % "
                    f"{PAGE.interval(score.low, score.high)}, original {PAGE.percent(start)} %"
                )
                row = {"metric": _with_direction(metric), "variant": naming.short(variant), **value}
                rows.append(row | {"original": 100 * start, ABOUT: about, SEE: charts.explorer_link(variant)})
    if rows:
        shown = list(map(_with_direction, metrics))
        jga = {row["variant"]: row["value"] for row in rows if row["metric"] == shown[0]}
        order = sorted(jga, key=jga.__getitem__)
        chart = partial(_panel_chart, rows, "metric", shown, "variant", "original", order=order)
        yield Plot("profile", "Robustness profile", chart)


def _with_direction(metric: str) -> str:
    return metric if measure_of(metric).higher_is_better else f"{metric} ↓"


def _cost(
    named: dict[str, str], variant: str, change: float, about: str, slots: str, naming: _Naming
) -> dict[str, Any]:
    """What a stressor costs something; the link is to errors that are new where it lost, and gone where it gained."""
    see = charts.explorer_link(variant, slot=slots, error="fixed" if change > 0 else "new")
    return {**named, "stressor": naming.short(variant), "change": 100 * change, ABOUT: about, SEE: see}


def _services(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """What each stressor costs each service."""
    before = scores.variants[ORIGINAL].slices.get("service", {})
    rows: Rows = []
    for variant in _by_cost(scores):
        for service, values in scores.variants[variant].slices.get("service", {}).items():
            after, start = values.get(scores.joint), before.get(service, {}).get(scores.joint)
            if after is not None and start is not None:
                about = (
                    f"{service} under {naming.full(variant)}: {PAGE.points(after - start)} points of "
                    f"{scores.joint_title}, from {PAGE.percent(start)} to {PAGE.percent(after)} %, "
                    f"over {values.get(UNITS) or 0:,.0f}"
                )
                rows.append(_cost({"service": service}, variant, after - start, about, f"{service}-*", naming))
    if len({row["service"] for row in rows}) > 1 and any(row["change"] for row in rows):
        yield Plot("services", "Cost by service", lambda layout: heat_chart(rows, "service", layout))


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
                f"{errors.missed:,} missed, {errors.wrong:,} wrong, {errors.extra:,} spurious"
            )
            rows.append(_cost({"slot": slot}, variant, change, about, slot, naming))
    changed = {row["slot"] for row in rows if row["change"]}
    worst = {slot: min(row["change"] for row in rows if row["slot"] == slot) for slot in changed}
    shown = sorted(worst, key=lambda slot: (worst[slot], slot))[:_MOST_SLOTS]
    if kept := [row for row in rows if row["slot"] in shown]:
        yield Plot("slot-stressors", "Cost by slot and stressor", lambda layout: heat_chart(kept, "slot", layout))


def _sensitivity(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """A point for each service: the mean over a group of variants, and how much it varies (SGD-X's figure 6)."""
    for place, slices in enumerate(scores.across_slices.values(), start=1):
        services = slices.get("service", {})
        measures = [name for values in services.values() for name in values]
        metric = next((name.removesuffix("-v1-5") for name in measures if name.endswith("-v1-5")), "")
        mean, sensitivity = f"{metric}-v1-5", f"ss({metric})"
        rows: Rows = []
        for service, values in services.items():
            if (x := values.get(mean)) is not None and (y := values.get(sensitivity)) is not None:
                about = f"{service}: {mean} {PAGE.percent(x)} %, {sensitivity} {PAGE.percent(y)} %"
                row = {"service": service, "mean": 100 * x, "sensitivity": 100 * y}
                rows.append(row | {ABOUT: about, SEE: charts.explorer_link("", slot=f"{service}-*")})
        if len(rows) > 1 and any(row["sensitivity"] for row in rows):
            name = "sensitivity" if place == 1 else f"sensitivity-{place}"
            chart = partial(scatter_chart, rows, (f"{mean}, %", f"{sensitivity} ↓, %"))
            yield Plot(name, "Accuracy and sensitivity by service", chart)


def _slots(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """Each slot's recall on the original, and under the stressor that hurts it most (after CoCo's figure 5)."""
    rows: Rows = []
    for slot, before, worst, after in slots_at_worst(scores):
        start, end = recall(before), recall(after)
        if end < start:
            about = (
                f"{slot}: {PAGE.percent(start)} % right on the original, "
                f"{PAGE.percent(end)} % under {naming.full(worst)}"
            )
            mark = {ABOUT: about, SEE: charts.explorer_link(worst, slot=slot)}
            rows.append({"slot": slot, "original": 100 * start, "worst": 100 * end} | mark)
    rows = sorted(rows, key=lambda row: row["worst"] - row["original"])[:_MOST_SLOTS]

    def chart(layout: Layout) -> Chart:
        alt = altair()
        slots = [row["slot"] for row in rows]
        base = charts.marks_of(rows, y=layout.names_axis("slot:N", slots, slots))
        x = alt.X("worst:Q", title="values that are right, %", scale=charts.free_scale(), axis=layout.ticks())
        reach = base.mark_rule(color=MUTED, strokeWidth=2, opacity=0.5).encode(x=x, x2="original:Q")
        label = "{original: 'original', worst: 'under the worst stressor'}[datum.label]"
        color = layout.colors("where", {"original": ACCENT, "worst": LOSS}, label)
        both = base.transform_fold(["original", "worst"], as_=["where", "recall"])
        point = charts.dot(both, 55).encode(x="recall:Q", color=color)
        return (reach + point).properties(width=layout.width, height=layout.height)

    if rows:
        yield Plot("slots", "Slots, on the original and at their worst", chart)


def _ranks(scores: Scores, naming: _Naming) -> Iterator[Plot]:
    """The order that each metric puts the stressors in (metrics disagree, as GCA's figure 3 shows for trackers)."""
    stressed = {variant: card for variant, card in scores.variants.items() if variant != ORIGINAL}
    values = {
        metric: {variant: card[metric].value for variant, card in stressed.items()}
        for metric in scores.variants[ORIGINAL].metrics
        if metric != FLOOR and all(metric in card for card in stressed.values())
    }
    if len(values) < 2 or all(len(set(own.values())) < 2 for own in values.values()):
        return
    orders = {
        metric: sorted(own, key=lambda variant: measure_of(metric).sign * own[variant])
        for metric, own in values.items()
    }
    ranks = {variant: [order.index(variant) + 1 for order in orders.values()] for variant in stressed}
    movers = sorted(ranks, key=lambda variant: min(ranks[variant]) - max(ranks[variant]))[:_MOVERS]
    rows: Rows = []
    for variant in stressed:
        kind = "moves most" if variant in movers and len(set(ranks[variant])) > 1 else "other"
        for metric, rank in zip(orders, ranks[variant], strict=True):
            unit = measure_of(metric).unit
            about = f"{naming.full(variant)} by {metric}: {PAGE.measured(values[metric][variant], unit)} {unit}, "
            about += f"number {rank} of {len(stressed)} from the worst"
            row = {"metric": _with_direction(metric), "stressor": naming.short(variant), "rank": rank, "kind": kind}
            rows.append(row | {ABOUT: about, SEE: charts.explorer_link(variant)})

    def chart(layout: Layout) -> Chart:
        alt = altair()
        upright = layout.narrow and len(orders) > _FEW
        axis = alt.Axis(labelAngle=-90 if upright else 0, orient="top", domain=False)
        shown = list(map(_with_direction, orders))
        scale = alt.Scale(domain=["moves most", "other"], range=[LOSS, MUTED])
        levels = alt.Axis(labelExpr="datum.value == 1 ? 'worst' : datum.label", domain=False)
        base = charts.marks_of(
            rows,
            x=alt.X("metric:N", sort=shown, title=None, scale=alt.Scale(padding=0.2), axis=axis),
            y=alt.Y("rank:O", title=None, axis=levels),
            detail="stressor:N",
            color=alt.Color("kind:N", scale=scale, legend=None),
        )
        last = base.transform_filter(alt.datum.metric == shown[-1])
        words = last.mark_text(align="left", dx=9, limit=layout.names, aria=False).encode(text="stressor:N")
        layers = base.mark_line(strokeWidth=2, aria=False), charts.dot(base, 60), words
        height = max(120, len(stressed) * layout.step + 10)
        return alt.layer(*layers).properties(width=layout.width - 40, height=height)

    yield Plot("metrics", "Stressors ranked by each metric", chart)
