"""Comparisons and the gate's verdict as tables: what the console shows, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from dstress.metrics.base import PERCENT
from dstress.metrics.measures import describe, measure_of
from dstress.pipeline.compare import Comparison, Pair, SlotChange
from dstress.pipeline.gate import Verdict
from dstress.reports.many_tables import ranking_table
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.scoring.scorecard import UNITS, signature_text

_SLOTS_SHOWN = 5


def comparison_tables(comparison: Comparison) -> dict[str, Table]:
    """The systems' scores, the tests of all pairs, every slot, and the slices by their names."""
    tests = {pair.system: pair_table(comparison, number) for number, pair in enumerate(comparison.pairs)}
    slots = {pair.system: slot_change_table(pair, pair.slots) for pair in comparison.pairs}
    against = f"against {comparison.pairs[0].baseline}"
    columns = next(iter(tests.values())).columns
    return (
        {
            "scores": system_table(comparison),
            "tests": _joined(tests, columns, f"{against}, in points"),
            "slots": _joined(
                slots, ("slot", "#F1 difference", "#F1 baseline", "#F1 system", "#right", "#errors"), against
            ),
        }
        | sliced_tables(comparison)
        | _ranked(comparison)
    )


def _ranked(comparison: Comparison) -> dict[str, Table]:
    return {"ranks": ranking_table(comparison.ranking)} if comparison.ranking else {}


def shown_tables(comparison: Comparison) -> list[Table]:
    """What the console shows: scores, for each pair its tests and the slots that differ most, and the slices."""
    tables = [system_table(comparison), *_ranked(comparison).values()]
    for number, pair in enumerate(comparison.pairs):
        tables.append(pair_table(comparison, number))
        if not comparison.stressed:
            tables.append(slot_change_table(pair))
    return [*tables, *sliced_tables(comparison).values()]


def _joined(tables: Mapping[str, Table], columns: Sequence[str], caption: str) -> Table:
    """The same table of every system as one, with the system in front."""
    rows = [(system, *row) for system, table in tables.items() for row in table.rows]
    records = [record for table in tables.values() for record in table.records]
    return Table(("system", *columns), rows, caption, records)


def system_table(comparison: Comparison) -> Table:
    """Every system's scores, in percent: a row a metric; as records, a row a metric and system. Runs have variants."""
    rows, records = [], []
    of_runs = bool(comparison.stressed)
    for variant, compared in comparison.variants.items():
        for metric in dict.fromkeys(name for scores in compared.systems.values() for name in scores):
            unit = measure_of(metric).unit
            scores = {name: scores.get(metric) for name, scores in compared.systems.items()}
            values = (
                f"{PLAIN.with_unit(s.value, unit)} {PLAIN.measured_interval(s.low, s.high, unit)}" if s else "-"
                for s in scores.values()
            )
            over = " / ".join(dict.fromkeys(PLAIN.number(s.n) for s in scores.values() if s))
            rows.append((*([variant] if of_runs else []), metric, *values, over))
            records += [
                ({"variant": variant} if of_runs else {})
                | {
                    "metric": metric,
                    "system": name,
                    "value": s.value,
                    "low": s.low,
                    "high": s.high,
                    "n": s.n,
                    "unit": unit,
                }
                for name, s in scores.items()
                if s
            ]
    slack = comparison.avg_slack
    rows.append((*([""] if of_runs else []), "avg-slack", *map(PLAIN.percent, slack.values()), ""))
    records += [{"metric": "avg-slack", "system": name, "value": value} for name, value in slack.items()]
    caption = signature_text("signature", comparison.signature)
    return Table(
        (*(["variant"] if of_runs else []), "metric", *(f"#{name}" for name in slack), "#over"), rows, caption, records
    )


