"""Sums of statistics, dialogue by dialogue: what shards and streams add up to, and what scores are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from dstress.alignment.cells import Alignment
from dstress.metrics.base import Floats, Metric
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
        tables = {name: self._table(name, alignment) for name in self.metrics}
        self._columns = _places(tables)
        totals = np.column_stack([self._per_dialogue(name, table, alignment) for name, table in tables.items()])
        self._keep(columns.dialogues, totals)
        self.turns += len(columns.turns)
        self.units += alignment.units
        for name, kept in self.slices.items():
            _add_sums(kept, sliced(name, alignment, self.metrics, tables, seen))
        for slot, row in slot_counts(alignment).items():
            self.slots[slot] = self.slots.get(slot, 0.0) + row
        for slot, gold, predicted, times in confusions(alignment):
            self.confusions[slot, gold, predicted] += times

    def _table(self, name: str, alignment: Alignment) -> Floats:
        """A metric's statistics; nothing, where it has not been there to compute yet."""
        metric = self.metrics[name]
        if name not in self.missing:
            return metric.statistics(alignment)
        return np.zeros((len(alignment.columns.turns) if metric.by_turn else alignment.units, metric.width))

    def _per_dialogue(self, name: str, table: Floats, alignment: Alignment) -> Floats:
        by_turn = self.metrics[name].by_turn
        dialogue = alignment.columns.turn_dialogue if by_turn else alignment.unit_dialogue
        size = len(alignment.columns.dialogues)
        return np.column_stack([np.bincount(dialogue, column, size) for column in table.T])

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

    def join(self, other: Tally, places: Sequence[int]) -> None:
        """Take another tally in. `places` puts the dialogues of both into their order, which resampling goes by."""
        order = np.argsort(np.asarray(places), kind="stable")
        rows = np.concatenate([*self._rows, *other._rows])
        names = [*self.dialogues, *other.dialogues]
        self._rows, self.dialogues = [rows[order]], [names[place] for place in order.tolist()]
        self.turns += other.turns
        self.units += other.units
        self.missing = {name: reason for name, reason in self.missing.items() if name in other.missing}
        for name, kept in self.slices.items():
            _add_sums(kept, other.slices[name])
        for slot, row in other.slots.items():
            self.slots[slot] = self.slots.get(slot, 0.0) + row
        self.confusions += other.confusions

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


def _places(tables: dict[str, Floats]) -> dict[str, slice]:
    places, start = {}, 0
    for name, table in tables.items():
        places[name] = slice(start, start + table.shape[1])
        start += table.shape[1]
    return places


def _add_sums(kept: Sums, found: Sums) -> None:
    for key, by_metric in found.items():
        for metric, sums in by_metric.items():
            known = kept.setdefault(key, {})
            known[metric] = known[metric] + sums if metric in known else sums
