"""`dstress score`."""

from __future__ import annotations

import math
from typing import Any

import click

from dstress.cli.output import console, json_option, print_notes, print_table, table_options, write_json, write_tables
from dstress.cli.progress import waiting
from dstress.conventions import conventions
from dstress.reports.tables import Table
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import STANDARD, Scored, ScoringOptions, tally_predictions
from dstress.scoring.scorecard import Scorecard, SlotErrors, signature_text
from dstress.scoring.slices import SLICES
from dstress.spec import parse_list

_WORST_SLOTS = 12


@click.command("score")
@click.argument("predictions", type=click.Path(exists=True))
@click.option("--gold", metavar="CORPUS:SPLIT", help="what to score against; not needed if the file carries its gold")
@click.option("--format", "format_", default="", help="the file's format, if it cannot be found by itself")
@click.option("--convention", default="", help="what counts as correct; default: what the format's own script does")
@click.option("--conventions", "several", default="", metavar="all|A,B", help="the same metrics under each of these")
@click.option("--metrics", default=STANDARD, show_default=True, help="all, or metrics such as jga,fga(lambda=0.25)")
@click.option("--by", default="", metavar=",".join(SLICES), help="slices to show as well")
@click.option("--allow-partial", is_flag=True, help="score what fits, and say so in the signature")
@click.option("--resamples", default=1000, show_default=True, help="bootstrap resamples of dialogues")
@click.option("--seed", default=1, show_default=True, help="seed of the resamples")
@click.option("--interval", default="percentile", type=click.Choice(["percentile", "bca"]), show_default=True)
@table_options
@json_option
def command(predictions: str, **given: Any) -> None:
    """Score a prediction file as the official scripts would, with confidence intervals.

    \b
    Examples
      dstress score preds.json --gold multiwoz21:test
      dstress score preds.json --gold multiwoz21:test --conventions all --metrics jga
      dstress score dialogues/ --gold sgd:test --by seen,domain
      dstress score pred_res.json --latex table.tex
    """
    options = ScoringOptions(
        allow_partial=given["allow_partial"],
        format=given["format_"],
        resamples=given["resamples"],
        seed=given["seed"],
        interval=given["interval"],
    )
    wanted = _conventions(given["convention"], given["several"])
    chosen = given["metrics"] if given["metrics"] in (STANDARD, "all") else parse_list(given["metrics"])
    by = [name.strip() for name in given["by"].split(",") if name.strip()]
    with waiting("scoring"):
        scored = tally_predictions(PredictionSource(predictions, given["gold"]), wanted, chosen, by, options)
        cards = [one.card() for one in scored]
    if given["json_file"]:
        write_json(cards[0] if len(cards) == 1 else _by_convention(scored, cards), given["json_file"])
    tables = [score_table(cards[0])] if len(cards) == 1 else [matrix_table(scored, cards)]
    if write_tables(tables, given["markdown"], given["latex"]) or given["json_file"]:
        return
    print_table(tables[0])
    if len(cards) == 1:
        _print_rest(cards[0])


def _conventions(one: str, several: str) -> list[str]:
    if one and several:
        raise click.UsageError("give --convention or --conventions, not both")
    if several == "all":
        return list(conventions)
    return parse_list(several) if several else [one]


def _by_convention(scored: list[Scored], cards: list[Scorecard]) -> dict[str, Any]:
    return {"conventions": {one.convention: card for one, card in zip(scored, cards, strict=True)}}


def score_table(card: Scorecard) -> Table:
    """Every metric with its interval; the signature is the caption."""
    rows = [
        (name, percent(score.value), f"{percent(score.low)} - {percent(score.high)}", f"{score.n:,.0f}")
        for name, score in card.metrics.items()
    ]
    return Table(("metric", "#%", "#95 % interval", "#over"), rows, signature_text("signature", card.signature))


def matrix_table(scored: list[Scored], cards: list[Scorecard]) -> Table:
    """The same metrics under each convention: a row a convention."""
    names = list(dict.fromkeys(name for card in cards for name in card))
    rows = [
        (
            one.convention,
            card.signature["unit"],
            *(percent(card[name].value) if name in card else "-" for name in names),
        )
        for one, card in zip(scored, cards, strict=True)
    ]
    shared = {key: value for key, value in cards[0].signature.items() if key not in ("conv", "unit", "fuzz", "frames")}
    return Table(("convention", "unit", *(f"#{name}" for name in names)), rows, signature_text("%", shared))


def percent(value: float | None) -> str:
    """A fraction as the console shows it."""
    return "-" if value is None or math.isnan(value) else f"{100 * value:.2f}"


def _print_rest(card: Scorecard) -> None:
    for name, keys in card.slices.items():
        if name != "slot":
            print_table(_slice_table(name, keys, list(card.metrics)))
    worst = sorted(card.slots.items(), key=lambda item: -(item[1].wrong + item[1].missed + item[1].extra))
    limit = len(worst) if "slot" in card.slices else _WORST_SLOTS
    print_table(_slot_table(worst[:limit]))
    out = console()
    if len(worst) > limit:
        out.print(f"... and {len(worst) - limit} more slots; --by slot shows all")
    print_notes(card.notes)


def _slice_table(name: str, keys: dict[str, dict[str, float | None]], order: list[str]) -> Table:
    shown = [metric for metric in order if any(metric in values for values in keys.values())][:6]
    rows = [(key, *(percent(values.get(metric)) for metric in shown)) for key, values in keys.items()]
    return Table((name, *(f"#{metric}" for metric in shown)), rows)


def _slot_table(slots: list[tuple[str, SlotErrors]]) -> Table:
    rows = [(slot, *(f"{n:,}" for n in (e.right, e.wrong, e.missed, e.extra)), _confusion(e)) for slot, e in slots]
    return Table(("slot", "#right", "#wrong", "#missed", "#extra", "most frequent confusion"), rows)


def _confusion(errors: SlotErrors) -> str:
    if not errors.confusions:
        return ""
    gold, predicted, times = errors.confusions[0]
    return f"{gold} -> {predicted} ({times:,})"
