"""What several runs say together, in words: who leads, where that changes, where metrics disagree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

from dstress.analysis.ranking import MEAN, Order, Ranking
from dstress.metrics.measures import describe, measure_of
from dstress.reports.findings import Finding
from dstress.reports.numbers import PAGE
from dstress.reports.systems import Systems
from dstress.runs.folder import ORIGINAL

_MOST = 3


def system_findings(systems: Systems, ranking: Ranking | None) -> list[Finding]:
    """Who leads with and without stress; pairs whose order a stressor surely turns round; metrics that disagree."""
    return [*(_leaders(ranking) if ranking else ()), *(_reversals(ranking) if ranking else ()), *_first_places(systems)]


def _leaders(ranking: Ranking) -> Iterator[Finding]:
    for version in (ORIGINAL, MEAN):
        if version not in ranking.orders:
            continue
        order = ranking.orders[version]
        known = [name for name, standing in order.standings.items() if standing.group]
        if not known:
            continue
        best, *others = known
        standing, unit = order.standings[best], measure_of(ranking.metric).unit
        near = [name for name in others if not order.test(best, name).significant]
        value = PAGE.with_unit(standing.value, unit) + (" %" if unit == "%" else "")
        ends = PAGE.measured_interval(standing.low, standing.high, unit)
        where = "on the original" if version == ORIGINAL else "on average over the stressors"
        told = f"{', '.join(near)} cannot be told from it." if near else "It is told apart from every other system."
        yield Finding(f"{best} leads {where}", f"{describe(ranking.metric)} {value}, 95 % interval {ends}. {told}", 2)


def _reversals(ranking: Ranking) -> Iterator[Finding]:
    """Two systems of which one is surely above on the original, and surely below under a stressor."""
    original = ranking.orders.get(ORIGINAL)
    stressed = {name: order for name, order in ranking.orders.items() if name not in (ORIGINAL, MEAN)}
    if original is None:
        return
    for above, below in permutations(ranking.mean_rank, 2):
        turned = [
            v
            for v, order in stressed.items()
            if _leads(ranking, original, above, below) and _leads(ranking, order, below, above)
        ]
        if turned:
            first = stressed[turned[0]].test(above, below)
            text = (
                f"On the original it is {_change(ranking, original, above, below)} ahead, under {turned[0]} "
                f"{PAGE.measured_change(first.difference, measure_of(ranking.metric).unit)}; both beyond chance."
            )
            yield Finding(f"{above} falls behind {below} under {', '.join(turned[:_MOST])}", text, 3)


def _leads(ranking: Ranking, order: Order, one: str, other: str) -> bool:
    test = order.test(one, other)
    return test.significant and measure_of(ranking.metric).sign * test.difference > 0


def _change(ranking: Ranking, order: Order, one: str, other: str) -> str:
    return PAGE.measured_change(order.test(one, other).difference, measure_of(ranking.metric).unit)


def _first_places(systems: Systems) -> Iterator[Finding]:
    """Metrics that put another system first (GCA, section 5.1.1), and how many pairs they order otherwise."""
    metrics = systems.metrics()
    values = {
        metric: {
            system.name: measure_of(metric).sign * score.value
            for system in systems.every
            if (score := system.score(ORIGINAL, metric))
        }
        for metric in metrics
    }
    if len(metrics) < 2:
        return
    first, *others = metrics
    turned = {
        metric: sum(
            (values[first][a] - values[first][b]) * (values[metric][a] - values[metric][b]) < 0 for a, b in pairs
        )
        for pairs in [list(combinations(values[first], 2))]
        for metric in others
    }
    if any(turned.values()):
        most = max(turned, key=turned.__getitem__)
        leaders = {metric: max(own, key=own.__getitem__) for metric, own in values.items()}
        pairs = len(values[first]) * (len(values[first]) - 1) // 2
        text = f"{most} orders {turned[most]} of {pairs} pairs of systems otherwise than {first}. First by {first}: "
        text += f"{leaders[first]}; by {most}: {leaders[most]}. Neighbours may differ by chance only."
        yield Finding("Metrics put the systems in another order", text, 1)
