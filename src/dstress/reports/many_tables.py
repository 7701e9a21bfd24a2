"""The tables of several runs, side by side: what the console, Markdown, LaTeX, CSV and the page show."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from dstress.analysis.ranking import Ranking, rank_values, slack_behind_best
from dstress.metrics.base import PERCENT
from dstress.metrics.measures import describe, measure_of
from dstress.reports.findings import significant
from dstress.reports.numbers import PLAIN, NumberFormat
from dstress.reports.seeds import SLACK, seed_table
from dstress.reports.systems import Systems
from dstress.reports.tables import Table
from dstress.runs.folder import ORIGINAL
from dstress.scoring.scorecard import Score

PAIRS = "pairs"
"""The table of every pair, which is too long for a console."""
_USED = {"requests": "requests", "tokens_in": "tokens in", "tokens_out": "tokens out", "cost": "cost"}


def system_tables(systems: Systems, ranking: Ranking | None, numbers: NumberFormat = PLAIN) -> dict[str, Table]:
    """Every table that the systems can fill, by name."""
    tables = {
        "systems": ranking_table(ranking, numbers) if ranking else None,
        "measures": _measure_table(systems, numbers),
        "stressors": _drop_table(systems, numbers),
        "metrics": _metric_table(systems, numbers),
        "cost": _cost_table(systems, numbers),
        PAIRS: _pair_table(ranking, numbers) if ranking else None,
    }
    return {name: table for name, table in tables.items() if table and table.rows}


def ranking_table(ranking: Ranking, numbers: NumberFormat = PLAIN) -> Table:
    """A row a version of the data: each system's value, its interval, and the groups that it is in."""
    names, unit = list(ranking.mean_rank), measure_of(ranking.metric).unit
    rows, records = [], []
    for version, order in ranking.orders.items():
        cells = []
        for name in names:
            standing = order.standings[name]
            ends = numbers.measured_interval(standing.low, standing.high, unit)
            shown = f"{numbers.measured(standing.value, unit)} {ends} {standing.group}"
            cells.append(shown if standing.group else numbers.unknown)
            records.append({"version": version, "system": name} | msgspec.structs.asdict(standing))
        rows.append((version, *cells))
    if len(rows) > 1:
        rows.append(("mean rank", *(f"{rank:.2f}" for rank in ranking.mean_rank.values())))
    caption = (
        f"{describe(ranking.metric)}, {unit}; systems that share a letter are not told apart in their row: every pair "
        f"tested, paired by dialogue, Holm's correction over {ranking.tests:,} tests, alpha {ranking.alpha:g}"
    )
    return Table(("version", *(f"#{name}" for name in names)), rows, caption, records)


def _pair_table(ranking: Ranking, numbers: NumberFormat) -> Table:
    """The test of every pair on every version."""
    rows, records, unit = [], [], measure_of(ranking.metric).unit
    for version, order in ranking.orders.items():
        for test in order.tests:
            change = numbers.measured_change(test.difference, unit)
            ends = numbers.measured_change_interval(test.low, test.high, unit)
            p = (numbers.probability(value, at_floor=test.at_floor) for value in (test.p, test.p_holm))
            rows.append((version, test.system, test.other, change, ends, *p, "yes" if test.significant else "no"))
            records.append({"version": version} | msgspec.structs.asdict(test))
    columns = ("version", "system", "less", "#difference", "#95 % interval", "#p", "#p (Holm)", "significant")
    caption = f"{describe(ranking.metric)}: the system less the other; intervals are before Holm's correction"
    return Table(columns, rows, caption, records)


def _measure_table(systems: Systems, numbers: NumberFormat) -> Table:
    """The suite's own table with a column a system, and their average slack (CheckDST, tables 2 and 3)."""
    if any(len(system.runs) > 1 for system in systems.every):
        return seed_table({system.name: system.runs for system in systems.every})
    rows, records, values = [], [], []
    for cell, scores in systems.measures():
        unit = measure_of(cell.metric).unit
        rows.append((cell.column, *(_with_interval(score, unit, numbers) for score in scores)))
        for system, score in zip(systems.every, scores, strict=True):
            number = msgspec.structs.asdict(score) if score else {}
            records.append({"measure": cell.column, "system": system.name} | number | {"unit": unit})
        values.append((cell.metric, [score.value if score else math.nan for score in scores]))
    slack = slack_behind_best(values, len(systems.every))
    rows.append((SLACK, *(numbers.percent(value) for value in slack)))
    for system, value in zip(systems.every, slack, strict=True):
        records.append({"measure": SLACK, "system": system.name, "value": value, "unit": PERCENT})
    manifest = systems.first.manifest
    caption = f"{manifest.suite.title} on {manifest.tracked}, with the intervals of each run's own report; "
    caption += "avg-slack: mean distance to the best of each measure"
    return Table(("measure", *(f"#{system.name}" for system in systems.every)), rows, caption, records)


