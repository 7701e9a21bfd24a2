"""Say in words what several runs show together: who leads, where that changes, where metrics disagree."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations, permutations

from dstress.reports.analysis.ranking import MEAN, Order, Ranking
from dstress.reports.findings import Finding
from dstress.reports.numbers import PAGE
from dstress.reports.systems import Systems
from dstress.runs.folder import ORIGINAL
from dstress.scoring.metrics.base import PERCENT
from dstress.scoring.metrics.measures import describe, measure_of

_MOST = 3


def system_findings(systems: Systems, ranking: Ranking) -> list[Finding]:
    """Return who leads with and without stress, pairs that a stressor reverses, and metrics that disagree."""
    return [*_leaders(ranking, systems.baselines), *find_reversals(ranking), *_first_places(systems)]


def _leaders(ranking: Ranking, baselines: Collection[str]) -> Iterator[Finding]:
    """Who leads of the systems that are no baselines; of one alone, where it stands."""
    unit = measure_of(ranking.metric).unit
    for version, where in ((ORIGINAL, "on the original"), (MEAN, "on average over the stressors")):
        order = ranking.orders.get(version)
        standings = order.standings.items() if order else ()
        ranked = [name for name, standing in standings if standing.group and name not in baselines]
        if order is None or not ranked:
            continue
        best, *others = ranked
        standing = order.standings[best]
        level = [name for name in others if order.standings[name].value == standing.value]
        near = [name for name in others if name not in level and not order.test(best, name).significant]
        value = PAGE.with_unit(standing.value, unit) + (" %" if unit == PERCENT else "")
        ends = PAGE.measured_interval(standing.low, standing.high, unit)
        rest = f" Not significantly different: {', '.join(near)}." if near else ""
        if not near and len(level) < len(others):
            rest = " All other systems differ significantly."
        title = f"{', '.join((best, *level))} are equal {where}" if level else f"{best} leads {where}"
        if not others:
            rest, title = " It is the only system beside the baselines.", f"{best} {where}"
        yield Finding(title, f"{describe(ranking.metric)} {value}, 95 % interval {ends}.{rest}", 2)


def find_reversals(ranking: Ranking) -> Iterator[Finding]:
    """Yield pairs of systems where one is significantly above on the original and below under a stressor."""
    measure, original = measure_of(ranking.metric), ranking.orders.get(ORIGINAL)
    stressed = {name: order for name, order in ranking.orders.items() if name not in (ORIGINAL, MEAN)}

    def leads(order: Order, first: str, second: str) -> bool:
        test = order.test(first, second)
        return test.significant and measure.sign * test.difference > 0

    for above, below in permutations(ranking.mean_rank, 2):
        if original is None or not leads(original, above, below):
            continue
        if turned := [variant for variant, order in stressed.items() if leads(order, below, above)]:
            before, after = (order.test(above, below).difference for order in (original, stressed[turned[0]]))
            text = (
                f"The difference in {describe(ranking.metric)} is {PAGE.measured_change(before, measure.unit)} on the "
                f"original and {PAGE.measured_change(after, measure.unit)} under {turned[0]}; both are significant."
            )
            yield Finding(f"{above} falls behind {below} under {', '.join(turned[:_MOST])}", text, 3)


def _first_places(systems: Systems) -> Iterator[Finding]:
    """Metrics that rank another system first (GCA, section 5.1.1), and how many pairs they order differently."""
    values = {
        metric: {
            name: measure_of(metric).sign * score.value
            for name, (score, _) in systems.ranked(metric).items()
            if name not in systems.baselines
        }
        for metric in systems.metrics()
    }
    if len(values) < 2 or not all(values.values()):
        return
    first = next(iter(values))
    pairs = list(combinations(values[first], 2))
    turned = {
        metric: sum((values[first][a] - values[first][b]) * (own[a] - own[b]) < 0 for a, b in pairs)
        for metric, own in values.items()
        if metric != first
    }
    if any(turned.values()):
        most = max(turned, key=turned.__getitem__)
        leaders = {metric: max(own, key=own.__getitem__) for metric, own in values.items()}
        rest = f"First by {first}: {leaders[first]}; by {most}: {leaders[most]}"
        rest = f"Both rank {leaders[first]} first" if leaders[first] == leaders[most] else rest
        text = f"{most} orders {turned[most]} of {len(pairs)} pairs of systems differently from {first}. {rest}. "
        text += "Adjacent ranks may differ by chance."
        yield Finding("Metrics rank the systems differently", text, 1)
