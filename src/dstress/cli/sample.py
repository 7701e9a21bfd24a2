"""`dstress sample`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from dstress.cli.names import STRESSOR
from dstress.cli.options import FILE, argument, option, seed_option, verb
from dstress.cli.output import OutputFiles, console, print_notes, table_options
from dstress.cli.progress import waiting
from dstress.errors import DstressError
from dstress.pipeline.stress import SEED
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.runs.folder import ORIGINAL
from dstress.spec import parse_list
from dstress.studies.human_check.questions import questions
from dstress.studies.human_check.sheets import (
    QUESTIONS,
    choose_variants,
    draw_items,
    find_variants,
    score_sheets,
    sheet_path,
    write_sheets,
)
from dstress.studies.human_check.verdict import Verdict

_TITLES = {name: question.title for name, question in questions("data").items()}


@verb("sample")
@click.option(
    "--for", type=click.Choice(["humans"]), default="humans", show_default=True, expose_value=False, help="who judges"
)
def command(
    paths: tuple[str, ...] = argument(nargs=-1, required=True, metavar="RUN|FOLDER|SHEET..."),
    turns: int = option(type=click.IntRange(1), default=100, help="turns to draw"),
    stressors: str = option(
        "--with",
        type=STRESSOR,
        default="",
        metavar="SPEC[,SPEC]",
        help="draw from these stressors; default: those that change labels",
    ),
    history: int = option(type=click.IntRange(0), default=1, help="earlier turns to show"),
    seed: int = seed_option(SEED, "seed of the draw and of the order"),
    out: Path | None = option(type=FILE, metavar="FILE", help="the sheet, FILE.csv"),
    judged: Path | None = option(type=FILE, metavar="KEY", help="score SHEETs by this key"),
    files: OutputFiles = table_options,
) -> None:
    """Draw turns for people to judge, or score their judgements.

    Writes a sheet of original and stressed turns in random order: FILE.csv, the same as a form in FILE.html, and
    instructions in FILE.md. FILE.key.json identifies the turns; do not give it to the judges.

    \b
    Examples
      dstress sample runs/coco --turns 100 --for humans --out judge.csv
      dstress sample stressed/values --out judge.csv
      dstress sample --judged judge.key.json anna.csv ben.csv chloe.csv
    """
    if judged:
        _print_verdict(score_sheets(judged, list(map(Path, paths))), files)
        return
    if len(paths) > 1 or not out:
        raise click.UsageError("give one run or folder and --out FILE; or --judged KEY and the sheets")
    with waiting("drawing turns"):
        variants = choose_variants(find_variants(Path(paths[0])), parse_list(stressors) if stressors else ())
        items = draw_items(variants, turns, seed, history)
    names = [variant.name for variant in variants]
    if not items:
        problem = f"no turn was changed by all of {', '.join(names)}"
        raise DstressError(problem, fix="judge fewer stressors at once, with --with")
    base = out.with_suffix("") if out.suffix.casefold() in (".csv", ".html", ".json") else out
    for existing in filter(Path.exists, (sheet_path(base, ".csv"), sheet_path(base, ".key.json"))):
        raise DstressError("the file is there already", where=str(existing), fix="give another --out: it may be judged")
    key = write_sheets(items, base, str(Path(paths[0])), seed)
    if OutputFiles(files.json).write({"items": len(items), "turns": key.turns, "variants": [ORIGINAL, *names]}):
        return
    console().print(
        f"{key.turns:,} turns, each as it was and under {', '.join(names)}: {len(items):,} items\n"
        f"for each judge: {base}.csv or {base}.html, and {base}.md\n"
        f"for nobody before all have judged: {base}.key.json",
        markup=False,
    )
    if key.turns < turns:
        print_notes([f"only {key.turns:,} turns were changed by all of them"])


def _print_verdict(verdict: Verdict, files: OutputFiles) -> None:
    rows = []
    for name, shares in verdict.variants.items():
        cells = []
        for share in (shares[question] for question in QUESTIONS):
            shown = f"{PLAIN.percent(share.value, 1)} {PLAIN.interval(share.low, share.high, 1)} of {share.decided}"
            cells.append(shown if share.decided else "-")
        rows.append((name, *cells))
    alphas = ", ".join(
        f"{_TITLES[question]} {'undefined' if value is None else f'{value:.2f}'}"
        for question, value in verdict.agreement.items()
    )
    caption = (
        f"% of items by the majority of {len(verdict.judges)} judges, 95 % intervals; Krippendorff's alpha: {alphas}"
    )
    table = Table(("data", *(f"#{_TITLES[question]}" for question in QUESTIONS)), rows, caption)
    files.show(verdict, [table], notes=_notes(verdict))


def _notes(verdict: Verdict) -> Iterator[str]:
    for name, shares in verdict.variants.items():
        for question, share in shares.items():
            if share.tied:
                yield f"{name}, {_TITLES[question]}: {share.tied} items are tied and left out"
            if share.unjudged:
                yield f"{name}, {_TITLES[question]}: nobody judged {share.unjudged} items; they are left out"
    for judge, missing in verdict.missing.items():
        for question, count in missing.items():
            if count:
                yield f"{judge} left {count} of {verdict.items} items without an answer to {question}"
    if len(verdict.judges) % 2 == 0:
        yield "an even number of judges can tie; the paper had three"
