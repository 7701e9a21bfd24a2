"""Sums of statistics, dialogue by dialogue: what shards and streams add up to, and what scores are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics.base import Floats, Metric
from dstress.scoring.resampling import PoissonAccumulator, counted_dialogues, resampled_sums
from dstress.scoring.slices import Sums, confusions, sliced, slot_counts

MOST_DIALOGUES = 40_000
"""Beyond, dialogues are not kept: the Poisson bootstrap needs only running sums."""


class Tally:
    """Adds alignments up. The same alignments in any order, or merged from shards, give the same tally."""

    def __init__(self, metrics: dict[str, Metric], slices: Sequence[str], resamples: int, seed: int) -> None:
        self.metrics, self.slice_names = metrics, tuple(slices)
        self.resamples, self.seed = resamples, seed
        self.dialogues: list[str] = []
        self.turns = self.units = 0
        self.missing: dict[str, str] = dict.fromkeys(metrics, "there is nothing to score")
        """Metrics that could not be computed in any alignment so far, and why."""
        self.slices: dict[str, Sums] = {name: {} for name in slices if name != "slot"}
        self.slots: dict[str, Floats] = {}
        self.confusions: Counter[tuple[str, str, str]] = Counter()
        self._rows: list[Floats] = []
        self._stream: PoissonAccumulator | None = None
        self._columns: dict[str, slice] = {}

    def add(self, alignment: Alignment, seen: Collection[str] | None = None) -> None:
        """Take the statistics of one alignment in."""
        columns = alignment.columns
        reasons = {name: self.metrics[name].missing(alignment) for name in self.missing}
        self.missing = {name: reason for name, reason in reasons.items() if reason}
        tables: dict[str, Floats] = {}
        per_dialogue: list[Any] = []
        for name, made in self.metrics.items():
            dialogue = columns.turn_dialogue if made.by_turn else alignment.unit_dialogue
            is_missing = name in self.missing  # it has not been there to compute yet
            tables[name] = np.zeros((len(dialogue), made.width)) if is_missing else made.statistics(alignment)
            self._columns[name] = slice(len(per_dialogue), len(per_dialogue) + tables[name].shape[1])
            per_dialogue += [np.bincount(dialogue, column, len(columns.dialogues)) for column in tables[name].T]
        self._keep(columns.dialogues, np.column_stack(per_dialogue))
        self.turns += len(columns.turns)
        self.units += alignment.units
        for name, kept in self.slices.items():
            for key, sums in sliced(name, alignment, self.metrics, tables, seen).items():
                total = kept.setdefault(key, {})
                for metric, row in sums.items():
                    total[metric] = total[metric] + row if metric in total else row
        for slot, row in slot_counts(alignment).items():
            self.slots[slot] = self.slots.get(slot, 0.0) + row
        for slot, gold, predicted, times in confusions(alignment):
            self.confusions[slot, gold, predicted] += times

    def _keep(self, ids: list[str], totals: Floats) -> None:
        if self._stream is None and len(self.dialogues) + len(ids) > MOST_DIALOGUES:
            self._stream = PoissonAccumulator(totals.shape[1], self.resamples, self.seed)
            if self._rows:
                self._stream.add(self.dialogues, np.concatenate(self._rows))
            self.dialogues, self._rows = [], []
        if self._stream is not None:
            self._stream.add(ids, totals)
        else:
            self.dialogues += ids
            self._rows.append(totals)

    @property
    def streamed(self) -> bool:
        """Whether only running sums were kept."""
        return self._stream is not None

    def totals(self, metric: str) -> Floats:
        """A metric's statistics summed by dialogue; not there for streams."""
        return np.concatenate(self._rows)[:, self._columns[metric]]

    def sums(self, metric: str) -> Floats:
        """A metric's statistics summed over everything."""
        if self._stream is not None:
            return np.asarray(self._stream.total[self._columns[metric]], np.float64)
        return np.asarray(self.totals(metric).sum(axis=0), np.float64)

    def counted_dialogues(self, metric: str) -> int:
        """How many dialogues have anything that the metric counts."""
        if self._stream is not None:
            return int(self._stream.counted[self._columns[metric]].max())
        return int(counted_dialogues(self.totals(metric)).max())

    def resampled(self) -> dict[str, Floats]:
        """Sums of bootstrap resamples, by metric. One set of resamples serves all metrics."""
        if self._stream is not None:
            everything = self._stream.sums
        else:
            everything = resampled_sums(np.concatenate(self._rows), self.resamples, self.seed)
        return {name: everything[:, where] for name, where in self._columns.items()}
