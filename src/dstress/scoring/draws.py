"""Several draws of one few-shot task: each is scored by itself, and every metric has a mean and a spread over them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev

import msgspec

from dstress.corpora import store
from dstress.corpora.few_shot import MOST_DRAWS
from dstress.errors import PredictionError
from dstress.scoring.scorecard import Scorecard

DRAW = "{draw}"
"""What stands for `d1`, `d2` ... in the names of prediction files and of gold."""


class Spread(msgspec.Struct, frozen=True):
    """A metric over the draws; the deviation is that of a sample."""

    mean: float
    deviation: float
    low: float
    high: float


class DrawScores(msgspec.Struct, frozen=True):
    """The scorecards by draw, and the metrics that all of them have."""

    draws: dict[str, Scorecard]
    metrics: dict[str, Spread]


def score_draws(predictions: str, gold: str | None, score: Callable[[str, str | None], Scorecard]) -> DrawScores:
    """Score `preds/{draw}.jsonl` against `raddle/{draw}:test`, or against one gold for all draws."""
    names = _draws(predictions, gold or "")
    if len(names) < 2:
        present = f"only {names[0]}" if names else "no draw"
        raise PredictionError(f"{present} is there, and a spread needs two", where=predictions)
    cards = {draw: score(predictions.replace(DRAW, draw), gold and gold.replace(DRAW, draw)) for draw in names}
    first, *others = cards.values()
    values = {
        metric: [card[metric].value for card in cards.values()]
        for metric in first
        if all(metric in card for card in others)
    }
    spreads = {
        name: Spread(mean(numbers), stdev(numbers), min(numbers), max(numbers)) for name, numbers in values.items()
    }
    return DrawScores(cards, spreads)


def _draws(predictions: str, gold: str) -> list[str]:
    """The draws that the data home has of gold; where that is one for all, those that there are files of."""

    def is_there(draw: str) -> bool:
        name = gold.partition(":")[0].replace(DRAW, draw)
        return store.is_stored(name) if DRAW in gold else Path(predictions.replace(DRAW, draw)).exists()

    return [draw for number in range(1, MOST_DRAWS + 1) if is_there(draw := f"d{number}")]
