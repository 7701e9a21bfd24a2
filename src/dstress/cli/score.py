"""`dstress score`."""

from __future__ import annotations

from typing import get_args

import click

from dstress.cli.names import CONVENTION, METRIC, SLICE
from dstress.cli.options import (
    argument,
    convention_option,
    format_option,
    gold_option,
    option,
    resamples_option,
    seed_option,
    verb,
)
from dstress.cli.output import OutputFiles, console, print_notes, print_table, table_options
from dstress.cli.progress import waiting
from dstress.conventions import conventions
from dstress.reports.score_tables import convention_table, draw_table, score_table
from dstress.reports.tables import Table
from dstress.scoring.draws import DRAW, score_draws
from dstress.scoring.metrics import metrics as registered
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.resampling import Kind
from dstress.scoring.responses import DomainSource
from dstress.scoring.score import STANDARD, ScoringOptions, score, tally_predictions
from dstress.scoring.scorecard import Scorecard
from dstress.scoring.slices import SLICES
from dstress.spec import parse, parse_list

_WORST_SLOTS = 12


slices_option = option("--by", type=SLICE, default="", metavar=",".join(SLICES), help="slices to show as well")


def parse_slices(text: str) -> list[str]:
    """Split what `--by` takes: `seen,service`."""
    return [name.strip() for name in text.split(",") if name.strip()]


@verb("score")
def command(
    predictions: str = argument(),
    gold: str | None = gold_option,
    format_: str = format_option,
    convention: str = convention_option,
    several: str = option(
        "--conventions", type=CONVENTION, default="", metavar="all|A,B", help="score under each of these conventions"
    ),
    metrics: str = option(type=METRIC, default=STANDARD, help="all, or metrics such as jga,fga(lambda=0.25)"),
    slices: str = slices_option,
    domains: DomainSource | None = option(
        type=click.Choice(["predicted", "states", "placeholders"]),
        help="source of each response's domain, for inform and success; default: the file, else state changes",
    ),
    delexicalise: bool = option(is_flag=True, help="replace values in the responses by placeholders"),
    leave_out: str = option(default="", metavar="ID,ID", help="exclude these dialogues; the signature names them"),
    allow_partial: bool = option(is_flag=True, help="score the turns that match, and note it in the signature"),
    resamples: int = resamples_option(),
    seed: int = seed_option(of="seed of the resampling"),
    interval: Kind = option(default="logit", type=click.Choice(get_args(Kind)), help="method of the intervals"),
    files: OutputFiles = table_options,
) -> None:
    """Score a prediction file as the official scripts do, with confidence intervals.

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
    of_states = (name for name in conventions.usable() if not conventions.get(name).about_calls)
    names = sorted(of_states) if several == "all" else parse_list(several) if several else [convention]
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
    if DRAW in predictions:
        with waiting("scoring"):
            over = score_draws(predictions, gold, lambda file, own: score(file, own, convention, chosen, by, options))
        table = draw_table(over)
        files.show(over, [table], data={"draws": table})
        return
    with waiting("scoring"):
        scored = tally_predictions(PredictionSource(predictions, gold), names, chosen, by, options)
        cards = {tallied.convention: tallied.card() for tallied in scored}
    card = next(iter(cards.values()))
    table = score_table(card) if (is_one := len(names) == 1) else convention_table(cards)
    content = card if is_one else {"conventions": cards}
    if files.show(content, [table], data=card.tables if is_one else {}) and is_one:
        _print_details(card)


def _print_details(card: Scorecard) -> None:
    """The slices, the slots with the most errors, and the notes."""
    tables = card.tables
    for name in ("richness", *card.slices):
        if name in tables:
            print_table(tables[name])
    if not all(registered.get(parse(name).name).reads_responses for name in card.metrics):
        slots = tables["slots"]
        shown = slots.rows if "slot" in card.slices else slots.rows[:_WORST_SLOTS]
        print_table(Table(slots.columns, shown))
        if len(slots.rows) > len(shown):
            console().print(f"... and {len(slots.rows) - len(shown)} more slots; --by slot shows all")
    print_notes(card.notes)
