"""`dstress run`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import click

from dstress.cli.output import OutputFiles, console, json_option, print_notes, print_table, table_options
from dstress.cli.progress import counting
from dstress.engines import Local, engines
from dstress.errors import DstressError
from dstress.metrics.measures import measure_of
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.reports.html import REPORT
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.runs.folder import Manifest, RunFolder, Scores
from dstress.spec import parse, parse_list
from dstress.suites import Suite


@click.command("run")
@click.argument("suite", required=False)
@click.option("--tracker", metavar="SPEC", help="gold, rules, saved(PATH), module:Class, http(url=...), llm(...) ...")
@click.option("--corpus", metavar="CORPUS[:SPLIT]", help="what to track, such as multiwoz21:test")
@click.option(
    "--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="the run folder; default: runs/SUITE"
)
@click.option("--resume", is_flag=True, help="go on with the run in --out; ask again where answers failed")
@click.option("--only", metavar="SPEC[,SPEC]", help="only these of the suite's stressors")
@click.option("--limit", type=click.IntRange(0), default=0, metavar="N", help="only the first N dialogues")
@click.option("--draw", type=click.IntRange(0), default=0, metavar="N", help="only N dialogues, drawn by the seed")
@click.option("--seed", default=1, show_default=True, help="seed of all randomness")
@click.option("--convention", default="", help="what counts as correct; default: what the suite says")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="worker processes")
@click.option("--timeout", type=float, metavar="SECONDS", help="give up on a turn that takes longer, and say so")
@click.option("--max-failed", default=100.0, show_default=True, help="percent of turns that may have no answer")
@click.option("--engine", default="local", show_default=True, help="local, ray, or ray(address=...)")
@table_options
@json_option
def command(
    suite: str | None,
    tracker: str | None,
    corpus: str | None,
    out: Path | None,
    resume: bool,
    only: str | None,
    limit: int,
    draw: int,
    seed: int,
    convention: str,
    workers: int,
    timeout: float | None,
    max_failed: float,
    engine: str,
    markdown_file: str | None,
    latex_file: str | None,
    json_file: str | None,
) -> None:
    """Run a SUITE: stress a corpus, let a tracker answer, score, report.

    SUITE is quick, full, checkdst, coco, raddle, sgd-x, gca, or a TOML file of your own. Whatever happens to a run, the
    same command with --resume goes on where it stopped.

    \b
    Examples
      dstress run quick --tracker rules --corpus reminder:test
      dstress run checkdst --tracker my_package:MyTracker --corpus multiwoz21:test --out runs/mine --workers 4
      dstress run --resume --out runs/mine
    """
    if suite and tracker and corpus:
        names = tuple(parse_list(only)) if only else ()
        also = ["--workers", str(workers)] if workers > 1 else []
        also += ["--timeout", str(timeout)] if timeout else []
        also += ["--max-failed", f"{max_failed:g}"] if max_failed < 100 else []
        also += ["--engine", engine] if engine != "local" else []
        options = RunOptions(seed, limit, names, convention, resume, draw=draw, also=tuple(also))
        order = _Order(suite, tracker, corpus, options)
    elif resume:
        order = _continued(out, tracker, corpus)
    else:
        missing = "SUITE" if not suite else "--corpus" if tracker else "--tracker"
        raise click.UsageError(f"{missing} is missing; try `dstress run quick --tracker rules --corpus reminder:test`")
    engine_spec = parse(engine)
    workforce = Local(workers, timeout) if engine_spec.name == "local" else engines.create(engine_spec)
    folder = out or Path("runs") / Path(suite or "").stem
    with counting("done") as on_progress:
        options = order.options._replace(on_progress=on_progress, max_failed=max_failed / 100)
        run = evaluate(order.suite, order.tracker, order.corpus, folder, options, workforce)
    scores = run.scores
    tables = run_tables(run.manifest, scores)
    if OutputFiles(json_file, markdown_file, latex_file).write(scores, tables):
        return
    for table in tables:
        print_table(table)
    print_notes(scores.notes)
    console().print(f"all of it is in {run.path}; look at {run.path / REPORT}", markup=False)


class _Order(NamedTuple):
    """What to run, and how."""

    suite: str | Suite
    tracker: str
    corpus: str
    options: RunOptions


def _continued(out: Path | None, tracker: str | None, corpus: str | None) -> _Order:
    """The run in `out`, as its manifest describes it; the tracker and the corpus may be named anew."""
    if not out:
        raise DstressError("which run is to go on?", fix="give its folder with --out")
    begun = RunFolder.open(out).manifest
    options = RunOptions(begun.seed, begun.limit, convention=begun.convention, resume=True, draw=begun.draw)
    return _Order(begun.suite, tracker or begun.tracker, corpus or begun.corpus, options)


def run_tables(manifest: Manifest, scores: Scores) -> list[Table]:
    """The suite's own table, and what each stressor costs."""
    cells = []
    for cell in scores.table:
        score, unit = cell.score, measure_of(cell.metric).unit
        shown = ("-", cell.missing, "")
        if score:
            ends = PLAIN.measured_interval(score.low, score.high, unit)
            shown = (PLAIN.measured(score.value, unit), ends, PLAIN.number(score.n))
        cells.append((cell.column, *shown))
    title = f"{manifest.suite.title}: {manifest.tracker} on {manifest.tracked}"
    headline = Table(("measure", "#%", "#95 % interval", "#over"), cells, title)
    if not scores.drops:
        return [headline]
    drops = [
        (
            variant,
            PLAIN.percent(drop.stressed),
            PLAIN.points(drop.difference),
            PLAIN.change_interval(drop.low, drop.high),
            PLAIN.probability(drop.p_holm, at_floor=drop.at_floor),
            PLAIN.number(drop.dialogues or math.nan),
        )
        for variant, drop in scores.drops.items()
    ]
    columns = ("stressor", "#jga %", "#change", "#95 % interval", "#p (Holm)", "#dialogues")
    return [headline, Table(columns, drops, f"change in points of jga on {manifest.tracked}")]