def _with_interval(score: Score | None, unit: str, numbers: NumberFormat) -> str:
    if score is None:
        return numbers.unknown
    return f"{numbers.with_unit(score.value, unit)} {numbers.measured_interval(score.low, score.high, unit)}"


def _drop_table(systems: Systems, numbers: NumberFormat) -> Table | None:
    """What each stressor costs each system in joint goal accuracy; a star is beyond chance within its run."""
    if any(len(system.runs) > 1 for system in systems.every):
        return None
    rows, records = [], []
    for variant in systems.variants:
        drops = {system.name: system.scores[0].drops.get(variant) for system in systems.every}
        if variant == ORIGINAL or not any(drops.values()):
            continue
        cells = []
        for name, drop in drops.items():
            shown = numbers.unknown
            if drop:
                shown = f"{numbers.points(drop.difference)} {numbers.change_interval(drop.low, drop.high)}"
                shown += "*" if significant(drop) else ""
                records.append({"stressor": variant, "system": name} | msgspec.structs.asdict(drop))
            cells.append(shown)
        rows.append((variant, *cells))
    caption = "change in points of jga from the original; * beyond chance, Holm's correction over the run's stressors"
    return Table(("stressor", *(f"#{system.name}" for system in systems.every)), rows, caption, records)


def _metric_table(systems: Systems, numbers: NumberFormat) -> Table | None:
    """Systems by metrics on the original, each with its rank (GCA, figure 3): metrics may order systems otherwise."""
    metrics = systems.metrics()
    if len(metrics) < 2:
        return None
    columns, records = [], []
    for metric in metrics:
        scores = [score for system in systems.every if (score := system.score(ORIGINAL, metric))]
        unit, order = measure_of(metric).unit, _ranked(metric, scores)
        columns.append([f"{numbers.with_unit(s.value, unit)} ({r:g})" for s, r in zip(scores, order, strict=True)])
        for system, score, rank in zip(systems.every, scores, order, strict=True):
            records.append({"system": system.name, "metric": metric, "value": score.value, "rank": rank})
    rows = [(system.name, *cells) for system, cells in zip(systems.every, zip(*columns, strict=True), strict=True)]
    caption = f"on the original of {systems.first.manifest.tracked}; in brackets the rank by each metric"
    return Table(("system", *(f"#{describe(metric)}" for metric in metrics)), rows, caption, records)


def _ranked(metric: str, scores: Sequence[Score]) -> list[float]:
    return rank_values([measure_of(metric).sign * score.value for score in scores])


def _cost_table(systems: Systems, numbers: NumberFormat) -> Table:
    """What the answers cost, where it was counted: time, requests, tokens, money; and how many are missing."""
    used = {key: name for key, name in _USED.items() if any(system.total(key) for system in systems.every)}
    rows, records = [], []
    for system in systems.every:
        seconds, asked = system.total("tracking seconds"), system.total("turns asked")
        each = 1000 * seconds / asked if asked else math.nan
        amounts = {name: system.total(key) for key, name in used.items()}
        shown = (f"{amount:,.4f}" if name == "cost" else numbers.number(amount) for name, amount in amounts.items())
        time = (numbers.number(asked), f"{seconds:,.2f}", f"{each:,.2f}") if asked else (numbers.unknown,) * 3
        rows.append((system.name, system.tracker, *time, *shown, f"{system.failed:,}"))
        timed = {"turns asked": asked, "seconds": seconds, "ms a turn": each}
        records.append({"system": system.name, "tracker": system.tracker, **timed, **amounts, "failed": system.failed})
    columns = ("system", "tracker", "#turns asked", "#seconds", "#ms a turn", *(f"#{n}" for n in used.values()))
    caption = "seconds of all workers together; unchanged turns keep their answer and are not asked again"
    return Table((*columns, "#no answer"), rows, caption, records)
