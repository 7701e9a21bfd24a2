"""Comparisons and the gate's verdict as tables: what the console shows, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from dstress.display import make_tables
from dstress.pipeline.compare import Comparison, Pair, SlotChange
from dstress.pipeline.gate import Verdict
from dstress.reports.many_tables import ranking_table
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.scoring.metrics.base import PERCENT
from dstress.scoring.metrics.measures import describe, measure_of
from dstress.scoring.scorecard import UNITS, signature_text

_SLOTS_SHOWN = 5


@make_tables.register
def comparison_tables(comparison: Comparison) -> dict[str, Table]:
    """The systems' scores, the tests of all pairs, every slot, and the slices by their names."""
    tests = {pair.system: pair_table(comparison, number) for number, pair in enumerate(comparison.pairs)}
    slots = {pair.system: slot_change_table(pair, pair.slots) for pair in comparison.pairs}
    against = f"against {comparison.pairs[0].baseline}"
    of_slots = ("slot", "#F1 difference", "#F1 baseline", "#F1 system", "#right", "#errors")
    return {
        "scores": system_table(comparison),
        "tests": _joined(tests, next(iter(tests.values())).columns, f"{against}, in points"),
        "slots": _joined(slots, of_slots, against),
        **sliced_tables(comparison),
        **_ranked(comparison),
    }


def _ranked(comparison: Comparison) -> dict[str, Table]:
    return {"ranks": ranking_table(comparison.ranking)} if comparison.ranking else {}


def shown_tables(comparison: Comparison) -> list[Table]:
    """What the console shows: scores, for each pair its tests and the slots that differ most, and the slices."""
    tables = [system_table(comparison), *_ranked(comparison).values()]
    for number, pair in enumerate(comparison.pairs):
        tables += [pair_table(comparison, number), *([] if comparison.stressed else [slot_change_table(pair)])]
    return [*tables, *sliced_tables(comparison).values()]


def _joined(tables: Mapping[str, Table], columns: Sequence[str], caption: str) -> Table:
    """The same table of every system as one, with the system in front."""
    rows = [(system, *row) for system, table in tables.items() for row in table.rows]
    records = [record for table in tables.values() for record in table.records]
    return Table(("system", *columns), rows, caption, records)


def _with_variants(comparison: Comparison, table: Table) -> Table:
    """A table of runs; of files, which have one variant alone, without the column of variants."""
    if comparison.stressed:
        return table
    records = [{name: value for name, value in record.items() if name != "variant"} for record in table.records]
    return Table(table.columns[1:], [row[1:] for row in table.rows], table.caption, records)


def system_table(comparison: Comparison) -> Table:
    """Every system's scores, in percent: a row a metric; as records, a row a metric and system. Runs have variants."""
    rows, records = [], []
    for variant, compared in comparison.variants.items():
        for metric in dict.fromkeys(name for scores in compared.systems.values() for name in scores):
            measure = measure_of(metric)
            scores = {name: scores.get(metric) for name, scores in compared.systems.items()}
            over = " / ".join(dict.fromkeys(PLAIN.number(score.n) for score in scores.values() if score))
            rows.append((variant, metric, *(PLAIN.scored(score, measure.unit) for score in scores.values()), over))
            records += [
                {"variant": variant, "metric": metric, "system": name}
                | {"value": score.value, "low": score.low, "high": score.high, "n": score.n, "unit": measure.data_unit}
                for name, score in scores.items()
                if score
            ]
    slack = comparison.avg_slack
    rows.append(("", "avg-slack", *map(PLAIN.percent, slack.values()), ""))
    records += [{"metric": "avg-slack", "system": name, "value": value} for name, value in slack.items()]
    columns = ("variant", "metric", *(f"#{name}" for name in slack), "#over")
    caption = signature_text("signature", comparison.signature)
    return _with_variants(comparison, Table(columns, rows, caption, records))


def pair_table(comparison: Comparison, number: int) -> Table:
    """The tests of one system against the baseline; of runs, under every variant."""
    rows, records = [], []
    pair = comparison.pairs[number]
    for variant, compared in comparison.variants.items():
        for metric, test in compared.pairs[number].tests.items():
            change = PLAIN.change(test, measure_of(metric).unit)
            p, p_holm = map(PLAIN.probability, (test.p, test.p_holm))
            over = PLAIN.number(test.dialogues), PLAIN.differing(test), "yes" if test.significant else "no"
            rows.append((variant, describe(metric), *change, p, p_holm, *over))
            named = {"variant": variant, "system": pair.system, "baseline": pair.baseline, "metric": metric}
            records.append(named | asdict(test))
    tested = ("#difference", "#interval", "#p", "#p (Holm)", "#dialogues", "#differ", "significant")
    caption = f"{pair.system} minus {pair.baseline}, in points; {_say_intervals(comparison.alpha)}"
    return _with_variants(comparison, Table(("variant", "metric", *tested), rows, caption, records))


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
    rows, records = [], []
    for change in changes or gained + lost:
        f1 = PLAIN.points(change.difference), PLAIN.percent(change.baseline), PLAIN.percent(change.system)
        counts = (change.baseline_right, change.system_right), (change.baseline_errors, change.system_errors)
        rows.append((change.slot, *f1, *(f"{before:,} -> {after:,}" for before, after in counts)))
        numbers = asdict(change)
        named = {"baseline_f1": numbers.pop("baseline"), "system_f1": numbers.pop("system")}
        records.append({"system": pair.system, "baseline": pair.baseline} | numbers | named)
    columns = ("slot", "#F1 difference", f"#F1 {pair.baseline}", f"#F1 {pair.system}", "#right", "#errors")
    caption = f"The slots that {pair.system} gained and lost most against {pair.baseline}."
    return Table(columns, rows, caption, records)


def _say_intervals(alpha: float) -> str:
    """Which intervals a table has: a p-value that is corrected may be above alpha beside one that leaves 0 out."""
    return f"{100 * (1 - alpha):g} % intervals, before Holm's correction"


def say_size(drop: float, unit: str) -> str:
    """How much is lost: points of percent, or in the metric's unit."""
    number = f"{100 * drop if unit == PERCENT else drop:.3g}"
    return f"{number} point{'s' if number != '1' else ''}" if unit == PERCENT else f"{number} {unit}"


@make_tables.register
def verdict_tables(verdict: Verdict) -> dict[str, Table]:
    """Every check of the gate."""
    unit, rows = measure_of(verdict.metric).unit, []
    for variant, check in verdict.checks.items():
        old, new, largest = (PLAIN.measured(value, unit) for value in (check.old, check.new, check.largest_drop))
        over = PLAIN.number(check.dialogues), PLAIN.differing(check), "passed" if check.passed else "FAILED"
        rows.append((variant, old, new, *PLAIN.change(check, unit), largest, PLAIN.probability(check.p_holm), *over))
    values = (f"#old {unit}", f"#new {unit}", "#change", "#interval", "#largest drop")
    columns = ("variant", *values, "#p (Holm)", "#dialogues", "#differ", "verdict")
    allowed = say_size(verdict.max_drop, unit)
    rule = f"{describe(verdict.metric)}; fails if p (Holm) <= {verdict.alpha} and worse by over {allowed}"
    if verdict.non_inferior is not None:
        rule += f", or where a drop of {say_size(verdict.non_inferior, unit)} is not ruled out"
    records = [{"variant": variant} | asdict(check) for variant, check in verdict.checks.items()]
    return {"checks": Table(columns, rows, f"{rule}; {_say_intervals(verdict.alpha)}", records)}
