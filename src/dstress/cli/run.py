"""`dstress run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import click

from dstress.cli.output import (
    COUNTS,
    SEEDS,
    FiniteRange,
    OutputFiles,
    console,
    json_option,
    max_failed_option,
    print_notes,
    print_table,
    table_options,
)
from dstress.cli.progress import counting
from dstress.engines import Engine, Local, engines
from dstress.errors import DstressError
from dstress.pipeline.checkpoints import FORGOTTEN, checkpoint_trackers, evaluate_checkpoints
from dstress.pipeline.estimate import UnconfirmedCost
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import Run, RunOptions
from dstress.reports.curves import curve_table
from dstress.reports.html import REPORT
from dstress.reports.score_tables import run_tables
from dstress.runs.folder import RunFolder
from dstress.spec import parse, parse_list
from dstress.suites import Suite
from dstress.trackers import trackers


@click.command("run")
@click.argument("suite", required=False)
@click.option("--tracker", metavar="SPEC", help="gold, rules, saved(PATH), module:Class, http(url=...), llm(...) ...")
@click.option(
    "--checkpoints",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="run at every checkpoint that the training in DIR kept, each into its own folder in --out",
)
@click.option("--corpus", metavar="CORPUS[:SPLIT]", help="what to track, such as multiwoz21:test")
@click.option(
    "--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="the run folder; default: runs/SUITE"
)
@click.option("--resume", is_flag=True, help="go on with the run in --out; ask again where answers failed")
@click.option("--only", metavar="SPEC[,SPEC]", help="only these of the suite's stressors")
@click.option("--limit", type=COUNTS, default=0, metavar="N", help="only the first N dialogues")
@click.option("--draw", type=COUNTS, default=0, metavar="N", help="only N dialogues, drawn by the seed")
@click.option("--seed", type=SEEDS, default=1, show_default=True, help="seed of all randomness")
@click.option(
    "--repeats", type=click.IntRange(1), default=1, metavar="N", help="ask every turn N times; show the noise"
)
@click.option("--convention", default="", help="what counts as correct; default: what the suite says")
@click.option("--workers", type=click.IntRange(1, 1024), default=1, show_default=True, help="worker processes")
@click.option(
    "--timeout",
    type=FiniteRange(0, 10**6, min_open=True),
    metavar="SECONDS",
    help="give up on a turn that takes longer, and say so",
)
@max_failed_option(100.0)
@click.option("--meanings", is_flag=True, help="compare what rephrased turns mean, with an encoder (extra `encoder`)")
@click.option("--yes", is_flag=True, help="spend what a priced tracker costs, without an estimate and a question")
@click.option("--engine", default="local", show_default=True, help="local, ray, or ray(address=...)")
@table_options
@json_option
def command(
    suite: str | None,
    tracker: str | None,
    checkpoints: Path | None,
    corpus: str | None,
    out: Path | None,
    resume: bool,
    only: str | None,
    limit: int,
    draw: int,
    seed: int,
    repeats: int,
    convention: str,
    workers: int,
    timeout: float | None,
    max_failed: float,
    meanings: bool,
    yes: bool,
    engine: str,
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> None:
    """Run a SUITE: stress a corpus, let a tracker answer, score, report.

    SUITE is quick, full, checkdst, coco, coco-ablation, raddle, sgd-x, gca, or a TOML file of your own. Whatever
    happens to a run, the same command with --resume goes on where it stopped.

    \b
    Examples
      dstress run quick --tracker rules --corpus reminder:test
      dstress run checkdst --tracker my_package:MyTracker --corpus multiwoz21:test --out runs/mine --workers 4
      dstress run --resume --out runs/mine
      dstress run checkdst --checkpoints trained --corpus multiwoz21:test --out runs/along
    """
    if suite and (tracker or checkpoints) and corpus:
        names = tuple(parse_list(only)) if only else ()
        also = ["--workers", str(workers)] if workers > 1 else []
        also += ["--timeout", str(timeout)] if timeout else []
        also += ["--max-failed", f"{max_failed:g}"] if max_failed < 100 else []
        also += ["--engine", engine] if engine != "local" else []
        also += ["--meanings"] if meanings else []
        options = RunOptions(seed, limit, names, convention, resume, draw=draw, also=tuple(also), repeats=repeats)
        order = _Order(suite, tracker or "", corpus, options)
    elif resume and not checkpoints:
        order = _continued(out, tracker, corpus)
    else:
        missing = "SUITE" if not suite else "--corpus" if tracker or checkpoints else "--tracker"
        raise click.UsageError(f"{missing} is missing; try `dstress run quick --tracker rules --corpus reminder:test`")
    workforce = _workforce(engine, workers, timeout, order.tracker)
    folder = out or Path("runs") / Path(suite or "").stem
    options = order.options._replace(max_failed=max_failed / 100, confirmed=yes, meanings=meanings)
    order, files = order._replace(options=options), OutputFiles(json_file, markdown_file, latex_file, csv_file)
    if checkpoints:
        _run_checkpoints(order, checkpoints, folder, workforce, files)
    else:
        _show(_evaluate(order, folder, workforce), files)


def _show(run: Run, files: OutputFiles) -> None:
    scores = run.scores
    tables = run_tables(run.manifest, scores)
    if files.write(scores, tables, data=run.tables):
        return
    for table in tables:
        print_table(table)
    print_notes(scores.notes)
    console().print(f"all of it is in {run.path}; look at {run.path / REPORT}", markup=False)


def _workforce(engine: str, workers: int, timeout: float | None, tracker: str) -> Engine:
    """Who does the work. A class of somebody's own may end its process, which then must not be ours."""
    spec = parse(engine)
    if spec.name == "local":
        return Local(workers, timeout, isolated=bool(tracker and trackers.origin(tracker)))
    if workers > 1 or timeout is not None:
        raise click.UsageError(f"--workers and --timeout are of the local engine; write {spec.name}(workers=4)")
    return engines.create(spec)


