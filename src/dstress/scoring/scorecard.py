"""What a scoring leaves behind: values with intervals and signatures, slices, error tables. Plain data."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.display import Displayed
from dstress.errors import unknown
from dstress.scoring.resampling import FEW

_SHOWN = 4
"""Metrics that a card shows of itself in one line."""


UNITS = "units"
"""In the numbers of a slice's key: how many units it has."""


class Score(msgspec.Struct, frozen=True):
    """One number, how sure it is, what it stands on, and what exactly it is."""

    value: float
    low: float
    high: float
    n: float
    signature: str


class TestedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What two systems differ by on the same dialogues, how many these are, and whether that is chance; see
    `scoring.significance`.

    `p_holm` is `p` after Holm's correction over all tests that were made together. The systems score `differ` dialogues
    differently, and `gains` of these favour the system; runs of before these were counted have none.
    """

    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    dialogues: int = 0
    differ: int | None = None
    gains: int | None = None

    @property
    def is_few(self) -> bool:
        """Whether so few dialogues differ that neither the p-value nor the interval can be trusted."""
        return self.differ is not None and self.differ < FEW


class SlotErrors(msgspec.Struct, frozen=True):
    """What goes wrong in one slot: counts over all turns, and the most frequent confusions (gold, predicted, times)."""

    right: int
    wrong: int
    missed: int
    extra: int
    confusions: list[tuple[str, str, int]]


Slices = dict[str, dict[str, dict[str, float | None]]]
"""Slice -> key -> metric -> value, and under `units` how many units the key has; of a slot also its counts."""


class Scorecard(Displayed, msgspec.Struct):
    """Scores of one prediction file under one convention.

    `signature` says what was scored, for all scores alike. `richness` is there where that metric is: mwzeval's figures
    of all responses together.
    """

    signature: dict[str, str]
    metrics: dict[str, Score]
    slices: Slices = {}
    slots: dict[str, SlotErrors] = {}
    notes: list[str] = []
    richness: dict[str, float] | msgspec.UnsetType = msgspec.UNSET

    def __getitem__(self, metric: str) -> Score:
        try:
            return self.metrics[metric]
        except KeyError:
            fix = "a card has the metrics that were scored: name others with metrics=[...]"
            raise unknown("metric", metric, self.metrics, fix=fix) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __contains__(self, metric: object) -> bool:
        return metric in self.metrics

    def __repr__(self) -> str:
        shown = [f"{name} {score.value:.4f}" for name, score in self.metrics.items()]
        more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
        corpus, convention = (self.signature.get(part, "?") for part in ("corpus", "conv"))
        return f"Scorecard({corpus}, {convention}: {', '.join(shown[:_SHOWN])}{more})"

    def by(self, name: str) -> dict[str, dict[str, float | None]]:
        """One slice, such as `service`: key -> metric -> value."""
        return self.slices[name]


def signature_text(metric: str, parts: dict[str, str]) -> str:
    """`jga|corpus:multiwoz21.test|turns:7372|conv:trade|unit:turn|...|dstress:0.1.0`."""
    return "|".join([metric, *(f"{name}:{value}" for name, value in parts.items())])
