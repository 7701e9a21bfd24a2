"""`dstress gate`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.output import (
    FiniteRange,
    OutputFiles,
    console,
    json_option,
    max_failed_option,
    print_table,
    table_options,
)
from dstress.cli.progress import waiting
from dstress.metrics.base import PERCENT
from dstress.metrics.measures import measure_of
from dstress.pipeline.gate import Limits, gate
from dstress.pipeline.tables import verdict_tables
from dstress.runs.folder import RunFolder

_RUN = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("gate")
@click.argument("new", type=_RUN)
@click.option("--against", "old", required=True, type=_RUN, help="the last run")
@click.option(
    "--max-drop",
    type=FiniteRange(0),
    default=1.0,
    show_default=True,
    help="points, or the metric's own unit, that may be lost",
)
@click.option(
    "--alpha",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="how often chance alone may fail a release",
)
@click.option(
    "--metric", default="jga", show_default=True, help="any: also cjga, newly-wrong, ss(jga), diff-rel, jga-v1-5"
)
@max_failed_option(10.0)
@table_options
@json_option
def command(
    new: Path,
    old: Path,
    max_drop: float,
    alpha: float,
    metric: str,
    max_failed: float,
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> int:
    """Fail (exit code 1) where the run NEW is significantly less robust than the last.

    Both runs must be over the same data and under the same convention. Each stressor is tested pairwise by dialogue;
    Holm's correction is over all of them. A stressor fails if it is significantly worse and by more than --max-drop
    points.

    \b
    Examples
      dstress gate runs/new --against runs/released
      dstress gate runs/new --against runs/released --max-drop 0.5 --alpha 0.01 --json verdict.json
    """
    allowed = max_drop / 100 if measure_of(metric).unit == PERCENT else max_drop
    with waiting("comparing"):
        limits = Limits(allowed, alpha, metric, max_failed=max_failed / 100)
        verdict = gate(RunFolder.open(new), RunFolder.open(old), limits)
    table = verdict_tables(verdict)["checks"]
    if not OutputFiles(json_file, markdown_file, latex_file, csv_file).write(verdict, [table]):
        print_table(table)
        for variant in verdict.left_out:
            console().print(f"not compared, only one run has it: {variant}", markup=False)
        for note in verdict.missing:
            console().print(f"not compared: {note}", markup=False)
        console().print("[green]passed[/green]" if verdict.passed else "[red]failed[/red]")
    return 0 if verdict.passed else 1
