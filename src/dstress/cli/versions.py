"""`dstress versions`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from dstress.cli.output import SEEDS, OutputFiles, json_option, print_notes, print_table, table_options
from dstress.cli.progress import waiting
from dstress.cli.score import parse_slices, slices_option
from dstress.errors import DstressError
from dstress.reports.score_tables import score_table, slice_table
from dstress.reports.tables import Table
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import COMPARING, ScoringOptions
from dstress.scoring.scorecard import UNITS, Scorecard
from dstress.scoring.versions import PAIR_METRICS, conditional, variants


@click.command("versions")
@click.argument("runs", nargs=-1, required=True, metavar="FILE[@GOLD]...")
@click.option("--original", metavar="FILE[@GOLD]", help="the same tracker on the original data")
@click.option("--metric", default="jga", show_default=True, help="the metric whose sensitivity is measured")
@click.option(
    "--over", type=click.Choice(["changed", "all"]), default="changed", show_default=True, help="which pairs count"
)
@slices_option
@click.option("--convention", default="", help="what counts as correct; default: what the format's own script does")
@click.option("--allow-partial", is_flag=True, help="use the turns that are there")
@click.option(
    "--resamples",
    type=click.IntRange(0),
    default=COMPARING.resamples,
    show_default=True,
    help="bootstrap resamples of dialogues",
)
@click.option("--seed", type=SEEDS, default=COMPARING.seed, show_default=True, help="seed of the resamples")
@table_options
@json_option
def command(
    runs: tuple[str, ...],
    original: str | None,
    metric: str,
    over: str,
    slices: str,
    convention: str,
    allow_partial: bool,
    resamples: int,
    seed: int,
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> None:
    """Score one tracker over several versions of the data.

    One version and its --original give CheckDST's cjga and consistent-jga, over the turns that differ between the two
    (in words or gold), or with --over all over every turn. Two or more versions give SGD-X's accuracy
    over variants and schema sensitivity, and with --original the relative difference. Each file may name its gold
    behind an @; without it, the file's own gold is taken. --by seen gives SGD-X's table 2.

    \b
    Examples
      dstress versions typos.jsonl@typos:test --original plain.jsonl@multiwoz21:test
      dstress versions v1@sgd-x/v1:test v2@sgd-x/v2:test v3@sgd-x/v3:test --original v0@sgd:test --by seen
    """
    options = ScoringOptions(allow_partial, resamples=resamples, seed=seed)
    by = parse_slices(slices)
    versions, first = [_run(text) for text in runs], _run(original) if original else None
    with waiting("scoring"):
        if len(versions) > 1:
            card = variants(versions, first, metric, convention, options, by)
        elif first:
            metrics = [name if over == "changed" else f"{name}(over={over})" for name in PAIR_METRICS]
            card = conditional(first, versions[0], convention, options, metrics, by)
        else:
            raise DstressError("one version alone shows nothing", fix="add --original, or more versions")
    tables = [score_table(card), *_slice_tables(card)]
    if OutputFiles(json_file, markdown_file, latex_file, csv_file).write(card, tables):
        return
    for table in tables:
        print_table(table)
    print_notes(card.notes)


def _slice_tables(card: Scorecard) -> Iterator[Table]:
    """A table for each slice, under the values over all units."""
    everything: dict[str, float | None] = {name: score.value for name, score in card.metrics.items()}
    everything[UNITS] = max(score.n for score in card.metrics.values())
    for name, keys in card.slices.items():
        yield slice_table(name, {"all": everything} | keys, list(card.metrics), [UNITS])


def _run(text: str) -> PredictionSource:
    file, _, gold = text.partition("@")
    return PredictionSource(file, gold or None)
