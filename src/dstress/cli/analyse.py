"""`dstress analyse bias|laws`: what metrics reward, and what moves them that should not."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.analysis.mistakes import study_bias
from dstress.analysis.systems import open_systems
from dstress.cli.output import OutputFiles, console, json_option, print_notes, print_table, table_options
from dstress.cli.progress import counting, waiting
from dstress.reports.bias import (
    conclusions,
    correlation_table,
    difference_table,
    disagreement_table,
    render_bias_page,
    trait_plots,
)
from dstress.reports.charts import export
from dstress.runs.folder import ORIGINAL
from dstress.spec import parse_list
from dstress.storage.atomic import replacing

_METRICS = "jga,sa,aga,rsa,fga,gca"
"""Those that the GCA paper compares."""


@click.group("analyse")
def command() -> None:
    """Study metrics: what moves them that should not, and what each rewards and ignores.

    \b
    Examples
      dstress analyse bias runs/mine
      dstress analyse laws
    """


@command.command("bias")
@click.argument("systems", nargs=-1, required=True, metavar="RUN_OR_FILE...")
@click.option("--gold", metavar="CORPUS:SPLIT", help="what is right, of files that do not carry their gold")
@click.option("--convention", default="", help="what counts as the same value; without it, the usual one")
@click.option("--format", "format_", default="", help="the format of the files, where it is not found by itself")
@click.option("--variant", default=ORIGINAL, show_default=True, help="of runs: which variant's answers")
@click.option("--metrics", default=_METRICS, show_default=True, metavar="A,B")
@click.option(
    "--against", default="gca", show_default=True, metavar="METRIC", help="whose correlations to compare with"
)
@click.option("--versus", default="fga", show_default=True, metavar="METRIC", help="which to plot and list beside it")
@click.option("--most", default=20, show_default=True, type=click.IntRange(min=1), help="dialogues to list")
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path), help="write all of it as one page")
@click.option("--plots", "plots_folder", metavar="DIR", type=click.Path(path_type=Path), help="SVG, PNG and Vega-Lite")
@table_options
@json_option
def bias(
    systems: tuple[str, ...],
    gold: str | None,
    convention: str,
    format_: str,
    variant: str,
    metrics: str,
    against: str,
    versus: str,
    most: int,
    html: Path | None,
    plots_folder: Path | None,
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> None:
    """Correlate metrics with where in a dialogue the mistakes lie, as section 5.2 of the GCA paper does.

    Tail-orientation is above 0 where mistakes are made late, non-uniformity is high where few turns make all of them.
    A metric of how many mistakes there are should go with neither. The dialogues on which two metrics disagree most
    are listed, which is where to look for the reason.

    \b
    Examples
      dstress analyse bias runs/mine
      dstress analyse bias trade_result.json som_result.json --html bias.html
      dstress analyse bias preds.jsonl --gold multiwoz21:test --metrics "jga,fga(lambda=0.75),gca"
      dstress analyse bias preds.json --against jga --versus gca --plots figures
    """
    wanted = list(dict.fromkeys((*parse_list(metrics), versus, against)))
    with counting("systems") as on_progress:
        studies = []
        for place, system in enumerate(open_systems(systems, gold, convention, format_)):
            on_progress(system.name, place, len(systems))
            studies.append(study_bias(system, wanted, against, variant))
    tables = {
        "correlations": correlation_table(studies),
        "differences": difference_table(studies),
        "disagreements": disagreement_table(studies, versus, against, most),
    }
    content = {"conclusions": conclusions(studies), "studies": studies} | {
        name: table.records for name, table in tables.items()
    }
    files = OutputFiles(json_file, markdown_file, latex_file, csv_file)
    only_files = files.write(content, list(tables.values()), data=tables)
    if plots_folder:
        with waiting("drawing"):
            drawn = [plot for study in studies for plot in trait_plots(study, versus, against)]
            written = [file for plot in drawn for file in export(plot, plots_folder)]
        click.echo(f"{len(written)} files in {plots_folder}", err=True)
    if html:
        with waiting("writing the page"), replacing(html) as out:
            out.write(render_bias_page(studies, versus, against, most).encode("utf-8", "replace"))
        click.echo(f"the page: {html}", err=True)
    if only_files or plots_folder or html:
        return
    for table in tables.values():
        print_table(table)
    for line in content["conclusions"]:
        console().print(line, markup=False)
    print_notes(note for study in studies for note in study.notes)