def pair_table(comparison: Comparison, number: int) -> Table:
    """The tests of one system against the baseline; of runs, under every variant."""
    rows, records = [], []
    pair, of_runs = comparison.pairs[number], bool(comparison.stressed)
    for variant, compared in comparison.variants.items():
        for metric, test in compared.pairs[number].tests.items():
            unit = measure_of(metric).unit
            rows.append(
                (
                    *([variant] if of_runs else []),
                    describe(metric),
                    PLAIN.measured_change(test.difference, unit),
                    PLAIN.measured_change_interval(test.low, test.high, unit),
                    *(PLAIN.probability(p, at_floor=test.at_floor) for p in (test.p, test.p_holm)),
                    PLAIN.probability(test.p_bootstrap),
                    PLAIN.number(test.dialogues),
                    "yes" if test.significant else "no",
                )
            )
            named = {"system": pair.system, "baseline": pair.baseline, "metric": metric}
            records.append(({"variant": variant} if of_runs else {}) | named | msgspec.structs.asdict(test))
    columns = ("metric", "#difference", "#interval", "#p", "#p (Holm)", "#p (bootstrap)", "#dialogues", "significant")
    caption = f"{pair.system} less {pair.baseline}, in points"
    return Table((*(["variant"] if of_runs else []), *columns), rows, caption, records)


def sliced_tables(comparison: Comparison) -> dict[str, Table]:
    """For each slice the values of all systems side by side."""
    metrics, tables = next(iter(comparison.systems.values())), {}
    for name in next(iter(comparison.slices.values()), {}):
        systems = {system: slices[name] for system, slices in comparison.slices.items()}
        rows, records = [], []
        for key in dict.fromkeys(key for keys in systems.values() for key in keys):
            units = {system: keys.get(key, {}).get(UNITS) for system, keys in systems.items()}
            over = " / ".join(dict.fromkeys(PLAIN.number(n) for n in units.values() if n))
            for metric in metrics:
                values = {system: keys.get(key, {}).get(metric) for system, keys in systems.items()}
                if any(metric in keys.get(key, {}) for keys in systems.values()):
                    shown = (PLAIN.with_unit(value, measure_of(metric).unit) for value in values.values())
                    rows.append((key, metric, *shown, over))
                    records.append({name: key, "metric": metric, **values})
        tables[name] = Table((name, "metric", *(f"#{system}" for system in systems), "#over"), rows, "", records)
    return tables


def slot_change_table(pair: Pair, changes: Sequence[SlotChange] = ()) -> Table:
    """The slots that gained and lost most, or those that are given."""
    gained = [change for change in pair.slots if change.difference > 0][:_SLOTS_SHOWN]
    lost = [change for change in pair.slots if change.difference < 0][-_SLOTS_SHOWN:]
    changes = changes or gained + lost
    rows = [
        (
            change.slot,
            PLAIN.points(change.difference),
            PLAIN.percent(change.baseline),
            PLAIN.percent(change.system),
            f"{change.baseline_right:,} -> {change.system_right:,}",
            f"{change.baseline_errors:,} -> {change.system_errors:,}",
        )
        for change in changes
    ]
    columns = ("slot", "#F1 difference", f"#F1 {pair.baseline}", f"#F1 {pair.system}", "#right", "#errors")
    caption = f"The slots that {pair.system} gained and lost most against {pair.baseline}."
    return Table(columns, rows, caption, [_slot_record(pair, change) for change in changes])


def _slot_record(pair: Pair, change: SlotChange) -> dict[str, object]:
    numbers = msgspec.structs.asdict(change)
    named = {"baseline_f1": numbers.pop("baseline"), "system_f1": numbers.pop("system")}
    return {"system": pair.system, "baseline": pair.baseline} | numbers | named


def verdict_tables(verdict: Verdict) -> dict[str, Table]:
    """Every check of the gate."""
    rows = [
        (
            variant,
            PLAIN.measured(check.old, verdict.unit),
            PLAIN.measured(check.new, verdict.unit),
            PLAIN.measured_change(check.difference, verdict.unit),
            PLAIN.measured_change_interval(check.low, check.high, verdict.unit),
            PLAIN.probability(check.p_holm, at_floor=check.at_floor),
            PLAIN.number(check.dialogues),
            "passed" if check.passed else "FAILED",
        )
        for variant, check in verdict.checks.items()
    ]
    unit, allowed = verdict.unit, verdict.max_drop
    columns = ("variant", f"#old {unit}", f"#new {unit}", "#change", "#interval", "#p (Holm)", "#dialogues", "verdict")
    limit = f"{100 * allowed:g} points" if unit == PERCENT else f"{allowed:g} {unit}"
    rule = f"fails if p <= {verdict.alpha} and worse by over {limit}"
    records = [{"variant": variant} | msgspec.structs.asdict(check) for variant, check in verdict.checks.items()]
    return {"checks": Table(columns, rows, f"{describe(verdict.metric)}; {rule}", records)}
