"""`dstress run`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dstress.cli.names import CONVENTION, CORPUS, ENGINE, STRESSOR, SUITE, TRACKER
from dstress.cli.options import (
    FOLDER,
    FiniteRange,
    argument,
    draw_option,
    limit_option,
    max_failed_option,
    meanings_option,
    option,
    seed_option,
    verb,
)
from dstress.cli.output import OutputFiles, console, table_options
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
from dstress.runs.suites import Suite
from dstress.spec import parse, parse_list
from dstress.trackers import trackers


@verb("run")
@click.pass_context
def command(
    context: click.Context,
    suite: str | None = argument(type=SUITE, required=False),
    tracker: str | None = option(
        type=TRACKER, metavar="SPEC", help="gold, rules, saved(PATH), module:Class, http(url=...), llm(...) ..."
    ),
    checkpoints: Path | None = option(
        metavar="DIR",
        type=FOLDER,
        help="run the suite on every checkpoint saved in training folder DIR, each in a folder in --out",
    ),
    corpus: str | None = option(type=CORPUS, metavar="CORPUS[:SPLIT]", help="test data, such as multiwoz21:test"),
    tools: str | None = option(
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="tools that agents may call instead of the corpus's own: MCP's tools/list or OpenAI's tools",
    ),
    out: Path | None = option(metavar="DIR", type=FOLDER, help="the run folder; default: runs/SUITE"),
    resume: bool = option(is_flag=True, help="resume the run in --out; retry failed turns"),
    only: str | None = option(type=STRESSOR, metavar="SPEC[,SPEC]", help="run only these stressors of the suite"),
    limit: int = limit_option,
    draw: int = draw_option,
    seed: int = seed_option(),
    repeats: int = option(
        type=click.IntRange(1), default=1, metavar="N", help="predict every turn N times to measure noise"
    ),
    convention: str = option(type=CONVENTION, default="", help="what counts as correct; default: the suite's"),
    workers: int = option(type=click.IntRange(1, 1024), default=1, help="worker processes"),
    timeout: float | None = option(
        type=FiniteRange(0, 10**6, min_open=True),
        metavar="SECONDS",
        help="time limit for a turn; a slower one counts as failed",
    ),
    max_failed: float = max_failed_option(100.0),
    meanings: bool = meanings_option,
    yes: bool = option(is_flag=True, help="skip the cost estimate and confirmation of a priced tracker"),
    engine: str = option(type=ENGINE, default="local", help="local, ray, or ray(address=...)"),
    files: OutputFiles = table_options,
) -> None:
    """Run a SUITE: stress a corpus, run a tracker on it, score its predictions and write a report.

    SUITE is quick, full, checkdst, coco, coco-ablation, raddle, sgd-x, gca, tools, or your own TOML file. To continue
    an interrupted run, repeat the command with --resume.

    \b
    Examples
      dstress run quick --tracker rules --corpus reminder:test
      dstress run checkdst --tracker my_package:MyTracker --corpus multiwoz21:test --out runs/mine --workers 4
      dstress run --resume --out runs/mine
      dstress run checkdst --checkpoints trained --corpus multiwoz21:test --out runs/along
    """
    answers: dict[str, Any] = {"max_failed": max_failed / 100, "confirmed": yes, "meanings": meanings}
    of_suite: str | Suite = suite or ""
    if suite and (tracker or checkpoints) and corpus:
        # The report repeats, of the options that change no answer, those that were written.
        also: list[str] = []
        for name in ("workers", "timeout", "max_failed", "engine", "meanings"):
            if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
                value = context.params[name]
                written = f"{value:g}" if isinstance(value, float) else str(value)
                also += [f"--{name.replace('_', '-')}", *([] if value is True else [written])]
        names = tuple(parse_list(only)) if only else ()
        answers |= {"also": tuple(also), "tools": tools or ""}
        options = RunOptions(seed, limit, names, convention, resume, draw=draw, repeats=repeats, **answers)
    elif resume and not checkpoints:
        if not out:
            raise DstressError("which run is to go on?", fix="give its folder with --out")
        # As its manifest describes it; the tracker and the corpus may be named anew.
        begun = RunFolder.open(out).manifest
        of_suite, tracker, corpus = begun.suite, tracker or begun.tracker, corpus or begun.corpus
        options = RunOptions(
            begun.seed,
            begun.limit,
            convention=begun.convention,
            resume=True,
            draw=begun.draw,
            repeats=begun.repeats,
            tools=begun.tools,
            **answers,
        )
    else:
        missing = "SUITE" if not suite else "--corpus" if tracker or checkpoints else "--tracker"
        raise click.UsageError(f"{missing} is missing; try `dstress run quick --tracker rules --corpus reminder:test`")
    spec = parse(engine)
    if spec.name == "local":
        # A class of somebody's own may end its process, which then must not be ours.
        workforce: Engine = Local(workers, timeout, isolated=bool(tracker and trackers.origin(tracker)))
    elif workers > 1 or timeout is not None:
        raise click.UsageError(f"--workers and --timeout are of the local engine; write {spec.name}(workers=4)")
    else:
        workforce = engines.create(spec)
    folder = out or Path("runs") / Path(suite or "").stem
    if checkpoints:
        with counting() as on_progress:
            each = checkpoint_trackers(checkpoints, tracker or "")
            options = options._replace(on_progress=on_progress)
            runs = evaluate_checkpoints(of_suite, each, corpus, folder, options, workforce)
        _show_checkpoints(runs, folder, files)
    else:
        run = _evaluate(of_suite, tracker or "", corpus, folder, options, workforce)
        scores = run.scores
        if files.show(scores, run_tables(run.manifest, scores), data=run.tables, notes=scores.notes):
            console().print(f"Results: {run.path}\nReport: {run.path / REPORT}", markup=False)


def _evaluate(suite: str | Suite, tracker: str, corpus: str, folder: Path, options: RunOptions, engine: Engine) -> Run:
    """Do the run; a person at a terminal is asked about what it costs, once no progress is drawn there."""
    try:
        with counting() as on_progress:
            return evaluate(suite, tracker, corpus, folder, options, engine, on_progress=on_progress)
    except UnconfirmedCost as cost:
        if not sys.stdin.isatty() or not click.confirm(f"{cost.estimate}. Go on?", err=True):
            raise
    return _evaluate(suite, tracker, corpus, folder, options._replace(confirmed=True, resume=True), engine)


def _show_checkpoints(runs: Sequence[Run], folder: Path, files: OutputFiles) -> None:
    table = curve_table(runs)
    if not files.show({run.path.name: run.scores for run in runs}, [table]):
        return
    forgotten = len((folder / FORGOTTEN).read_bytes().splitlines())
    console().print(
        f"{forgotten:,} turns were right at an earlier checkpoint and are wrong at the last: {folder / FORGOTTEN}\n"
        f"a run for each checkpoint is in {folder}; look at {folder / REPORT}",
        markup=False,
    )
