"""`dstress gate`."""

from __future__ import annotations

import math
from pathlib import Path

from dstress.cli.names import METRIC
from dstress.cli.options import FOLDER, FiniteRange, argument, max_failed_option, option, verb
from dstress.cli.output import OutputFiles, console, print_table, table_options
from dstress.cli.progress import waiting
from dstress.pipeline.gate import Limits, gate
from dstress.pipeline.tables import say_size, verdict_tables
from dstress.runs.folder import RunFolder
from dstress.scoring.metrics.base import PERCENT
from dstress.scoring.metrics.measures import measure_of


@verb("gate")
def command(
    new: Path = argument(type=FOLDER),
    old: Path = option("--against", required=True, type=FOLDER, help="the last run"),
    max_drop: float = option(
        type=FiniteRange(0), default=1.0, help="largest drop allowed, in points or the metric's unit"
    ),
    non_inferior: float | None = option(
        type=FiniteRange(0, min_open=True),
        default=None,
        metavar="POINTS",
        help="pass only if the data rule out a drop of this size",
    ),
    alpha: float = option(
        type=FiniteRange(0, 1, min_open=True, max_open=True),
        default=0.05,
        help="probability of failing a release by chance",
    ),
    metric: str = option(
        type=METRIC, default="jga", help="any metric, also cjga, newly-wrong, ss(jga), diff-rel, jga-v1-5"
    ),
    max_failed: float = max_failed_option(10.0),
    files: OutputFiles = table_options,
) -> int:
    """Fail (exit code 1) if the run NEW is significantly less robust than the last one.

    Both runs must use the same data and convention. Each stressor is tested, paired by dialogue, with Holm's correction
    over all stressors. A stressor fails if it is significantly worse, and by more than --max-drop points. A passing
    release may still be worse: the table shows the largest drop that the data do not rule out. With --non-inferior, a
    release passes only if this drop is below the given number of points under every stressor.

    \b
    Examples
      dstress gate runs/new --against runs/released
      dstress gate runs/new --against runs/released --max-drop 0.5 --alpha 0.01 --json verdict.json
      dstress gate runs/new --against runs/released --non-inferior 2
    """
    scale = 100 if measure_of(metric).unit == PERCENT else 1
    with waiting("comparing"):
        margin = None if non_inferior is None else non_inferior / scale
        limits = Limits(max_drop / scale, alpha, metric, max_failed / 100, margin)
        verdict = gate(RunFolder.open(new), RunFolder.open(old), limits)
    table = verdict_tables(verdict)["checks"]
    if not files.write(verdict, [table]):
        print_table(table)
        for variant in verdict.left_out:
            console().print(f"not compared, only one run has it: {variant}", markup=False)
        for note in verdict.missing:
            console().print(f"not compared: {note}", markup=False)
        console().print("[green]passed[/green]" if verdict.passed else "[red]failed[/red]")
        variant, drop = verdict.largest_drop
        largest = (
            "a drop of any size" if math.isnan(drop) else f"a drop of up to {say_size(drop, measure_of(metric).unit)}"
        )
        console().print(f"not ruled out by these data: {largest} ({variant})", markup=False)
    return 0 if verdict.passed else 1
