"""`dstress gate`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.output import console, json_option, print_table, write_json
from dstress.cli.progress import waiting
from dstress.metrics.base import PERCENT
from dstress.metrics.measures import measure_of
from dstress.pipeline.gate import Limits, Verdict, gate
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.runs.folder import RunFolder

_RUN = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("gate")
@click.argument("new", type=_RUN)
@click.option("--against", "old", required=True, type=_RUN, help="the last run")
@click.option("--max-drop", default=1.0, show_default=True, help="points, or the metric's own unit, that may be lost")
@click.option("--alpha", default=0.05, show_default=True, help="how often chance alone may fail a release")
@click.option(
    "--metric", default="jga", show_default=True, help="the metric to compare: also cjga, newly-wrong, ss(jga)"
)
@click.option("--max-failed", default=10.0, show_default=True, help="percent of turns that may have no answer")
@json_option
def command(
    new: Path, old: Path, max_drop: float, alpha: float, metric: str, max_failed: float, json_file: str | None
) -> int:
    """Fail (exit code 1) where the run NEW is significantly less robust than the last.

    Both runs must be over the same corpus and stressors. Each stressor is tested pairwise by dialogue; Holm's
    correction is over all of them. A stressor fails if it is significantly worse and by more than --max-drop points.

    \b
    Examples
      dstress gate runs/new --against runs/released
      dstress gate runs/new --against runs/released --max-drop 0.5 --alpha 0.01 --json verdict.json
    """
    allowed = max_drop / 100 if measure_of(metric).unit == PERCENT else max_drop
    with waiting("comparing"):
        limits = Limits(allowed, alpha, metric, max_failed=max_failed / 100)
        verdict = gate(RunFolder.open(new), RunFolder.open(old), limits)
    if json_file:
        write_json(verdict, json_file)
    else:
        print_table(_table(verdict))
        for variant in verdict.left_out:
            console().print(f"not compared, only one run has it: {variant}", markup=False)
        console().print("[green]passed[/green]" if verdict.passed else "[red]failed[/red]")
    return 0 if verdict.passed else 1


def _table(verdict: Verdict) -> Table:
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
    return Table(columns, rows, f"{verdict.metric}; {rule}")
