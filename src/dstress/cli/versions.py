"""`dstress versions`."""

from __future__ import annotations

import click

from dstress.cli.names import METRIC
from dstress.cli.options import argument, convention_option, option, resamples_option, seed_option, verb
from dstress.cli.output import OutputFiles, table_options
from dstress.cli.progress import waiting
from dstress.cli.score import parse_slices, slices_option
from dstress.errors import DstressError
from dstress.reports.score_tables import score_table, slice_table
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import COMPARING, ScoringOptions
from dstress.scoring.scorecard import UNITS
from dstress.scoring.versions import PAIR_METRICS, conditional, variants


@verb("versions")
def command(
    runs: tuple[str, ...] = argument(nargs=-1, required=True, metavar="FILE[@GOLD]..."),
    original: str | None = option(metavar="FILE[@GOLD]", help="the same tracker on the original data"),
    metric: str = option(type=METRIC, default="jga", help="the metric whose sensitivity is measured"),
    over: str = option(type=click.Choice(["changed", "all"]), default="changed", help="which pairs count"),
    slices: str = slices_option,
    convention: str = convention_option,
    allow_partial: bool = option(is_flag=True, help="score only the turns that are present"),
    resamples: int = resamples_option(COMPARING.resamples),
    seed: int = seed_option(COMPARING.seed, "seed of the resamples"),
    files: OutputFiles = table_options,
) -> None:
    """Score one tracker over several versions of the data.

    One version and its --original give CheckDST's cjga and consistent-jga, over the turns that differ between the two
    (in text or gold), or with --over all over every turn. Two or more versions give SGD-X's accuracy over variants and
    schema sensitivity, and with --original the relative difference. Name the gold of a file after an @; the default is
    the gold labels in the file. --by seen gives SGD-X's table 2.

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
    # Each slice stands under the values over all units.
    everything: dict[str, float | None] = {name: score.value for name, score in card.metrics.items()}
    everything[UNITS] = max(score.n for score in card.metrics.values())
    cut = [
        slice_table(name, {"all": everything} | keys, list(card.metrics), [UNITS]) for name, keys in card.slices.items()
    ]
    files.show(card, [score_table(card), *cut], notes=card.notes)


def _run(text: str) -> PredictionSource:
    file, _, gold = text.partition("@")
    return PredictionSource(file, gold or None)
