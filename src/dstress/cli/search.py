"""`dstress search`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.output import (
    COUNTS,
    SEEDS,
    OutputFiles,
    OutputPath,
    console,
    json_option,
    print_notes,
    print_table,
    table_options,
)
from dstress.cli.progress import counting
from dstress.corpora import load
from dstress.pipeline.estimate import require_budget
from dstress.pipeline.search import SearchOptions, search
from dstress.pipeline.search.frontier import check_frontier_name, draw_frontier
from dstress.pipeline.search.search import BUDGET
from dstress.pipeline.search.tables import describe_winner, search_tables
from dstress.spec import parse_list
from dstress.trackers import create as create_tracker


@click.command("search")
@click.option("--tracker", required=True, metavar="SPEC", help="rules, copy(PATH), module:Class, llm(...) ...")
@click.option("--corpus", required=True, metavar="CORPUS[:SPLIT]", help="what to track, such as multiwoz21:test")
@click.option(
    "--budget",
    type=click.IntRange(1),
    metavar="N",
    help=f"turns asked at most, half to choose and half to report; default: {BUDGET:,}",
)
@click.option("--with", "stressors", metavar="SPEC[,SPEC]", help="what to try, weak before strong; default: a table")
@click.option("--most", type=click.IntRange(1, 5), default=3, show_default=True, help="stressors in a composition")
@click.option(
    "--method",
    type=click.Choice(["bounds", "random"]),
    default="bounds",
    show_default=True,
    help="random: compositions by chance, for comparison",
)
@click.option("--limit", type=COUNTS, default=0, metavar="N", help="only the first N dialogues")
@click.option("--draw", type=COUNTS, default=0, metavar="N", help="only N dialogues, drawn by the seed")
@click.option("--seed", type=SEEDS, default=1, show_default=True, help="seed of all randomness")
@click.option("--convention", default="exact", show_default=True, help="what counts as correct")
@click.option("--plot", type=OutputPath(), metavar="FILE", help="the frontier, .svg or .html")
@table_options
@json_option
def command(
    tracker: str,
    corpus: str,
    budget: int | None,
    stressors: str | None,
    most: int,
    method: str,
    limit: int,
    draw: int,
    seed: int,
    convention: str,
    plot: Path | None,
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> None:
    """Find the stressors, and how strong, that break a tracker most for what they change.

    Candidates compete on one half of the dialogues by the turns that they break per edited word; what is printed was
    measured on the other half, which the search never saw. Labels stay true throughout.

    \b
    Examples
      dstress search --tracker rules --corpus reminder:test
      dstress search --tracker rules --corpus reminder:test --budget 6000 --plot frontier.svg
      dstress search --tracker rules --corpus reminder:test --with "typos(rate=0.05),typos,disfluency,verbosity"
    """
    if plot:
        check_frontier_name(plot)
    chosen = tuple(parse_list(stressors)) if stressors else ()
    asked = create_tracker(tracker)
    allowed = require_budget(asked, budget, BUDGET)
    with counting("turns") as show:
        options = SearchOptions(allowed, seed, chosen, most, convention, "random" if method == "random" else "bounds")
        found = search(asked, load(corpus).take(limit, draw, seed), options._replace(on_progress=show))
    if plot:
        draw_frontier(found, plot)
    tables = search_tables(found)
    files = OutputFiles(json_file, markdown_file, latex_file, csv_file)
    if not files.write(found, [tables["frontier"]], [describe_winner(found)], tables):
        for table in tables.values():
            print_table(table)
        console().print(describe_winner(found), markup=False)
        print_notes(found.notes)
