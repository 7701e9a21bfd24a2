"""`dstress run`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import click

from dstress.cli.output import console, json_option, print_notes, print_table, table_options, write_json, write_tables
from dstress.cli.progress import counting
from dstress.cli.score import percent
from dstress.engines import Engine, Local, engines
from dstress.errors import DstressError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.reports.html import REPORT
from dstress.reports.tables import Table
from dstress.runs.folder import Cell, RunFolder, Scores
from dstress.spec import parse, parse_list
from dstress.suites import Suite


@click.command("run")
@click.argument("suite", required=False)
@click.option("--tracker", metavar="SPEC", help="gold, rules, saved(PATH), module:Class, http(url=...), llm(...) ...")
@click.option("--corpus", metavar="CORPUS[:SPLIT]", help="what to track, such as multiwoz21:test")
@click.option("--out", metavar="DIR", type=click.Path(file_okay=False), help="the run folder; default: runs/SUITE")
@click.option("--resume", is_flag=True, help="go on with the run in --out; ask again where answers failed")
@click.option("--only", metavar="SPEC[,SPEC]", help="only these of the suite's stressors")
@click.option("--limit", type=click.IntRange(0), default=0, metavar="N", help="only the first N dialogues")
@click.option("--seed", default=1, show_default=True, help="seed of all randomness")
@click.option("--convention", default="", help="what counts as correct; default: what the suite says")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="worker processes")
@click.option("--timeout", type=float, metavar="SECONDS", help="give up on a turn that takes longer, and say so")
@click.option("--engine", default="local", show_default=True, help="local, ray, or ray(address=...)")
@table_options
@json_option
def command(suite: str | None, tracker: str | None, corpus: str | None, **given: Any) -> None:
    """Run a SUITE: stress a corpus, let a tracker answer, score, report.

    SUITE is quick, full, checkdst, coco, raddle, sgd-x, gca, or a TOML file of your own. Whatever happens to a run, the
    same command with --resume goes on where it stopped.

    \b
    Examples
      dstress run quick --tracker rules --corpus reminder:test
      dstress run checkdst --tracker my_package:MyTracker --corpus multiwoz21:test --out runs/mine --workers 4
      dstress run --resume --out runs/mine
    """
    asked = _asked(suite, tracker, corpus, given)
    with counting("done") as on_progress:
        options = RunOptions(
            asked.seed, asked.limit, asked.only, asked.convention, given["resume"], on_progress=on_progress
        )
        run = evaluate(asked.suite, asked.tracker, asked.corpus, asked.out, options, _engine(given))
    scores = run.scores
    if given["json_file"]:
        write_json(scores, given["json_file"])
    if write_tables(tables(run, scores), given["markdown"], given["latex"]) or given["json_file"]:
        return
    for table in tables(run, scores):
        print_table(table)
    print_notes(scores.notes)
    console().print(f"all of it is in {run.path}; look at {run.path / REPORT}", markup=False)


class _Asked(NamedTuple):
    """A run as the command line, or the manifest of a run that goes on, describes it."""

    suite: str | Suite
    tracker: str
    corpus: str
    out: Path
    seed: int
    limit: int
    only: tuple[str, ...]
    convention: str


def _asked(suite: str | None, tracker: str | None, corpus: str | None, given: dict[str, Any]) -> _Asked:
    out = Path(given["out"] or Path("runs") / Path(suite or "").stem)
    if given["resume"] and not (suite and tracker and corpus):
        if not given["out"]:
            raise DstressError("which run is to go on?", fix="give its folder with --out")
        told = RunFolder.open(out).manifest
        return _Asked(
            told.suite, tracker or told.tracker, corpus or told.corpus, out, told.seed, told.limit, (), told.convention
        )
    for name, value in (("SUITE", suite), ("--tracker", tracker), ("--corpus", corpus)):
        if not value:
            raise click.UsageError(f"{name} is missing; try `dstress run quick --tracker rules --corpus reminder:test`")
    only = tuple(parse_list(given["only"])) if given["only"] else ()
    return _Asked(
        suite or "", tracker or "", corpus or "", out, given["seed"], given["limit"], only, given["convention"]
    )


def _engine(given: dict[str, Any]) -> Engine:
    spec = parse(given["engine"])
    if spec.name == "local":
        return Local(given["workers"], given["timeout"])
    return engines.create(spec)


def tables(run: RunFolder, scores: Scores) -> list[Table]:
    """The suite's own table, and what each stressor costs."""
    title = f"{run.manifest.suite.title}: {run.manifest.tracker} on {run.manifest.corpus}"
    cells = [(cell.column, *_shown(cell)) for cell in scores.table]
    headline = Table(("measure", "#%", "#95 % interval"), cells, title)
    drops = [
        (
            variant,
            percent(drop.stressed),
            _points(drop.difference),
            _interval(drop.low, drop.high),
            f"{drop.p_holm:.4f}",
        )
        for variant, drop in scores.drops.items()
    ]
    costs = Table(("stressor", "#jga %", "#change", "#95 % interval", "#p (Holm)"), drops, "change in points of jga")
    return [headline, costs] if drops else [headline]


def _shown(cell: Cell) -> tuple[str, str]:
    if cell.score is None:
        return "-", cell.missing
    return percent(cell.score.value), _interval(cell.score.low, cell.score.high)


def _interval(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"{100 * low:.2f} - {100 * high:.2f}"


def _points(difference: float) -> str:
    return f"{100 * difference:+.2f}"
