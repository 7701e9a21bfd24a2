"""`dstress versions`."""

from __future__ import annotations

from typing import Any

import click

from dstress.cli.output import json_option, print_notes, print_table, table_options, write_json, write_tables
from dstress.cli.progress import waiting
from dstress.cli.score import score_table
from dstress.errors import DstressError
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import COMPARING, ScoringOptions
from dstress.scoring.scorecard import Scorecard
from dstress.scoring.versions import conditional, variants


@click.command("versions")
@click.argument("runs", nargs=-1, required=True, metavar="FILE[@GOLD]...")
@click.option("--original", metavar="FILE[@GOLD]", help="the same tracker on the original data")
@click.option("--metric", default="jga", show_default=True, help="the metric whose sensitivity is measured")
@click.option("--convention", default="", help="what counts as correct; default: what the format's own script does")
@click.option("--allow-partial", is_flag=True, help="use the turns that are there")
@click.option("--resamples", default=COMPARING.resamples, show_default=True, help="bootstrap resamples of dialogues")
@click.option("--seed", default=COMPARING.seed, show_default=True, help="seed of the resamples")
@table_options
@json_option
def command(runs: tuple[str, ...], original: str | None, metric: str, convention: str, **given: Any) -> None:
    """Score one tracker over several versions of the data.

    One version and its --original give CheckDST's cjga and consistent-jga. Two or more versions give SGD-X's accuracy
    over variants and schema sensitivity, and with --original the relative difference. Each file may name its gold
    behind an @; without it, the file's own gold is taken.

    \b
    Examples
      dstress versions typos.jsonl@typos:test --original plain.jsonl@multiwoz21:test
      dstress versions v1@sgd-x/v1:test v2@sgd-x/v2:test v3@sgd-x/v3:test --original v0@sgd:test
    """
    options = ScoringOptions(given["allow_partial"], resamples=given["resamples"], seed=given["seed"])
    held, first = [_run(text) for text in runs], _run(original) if original else None
    with waiting("scoring"):
        card = _scored(held, first, metric, convention, options)
    if given["json_file"]:
        write_json(card, given["json_file"])
    if write_tables([score_table(card)], given["markdown"], given["latex"]) or given["json_file"]:
        return
    print_table(score_table(card))
    print_notes(card.notes)


def _run(text: str) -> PredictionSource:
    file, _, gold = text.partition("@")
    return PredictionSource(file, gold or None)


def _scored(
    runs: list[PredictionSource],
    original: PredictionSource | None,
    metric: str,
    convention: str,
    options: ScoringOptions,
) -> Scorecard:
    if len(runs) > 1:
        return variants(runs, original, metric, convention, options)
    if original is None:
        raise DstressError("one version alone shows nothing", fix="add --original, or more versions")
    return conditional(original, runs[0], convention, options)
