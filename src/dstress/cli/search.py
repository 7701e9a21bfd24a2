"""`dstress search`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.names import CONVENTION, CORPUS, STRESSOR, TRACKER
from dstress.cli.options import draw_option, limit_option, option, seed_option, verb
from dstress.cli.output import OutputFiles, OutputPath, print_all, table_options
from dstress.cli.progress import counting
from dstress.corpora import load
from dstress.pipeline.estimate import require_budget
from dstress.spec import parse_list
from dstress.studies.search import SearchOptions, search
from dstress.studies.search.search import BUDGET
from dstress.studies.search.tables import check_frontier_name, describe_winner, draw_frontier, search_tables
from dstress.trackers import create as create_tracker


@verb("search")
def command(
    tracker: str = option(
        type=TRACKER, required=True, metavar="SPEC", help="rules, copy(PATH), module:Class, llm(...) ..."
    ),
    corpus: str = option(
        type=CORPUS, required=True, metavar="CORPUS[:SPLIT]", help="test data, such as multiwoz21:test"
    ),
    budget: int | None = option(
        type=click.IntRange(1),
        metavar="N",
        help=f"maximum number of turns to predict, half to search and half to report; default: {BUDGET:,}",
    ),
    stressors: str | None = option(
        "--with",
        type=STRESSOR,
        metavar="SPEC[,SPEC]",
        help="candidate stressors, weakest first; default: a built-in table",
    ),
    most: int = option(type=click.IntRange(1, 5), default=3, help="maximum number of stressors in a composition"),
    method: str = option(
        type=click.Choice(["bounds", "random"]), default="bounds", help="search method; random is a baseline"
    ),
    limit: int = limit_option,
    draw: int = draw_option,
    seed: int = seed_option(),
    convention: str = option(type=CONVENTION, default="exact", help="what counts as correct"),
    plot: Path | None = option(type=OutputPath(), metavar="FILE", help="plot the frontier (.svg or .html)"),
    files: OutputFiles = table_options,
) -> None:
    """Find the stressors and strengths that break the most turns of a tracker per edited word.

    The search ranks candidates on one half of the dialogues. The printed results are measured on the other half, which
    the search never sees. Labels stay correct.

    \b
    Examples
      dstress search --tracker rules --corpus reminder:test
      dstress search --tracker rules --corpus reminder:test --budget 6000 --plot frontier.svg
      dstress search --tracker rules --corpus reminder:test --with "typos(rate=0.05),typos,disfluency,verbosity"
    """
    if plot:
        check_frontier_name(plot)
    chosen = tuple(parse_list(stressors)) if stressors else ()
    system = create_tracker(tracker)
    allowed = require_budget(system, budget, BUDGET)
    with counting("turns") as show:
        options = SearchOptions(allowed, seed, chosen, most, convention, "random" if method == "random" else "bounds")
        result = search(system, load(corpus).take(limit, draw, seed), options._replace(on_progress=show))
    if plot:
        draw_frontier(result, plot)
    tables = search_tables(result)
    if not files.write(result, [tables["frontier"]], [describe_winner(result)], tables):
        print_all(tables.values(), [describe_winner(result)], result.notes)
