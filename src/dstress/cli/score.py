"""`dstress score`."""

from __future__ import annotations

from typing import Literal

import click

from dstress.cli.output import OutputFiles, console, json_option, print_notes, print_table, table_options
from dstress.cli.progress import waiting
from dstress.conventions import conventions
from dstress.metrics.measures import measure_of
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import STANDARD, ScoringOptions, tally_predictions
from dstress.scoring.scorecard import Scorecard, signature_text
from dstress.scoring.slices import SLICES
from dstress.spec import parse_list

_WORST_SLOTS = 12
_MOST_METRICS = 6


@click.command("score")
@click.argument("predictions", type=click.Path(exists=True))
@click.option("--gold", metavar="CORPUS:SPLIT", help="what to score against; not needed if the file carries its gold")
@click.option("--format", "format_", default="", help="the file's format, if it cannot be found by itself")
@click.option("--convention", default="", help="what counts as correct; default: what the format's own script does")
@click.option("--conventions", "several", default="", metavar="all|A,B", help="the same metrics under each of these")
@click.option("--metrics", default=STANDARD, show_default=True, help="all, or metrics such as jga,fga(lambda=0.25)")
@click.option("--by", "slices", default="", metavar=",".join(SLICES), help="slices to show as well")
@click.option("--leave-out", default="", metavar="ID,ID", help="dialogues that do not count; the signature names them")
@click.option("--allow-partial", is_flag=True, help="score what fits, and say so in the signature")
@click.option("--resamples", default=1000, show_default=True, help="bootstrap resamples of dialogues")
@click.option("--seed", default=1, show_default=True, help="seed of the resamples")
@click.option("--interval", default="percentile", type=click.Choice(["percentile", "bca"]), show_default=True)
@table_options
@json_option
def command(
    predictions: str,
    gold: str | None,
    format_: str,
    convention: str,
    several: str,
    metrics: str,
    slices: str,
    leave_out: str,
    allow_partial: bool,
    resamples: int,
    seed: int,
    interval: Literal["percentile", "bca"],
    markdown_file: str | None,
    latex_file: str | None,
    json_file: str | None,
) -> None:
    """Score a prediction file as the official scripts would, with confidence intervals.

    \b
    Examples
      dstress score preds.json --gold multiwoz21:test
      dstress score preds.json --gold multiwoz21:test --conventions all --metrics jga
      dstress score dialogues/ --gold sgd:test --by seen,domain
      dstress score pred_res.json --latex table.tex
    """
    if convention and several:
        raise click.UsageError("give --convention or --conventions, not both")
    wanted = list(conventions) if several == "all" else parse_list(several) if several else [convention]
    chosen = metrics if metrics in (STANDARD, "all") else parse_list(metrics)
    by = [name.strip() for name in slices.split(",") if name.strip()]
    options = ScoringOptions(
        allow_partial=allow_partial,
        format=format_,
        resamples=resamples,
        seed=seed,
        interval=interval,
        leave_out=tuple(name.strip() for name in leave_out.split(",") if name.strip()),
    )
    with waiting("scoring"):
        scored = tally_predictions(PredictionSource(predictions, gold), wanted, chosen, by, options)
        cards = {one.convention: one.card() for one in scored}
    card = next(iter(cards.values()))
    is_one = len(wanted) == 1
    table = score_table(card) if is_one else _convention_table(cards)
    files = OutputFiles(json_file, markdown_file, latex_file)
    if files.write(card if is_one else {"conventions": cards}, [table]):
        return
    print_table(table)
    if is_one:
        _print_details(card)


def score_table(card: Scorecard) -> Table:
    """Every metric with its interval; the signature is the caption."""
    rows = [
        (
            name,
            PLAIN.measured(score.value, unit),
            PLAIN.measured_interval(score.low, score.high, unit),
            PLAIN.number(score.n),
        )
        for name, score in card.metrics.items()
        for unit in (measure_of(name).unit,)
    ]
    return Table(("metric", "#%", "#95 % interval", "#over"), rows, signature_text("signature", card.signature))


def _convention_table(cards: dict[str, Scorecard]) -> Table:
    """The same metrics under each convention: a row a convention."""
    names = list(dict.fromkeys(name for card in cards.values() for name in card))
    rows = []
    for convention, card in cards.items():
        values = (PLAIN.percent(card[name].value if name in card else None) for name in names)
        rows.append((convention, card.signature["unit"], *values))
    signature = next(iter(cards.values())).signature
    shared = {key: value for key, value in signature.items() if key not in ("conv", "unit", "fuzz", "frames")}
    return Table(("convention", "unit", *(f"#{name}" for name in names)), rows, signature_text("%", shared))


def _print_details(card: Scorecard) -> None:
    """The slices, the slots with the most errors, and the notes."""
    for name, keys in card.slices.items():
        if name != "slot":
            shown = [metric for metric in card.metrics if any(metric in values for values in keys.values())]
            shown = shown[:_MOST_METRICS]
            rows = [(key, *(PLAIN.percent(values.get(metric)) for metric in shown)) for key, values in keys.items()]
            print_table(Table((name, *(f"#{metric}" for metric in shown)), rows))
    worst = sorted(card.slots.items(), key=lambda item: -(item[1].wrong + item[1].missed + item[1].extra))
    limit = len(worst) if "slot" in card.slices else _WORST_SLOTS
    rows = []
    for slot, errors in worst[:limit]:
        counts = (f"{number:,}" for number in (errors.right, errors.wrong, errors.missed, errors.extra))
        confusions = [f"{gold} -> {predicted} ({times:,})" for gold, predicted, times in errors.confusions[:1]]
        rows.append((slot, *counts, "".join(confusions)))
    print_table(Table(("slot", "#right", "#wrong", "#missed", "#extra", "most frequent confusion"), rows))
    if len(worst) > limit:
        console().print(f"... and {len(worst) - limit} more slots; --by slot shows all")
    print_notes(card.notes)
