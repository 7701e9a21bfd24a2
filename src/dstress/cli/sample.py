"""`dstress sample`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from dstress.analysis.human_check.sheets import QUESTIONS, beside, chosen, draw, score, variants, write
from dstress.analysis.human_check.verdict import Share, Verdict
from dstress.cli.output import console, json_option, print_notes, print_table, table_options, write_json, write_tables
from dstress.cli.progress import waiting
from dstress.errors import DstressError
from dstress.pipeline.stress import SEED
from dstress.reports.tables import Table
from dstress.runs.folder import ORIGINAL
from dstress.spec import parse_list

_TITLES = {"human_like": "human likeliness", "correct": "correctness"}


@click.command("sample")
@click.argument("paths", nargs=-1, required=True, metavar="RUN|FOLDER|SHEET...")
@click.option("--for", "readers", type=click.Choice(["humans"]), default="humans", show_default=True, help="who judges")
@click.option("--turns", type=click.IntRange(1), default=100, show_default=True, help="turns to draw")
@click.option("--with", "stressors", default="", metavar="SPEC[,SPEC]", help="of these; default: what rewrites labels")
@click.option("--history", type=click.IntRange(0), default=1, show_default=True, help="earlier turns to show")
@click.option("--seed", default=SEED, show_default=True, help="seed of the draw and of the order")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="the sheet, FILE.csv")
@click.option(
    "--judged", type=click.Path(dir_okay=False, path_type=Path), metavar="KEY", help="score SHEETs by this key"
)
@table_options
@json_option
def command(paths: tuple[str, ...], **given: Any) -> None:
    """Draw turns for people to judge, or score what they gave back.

    Writes a sheet with original and stressed turns in random order (FILE.csv, the same to fill in as FILE.html, and
    FILE.md, which says how), and FILE.key.json, which says what is what and which judges must not get.

    \b
    Examples
      dstress sample runs/coco --turns 100 --for humans --out judge.csv
      dstress sample stressed/values --out judge.csv
      dstress sample --judged judge.key.json anna.csv ben.csv chloe.csv
    """
    if given["judged"]:
        _score(given["judged"], [Path(path) for path in paths], given)
        return
    if len(paths) > 1 or not given["out"]:
        raise click.UsageError("give one run or folder and --out FILE; or --judged KEY and the sheets")
    _draw(Path(paths[0]), given["out"], given)


def _draw(source: Path, out: Path, given: dict[str, Any]) -> None:
    with waiting("drawing turns"):
        found = chosen(variants(source), parse_list(given["stressors"]) if given["stressors"] else ())
        items = draw(found, given["turns"], given["seed"], given["history"])
    if not items:
        names = ", ".join(variant.name for variant in found)
        raise DstressError(f"no turn was changed by all of {names}", fix="judge fewer stressors at once, with --with")
    base = out.with_suffix("") if out.suffix.casefold() in (".csv", ".html", ".json") else out
    for there in filter(Path.exists, (beside(base, ".csv"), beside(base, ".key.json"))):
        raise DstressError("the file is there already", where=str(there), fix="give another --out: it may be judged")
    key = write(items, base, str(source), given["seed"])
    told = {"items": len(items), "turns": key.turns, "variants": [ORIGINAL, *(variant.name for variant in found)]}
    if given["json_file"]:
        write_json(told, given["json_file"])
        return
    console().print(
        f"{key.turns:,} turns, each as it was and under {', '.join(variant.name for variant in found)}: "
        f"{len(items):,} items\nfor each judge: {base}.csv or {base}.html, and {base}.md\n"
        f"for nobody before all have judged: {base}.key.json",
        markup=False,
    )
    if key.turns < given["turns"]:
        print_notes([f"only {key.turns:,} turns were changed by all of them"])


def _score(key: Path, sheets: list[Path], given: dict[str, Any]) -> None:
    verdict = score(key, sheets)
    if given["json_file"]:
        write_json(verdict, given["json_file"])
        return
    table = _table(verdict)
    if write_tables([table], given["markdown"], given["latex"]):
        return
    print_table(table)
    print_notes(_notes(verdict))


def _table(verdict: Verdict) -> Table:
    rows = [
        (name, *(_percent(shares[question]) for question in QUESTIONS)) for name, shares in verdict.variants.items()
    ]
    told = ", ".join(
        f"{_TITLES[question]} {'undefined' if value is None else f'{value:.2f}'}"
        for question, value in verdict.agreement.items()
    )
    caption = (
        f"% of items by the majority of {len(verdict.judges)} judges, 95 % intervals; Krippendorff's alpha: {told}"
    )
    return Table(("data", *(f"#{_TITLES[question]}" for question in QUESTIONS)), rows, caption)


def _percent(found: Share) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "-"
    return f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}] of {found.decided}"


def _notes(verdict: Verdict) -> Iterator[str]:
    for name, shares in verdict.variants.items():
        for question, found in shares.items():
            if found.tied:
                yield f"{name}, {_TITLES[question]}: {found.tied} items are tied and left out"
            if found.unjudged:
                yield f"{name}, {_TITLES[question]}: nobody judged {found.unjudged} items; they are left out"
    for judge, missing in verdict.missing.items():
        for question, count in missing.items():
            if count:
                yield f"{judge} left {count} of {verdict.items} items without an answer to {question}"
    if len(verdict.judges) % 2 == 0:
        yield "an even number of judges can tie; the paper had three"