class _Order(NamedTuple):
    """What to run, and how."""

    suite: str | Suite
    tracker: str
    corpus: str
    options: RunOptions


def _evaluate(order: _Order, folder: Path, engine: Engine) -> Run:
    """Do what was ordered; a person at a terminal is asked about what it costs, once no progress is drawn there."""
    try:
        with counting() as on_progress:
            options = order.options._replace(on_progress=on_progress)
            return evaluate(order.suite, order.tracker, order.corpus, folder, options, engine)
    except UnconfirmedCost as cost:
        if not sys.stdin.isatty() or not click.confirm(f"{cost.estimate}. Go on?", err=True):
            raise
    return _evaluate(order._replace(options=order.options._replace(confirmed=True, resume=True)), folder, engine)


def _run_checkpoints(order: _Order, training: Path, folder: Path, engine: Engine, files: OutputFiles) -> None:
    with counting() as on_progress:
        options = order.options._replace(on_progress=on_progress)
        trackers = checkpoint_trackers(training, order.tracker)
        runs = evaluate_checkpoints(order.suite, trackers, order.corpus, folder, options, engine)
    table = curve_table(runs)
    if files.write({run.path.name: run.scores for run in runs}, [table]):
        return
    print_table(table)
    forgotten = len((folder / FORGOTTEN).read_bytes().splitlines())
    console().print(
        f"{forgotten:,} turns were right at an earlier checkpoint and are wrong at the last: {folder / FORGOTTEN}\n"
        f"a run for each checkpoint is in {folder}; look at {folder / REPORT}",
        markup=False,
    )


def _continued(out: Path | None, tracker: str | None, corpus: str | None) -> _Order:
    """The run in `out`, as its manifest describes it; the tracker and the corpus may be named anew."""
    if not out:
        raise DstressError("which run is to go on?", fix="give its folder with --out")
    begun = RunFolder.open(out).manifest
    options = RunOptions(
        begun.seed, begun.limit, convention=begun.convention, resume=True, draw=begun.draw, repeats=begun.repeats
    )
    return _Order(begun.suite, tracker or begun.tracker, corpus or begun.corpus, options)
