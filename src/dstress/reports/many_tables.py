"""The tables of several runs, side by side: what the console, Markdown, LaTeX, CSV and the page show."""

from __future__ import annotations

import math

from msgspec.structs import asdict

from dstress.reports.analysis.checkdst_tables import SLACK, mark_ends, slack_behind_best
from dstress.reports.analysis.ranking import Ranking
from dstress.reports.findings import significant
from dstress.reports.numbers import PLAIN, NumberFormat
from dstress.reports.systems import Systems
from dstress.reports.tables import Table
from dstress.scoring.metrics.measures import describe, measure_of

PAIRS = "pairs"
"""The table of every pair, which is too long for a console."""
_USED = {"requests": "requests", "tokens_in": "tokens in", "tokens_out": "tokens out", "cost": "cost"}


def system_tables(systems: Systems, ranking: Ranking | None, numbers: NumberFormat = PLAIN) -> dict[str, Table]:
    """Every table that the systems can fill, by name."""
    tables = {
        "systems": ranking_table(ranking, numbers) if ranking else None,
        "measures": seed_table(systems) if systems.has_seeds else _measure_table(systems, numbers),
        "stressors": None if systems.has_seeds else _drop_table(systems, numbers),
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
            records.append({"version": version, "system": name} | asdict(standing))
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
            p = (numbers.probability(value) for value in (test.p, test.p_holm))
            verdict = "yes" if test.significant else "no"
            change = numbers.change(test, unit)
            rows.append((version, test.system, test.other, *change, *p, numbers.differing(test), verdict))
            records.append({"version": version} | asdict(test))
    tested = ("#difference", "#95 % interval", "#p", "#p (Holm)", "#differ", "significant")
    caption = f"{describe(ranking.metric)}: the system minus the other; intervals are before Holm's correction"
    return Table(("version", "system", "minus", *tested), rows, caption, records)


def _measure_table(systems: Systems, numbers: NumberFormat) -> Table:
    """The suite's own table with a column for each system, and their average slack (CheckDST, tables 2 and 3)."""
    rows, records, values = [], [], []
    for cell, scores in systems.measures():
        measure = measure_of(cell.metric)
        rows.append((cell.column, *(numbers.scored(score, measure.unit) for score in scores)))
        records += [
            {"measure": cell.column, "system": name} | (asdict(score) if score else {}) | {"unit": measure.data_unit}
            for name, score in zip(systems.names, scores, strict=True)
        ]
        values.append((cell.column, cell.metric, [score.value if score else math.nan for score in scores]))
    slack = slack_behind_best(values, len(systems.every))
    rows.append((SLACK, *map(numbers.percent, slack.values)))
    records += [
        {"measure": SLACK, "system": name, "value": value, "unit": "share"}
        for name, value in zip(systems.names, slack.values, strict=True)
    ]
    manifest = systems.first.manifest
    caption = f"{manifest.suite.title} on {manifest.tracked}, with the intervals of each run's own report; "
    terms = manifest.suite.spell_out(*(row[0] for row in rows))
    caption += "".join(f"{term}: {meaning}; " for term, meaning in terms.items())
    return Table(("measure", *(f"#{name}" for name in systems.names)), rows, caption + slack.caption, records)


def seed_table(systems: Systems) -> Table:
    """A row for each column of the suite's table: each system's median over its seeds, and who is best and worst."""
    rows, records, medians = [], [], []
    several = len(systems.every) > 1
    for cell in systems.first.scores.table:
        measure = measure_of(cell.metric)
        summaries = {system.name: system.summary(cell.column) for system in systems.every}
        defined = {name: summary for name, summary in summaries.items() if summary}
        marks = mark_ends(defined, measure.sign) if several and defined and not measure.of_data else {}
        cells = dict.fromkeys(summaries, "-")
        for name, summary in defined.items():
            median, error, lowest, highest = (f"{measure.scale * value:.2f}" for value in summary)
            cells[name] = f"{median} ± {error} [{lowest}, {highest}] {marks.get(name, '')}".rstrip()
        rows.append((cell.column, *cells.values()))
        records += [
            {"measure": cell.column, "system": system.name, "seeds": len(system.runs)}
            | defined[system.name]._asdict()
            | {"mark": marks.get(system.name, "")}
            for system in systems.every
            if system.name in defined
        ]
        values = [summary.median if summary else math.nan for summary in summaries.values()]
        medians.append((cell.column, cell.metric, values))
    caption = "median ± standard error over seeds [lowest, highest]"
    if several:
        slack = slack_behind_best(medians, len(systems.every))
        rows.append((SLACK, *map(PLAIN.percent, slack.values)))
        pairs = zip(systems.names, slack.values, strict=True)
        records += [{"measure": SLACK, "system": name, "median": value} for name, value in pairs]
        caption += "; the best and the worst are marked, with the systems that overlap them"
        caption += f"; over the medians, {slack.caption} (CheckDST, table 3)"
    heads = [f"#{system.name} ({len(system.runs)} seeds)" for system in systems.every]
    return Table(("measure", *heads), rows, caption, records)


def _drop_table(systems: Systems, numbers: NumberFormat) -> Table:
    """What each stressor costs each system in joint goal accuracy; a star is significant within its run."""
    rows, records = [], []
    for variant in systems.stressed:
        drops = {system.name: system.scores[0].drops.get(variant) for system in systems.every}
        if any(drops.values()):
            shown = [
                " ".join(numbers.change(drop)) + "*" * significant(drop) if drop else numbers.unknown
                for drop in drops.values()
            ]
            rows.append((variant, *shown))
            records += [{"stressor": variant, "system": name} | asdict(drop) for name, drop in drops.items() if drop]
    caption = "change in points of jga from the original; * significant after Holm's correction within the run"
    return Table(("stressor", *(f"#{name}" for name in systems.names)), rows, caption, records)


def _metric_table(systems: Systems, numbers: NumberFormat) -> Table | None:
    """Systems by metrics on the original, each with its rank (GCA, figure 3): metrics may order systems otherwise."""
    metrics = systems.metrics()
    if len(metrics) < 2:
        return None
    cells: dict[str, list[str]] = {name: [] for name in systems.names}
    records = []
    for metric in metrics:
        for name, (score, rank) in systems.ranked(metric).items():
            cells[name].append(f"{numbers.with_unit(score.value, measure_of(metric).unit)} ({rank:g})")
            records.append({"system": name, "metric": metric, "value": score.value, "rank": rank})
    caption = f"on the original of {systems.first.manifest.tracked}; in brackets the rank by each metric"
    columns = ("system", *(f"#{describe(metric)}" for metric in metrics))
    return Table(columns, [(name, *own) for name, own in cells.items()], caption, records)


def _cost_table(systems: Systems, numbers: NumberFormat) -> Table:
    """What the answers cost, where it was counted: time, requests, tokens, money; and how many are missing."""
    used = {key: name for key, name in _USED.items() if any(system.total(key) for system in systems.every)}
    rows, records = [], []
    for system in systems.every:
        seconds, turns = system.total("tracking seconds"), system.total("turns asked")
        each = 1000 * seconds / turns if turns else math.nan
        amounts = {name: system.total(key) for key, name in used.items()}
        shown = (f"{amount:,.4f}" if name == "cost" else numbers.number(amount) for name, amount in amounts.items())
        time = (numbers.number(turns), f"{seconds:,.2f}", f"{each:,.2f}") if turns else (numbers.unknown,) * 3
        rows.append((system.name, system.tracker, *time, *shown, f"{system.failed:,}"))
        timed = {"turns asked": turns, "seconds": seconds, "ms a turn": each}
        records.append({"system": system.name, "tracker": system.tracker, **timed, **amounts, "failed": system.failed})
    columns = ("system", "tracker", "#turns asked", "#seconds", "#ms a turn", *(f"#{n}" for n in used.values()))
    caption = "seconds of all workers together; unchanged turns keep their answer and are not asked again"
    return Table((*columns, "#no answer"), rows, caption, records)
