"""`dstress score`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import click

from dstress.cli.output import SEEDS, OutputFiles, console, json_option, print_notes, print_table, table_options
from dstress.cli.progress import waiting
from dstress.conventions import conventions
from dstress.metrics import metrics as registered
from dstress.reports.score_tables import convention_table, draw_table, score_table
from dstress.reports.tables import Table
from dstress.scoring.draws import DRAW, score_draws
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.responses import DomainSource
from dstress.scoring.score import STANDARD, ScoringOptions, score, tally_predictions
from dstress.scoring.scorecard import Scorecard
from dstress.scoring.slices import SLICES
from dstress.spec import parse, parse_list

_WORST_SLOTS = 12

slices_option = click.option("--by", "slices", default="", metavar=",".join(SLICES), help="slices to show as well")


def parse_slices(text: str) -> list[str]:
    """`seen,service` as it is given to --by."""
    return [name.strip() for name in text.split(",") if name.strip()]


@click.command("score")
@click.argument("predictions")
@click.option("--gold", metavar="CORPUS:SPLIT", help="what to score against; not needed if the file carries its gold")
@click.option("--format", "format_", default="", help="the file's format, if it cannot be found by itself")
@click.option("--convention", default="", help="what counts as correct; default: what the format's own script does")
@click.option("--conventions", "several", default="", metavar="all|A,B", help="the same metrics under each of these")
@click.option("--metrics", default=STANDARD, show_default=True, help="all, or metrics such as jga,fga(lambda=0.25)")
@slices_option
@click.option(
    "--domains",
    type=click.Choice(["predicted", "states", "placeholders"]),
    help="what responses are about, for inform and success; default: as the file says, else where states change",
)
@click.option("--delexicalise", is_flag=True, help="the responses say values: put placeholders in their stead")
@click.option("--leave-out", default="", metavar="ID,ID", help="dialogues that do not count; the signature names them")
@click.option("--allow-partial", is_flag=True, help="score what fits, and say so in the signature")
@click.option(
    "--resamples", type=click.IntRange(0), default=1000, show_default=True, help="bootstrap resamples of dialogues"
)
@click.option("--seed", type=SEEDS, default=1, show_default=True, help="seed of the resamples")
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
    domains: DomainSource | None,
    delexicalise: bool,
    leave_out: str,
    allow_partial: bool,
    resamples: int,
    seed: int,
    interval: Literal["percentile", "bca"],
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> None:
    """Score a prediction file as the official scripts would, with confidence intervals.

    \b
    Examples
      dstress score preds.json --gold multiwoz21:test
      dstress score preds.json --gold multiwoz21:test --conventions all --metrics jga
      dstress score dialogues/ --gold sgd:test --by seen,domain
      dstress score pred_res.json --latex table.tex
      dstress score "preds/{draw}.jsonl" --gold "raddle/{draw}:test"      (mean and spread over few-shot draws)
      dstress score responses.json --gold multiwoz21:test --metrics inform,success,bleu,combined,richness
    """
    if several and (convention or DRAW in predictions):
        raise click.UsageError("give --convention or --conventions, not both; draws are scored under one")
    wanted = sorted(conventions.usable()) if several == "all" else parse_list(several) if several else [convention]
    chosen = metrics if metrics in (STANDARD, "all") else parse_list(metrics)
    by = parse_slices(slices)
    options = ScoringOptions(
        allow_partial=allow_partial,
        format=format_,
        resamples=resamples,
        seed=seed,
        interval=interval,
        leave_out=tuple(name.strip() for name in leave_out.split(",") if name.strip()),
        domains=domains or "",
        delexicalise=delexicalise,
    )
    files = OutputFiles(json_file, markdown_file, latex_file, csv_file)
    if DRAW in predictions:
        _score_draws(predictions, gold, files, lambda file, its: score(file, its, convention, chosen, by, options))
        return
    with waiting("scoring"):
        scored = tally_predictions(PredictionSource(predictions, gold), wanted, chosen, by, options)
        cards = {one.convention: one.card() for one in scored}
    card = next(iter(cards.values()))
    table = score_table(card) if (is_one := len(wanted) == 1) else convention_table(cards)
    if files.write(card if is_one else {"conventions": cards}, [table], data=card.tables if is_one else {}):
        return
    print_table(table)
    if is_one:
        _print_details(card)


def _score_draws(
    predictions: str, gold: str | None, files: OutputFiles, scored: Callable[[str, str | None], Scorecard]
) -> None:
    """Mean and spread over the draws of a few-shot task."""
    with waiting("scoring"):
        over = score_draws(predictions, gold, scored)
    table = draw_table(over)
    if not files.write(over, [table], data={"draws": table}):
        print_table(table)


def _print_details(card: Scorecard) -> None:
    """The slices, the slots with the most errors, and the notes."""
    tables = card.tables
    for name in ("richness", *card.slices):
        if name in tables:
            print_table(tables[name])
    if not all(registered.get(parse(name).name).reads_responses for name in card.metrics):
        _print_slots(tables["slots"], "slot" in card.slices)
    print_notes(card.notes)


def _print_slots(slots: Table, every: bool) -> None:
    shown = slots.rows if every else slots.rows[:_WORST_SLOTS]
    print_table(Table(slots.columns, shown))
    if len(slots.rows) > len(shown):
        console().print(f"... and {len(slots.rows) - len(shown)} more slots; --by slot shows all")
