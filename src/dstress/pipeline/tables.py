"""Comparisons and the gate's verdict as tables: what the console shows, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from dstress.metrics.base import PERCENT
from dstress.metrics.measures import measure_of
from dstress.pipeline.compare import Comparison, Pair, SlotChange
from dstress.pipeline.gate import Verdict
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.scoring.scorecard import signature_text

_SLOTS_SHOWN = 5
_TEST_COLUMNS = ("metric", "#difference", "#interval", "#p", "#p (Holm)", "#p (bootstrap)", "significant")


def comparison_tables(comparison: Comparison) -> dict[str, Table]:
    """The systems' scores, the tests of all pairs, and every slot."""
    tests = {pair.system: pair_table(pair) for pair in comparison.pairs}
    slots = {pair.system: slot_change_table(pair, pair.slots) for pair in comparison.pairs}
    against = f"against {comparison.pairs[0].baseline}"
    return {
        "scores": system_table(comparison),
        "tests": _joined(tests, _TEST_COLUMNS, f"{against}, in points"),
        "slots": _joined(slots, ("slot", "#F1 difference", "#F1 baseline", "#F1 system", "#right", "#errors"), against),
    }


def _joined(tables: Mapping[str, Table], columns: Sequence[str], caption: str) -> Table:
    """The same table of every system as one, with the system in front."""
    rows = [(system, *row) for system, table in tables.items() for row in table.rows]
    records = [record for table in tables.values() for record in table.records]
    return Table(("system", *columns), rows, caption, records)


def system_table(comparison: Comparison) -> Table:
    """Every system's scores, in percent: a row a metric; as records, a row a metric and system."""
    systems = comparison.systems
    rows, records = [], []
    for metric in next(iter(systems.values())):
        unit = measure_of(metric).unit
        scores = {name: metrics[metric] for name, metrics in systems.items()}
        show = partial(PLAIN.measured, unit=unit)
        rows.append((metric, *(f"{show(s.value)} [{show(s.low)}, {show(s.high)}]" for s in scores.values())))
        records += [
            {"metric": metric, "system": name, "value": s.value, "low": s.low, "high": s.high, "n": s.n, "unit": unit}
            for name, s in scores.items()
        ]
    rows.append(("avg-slack", *(PLAIN.percent(comparison.avg_slack[name]) for name in systems)))
    records += [{"metric": "avg-slack", "system": name, "value": slack} for name, slack in comparison.avg_slack.items()]
    caption = signature_text("signature", comparison.signature)
    return Table(("metric", *(f"#{name}" for name in systems)), rows, caption, records)


def pair_table(pair: Pair) -> Table:
    """The tests of a system against the baseline."""
    rows = [
        (
            metric,
            (show := partial(PLAIN.measured_change, unit=measure_of(metric).unit))(test.difference),
            f"[{show(test.low)}, {show(test.high)}]",
            *(PLAIN.probability(p, at_floor=test.at_floor) for p in (test.p, test.p_holm)),
            PLAIN.probability(test.p_bootstrap),
            "yes" if test.significant else "no",
        )
        for metric, test in pair.tests.items()
    ]
    records = [
        {"system": pair.system, "baseline": pair.baseline, "metric": metric} | msgspec.structs.asdict(test)
        for metric, test in pair.tests.items()
    ]
    return Table(_TEST_COLUMNS, rows, f"{pair.system} less {pair.baseline}, in points", records)


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
            "passed" if check.passed else "FAILED",
        )
        for variant, check in verdict.checks.items()
    ]
    unit, allowed = verdict.unit, verdict.max_drop
    columns = ("variant", f"#old {unit}", f"#new {unit}", "#change", "#interval", "#p (Holm)", "verdict")
    limit = f"{100 * allowed:g} points" if unit == PERCENT else f"{allowed:g} {unit}"
    rule = f"fails if p <= {verdict.alpha} and worse by over {limit}"
    records = [{"variant": variant} | msgspec.structs.asdict(check) for variant, check in verdict.checks.items()]
    return {"checks": Table(columns, rows, f"{verdict.metric}; {rule}", records)}
