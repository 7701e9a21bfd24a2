"""From paired dialogues to tallies: shard by shard, and for large files in two processes at once."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dstress.alignment.cells import Alignment
from dstress.alignment.columns import Columns, Gatherer, Vocabulary
from dstress.alignment.pairing import Coverage, Pairing, looks_like_updates
from dstress.conventions.base import Convention
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue
from dstress.engines.base import Job, cores
from dstress.engines.local import Local
from dstress.errors import DstressError
from dstress.metrics.base import Metric
from dstress.predictions.base import Prediction
from dstress.scoring.open_pair import OpenPair
from dstress.scoring.tally import MOST_DIALOGUES, Tally
from dstress.storage.sources import Source, SourceFile

SHARD_TURNS = 4_000
WORTH_HALVING = 16 << 20
"""Bytes of predictions from which a second process pays for its start."""
_MOST_VALUES = 200_000
_GLANCE = 50

Tallied = tuple[list[Tally], list[str]]

Watcher = Callable[[Alignment], None]
"""Is shown every alignment as it is tallied."""


class Plan(NamedTuple):
    """What is to be tallied."""

    corpus: Corpus
    conventions: list[Convention]
    metrics: dict[str, Metric]
    slices: tuple[str, ...]
    resamples: int
    seed: int
    watchers: tuple[Watcher, ...] = ()


class _Half(NamedTuple):
    tallies: list[Tally]
    notes: list[str]
    places: list[int]
    coverage: Coverage


def tally_pairs(pairing: Pairing, plan: Plan) -> Tallied:
    """Tallies of all pairs, one for each convention, and what a user should know about the predictions."""
    tallies = [Tally(dict(plan.metrics), plan.slices, plan.resamples, plan.seed) for _ in plan.conventions]
    notes: list[str] = []
    for shard in gather_shards(pairing, plan.corpus):
        for tally, convention in zip(tallies, plan.conventions, strict=True):
            alignment = Alignment(shard, convention)
            tally.add(alignment, plan.corpus.seen)
            for watcher in plan.watchers:
                watcher(alignment)
        notes = notes or _hints(shard.predictions)
    return tallies, notes


def gather_shards(pairing: Pairing, corpus: Corpus) -> Iterator[Columns]:
    """Columns of a few thousand turns at a time: small enough to stay in the cache, large enough for numpy."""
    vocabulary = Vocabulary(corpus.schema, lambda: corpus.database)
    gatherer = Gatherer(corpus.schema, vocabulary)
    for dialogue, predictions in pairing:
        gatherer.add(dialogue, predictions)
        if len(gatherer.turns) >= SHARD_TURNS:
            yield gatherer.columns()
            if vocabulary.size > _MOST_VALUES:
                vocabulary = Vocabulary(corpus.schema, lambda: corpus.database)
            gatherer = Gatherer(corpus.schema, vocabulary)
    if gatherer.turns:
        yield gatherer.columns()


def _hints(predictions: list[Prediction]) -> list[str]:
    grouped: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        grouped.setdefault(prediction.dialogue, []).append(prediction)
    if looks_like_updates(list(grouped.values())[:_GLANCE]):
        return ["most predicted values vanish in the next turn: are these turn updates instead of cumulative states?"]
    return []


def in_halves(pair: OpenPair, pairing: Pairing, plan: Plan) -> Tallied | None:
    """The same tallies from two processes, each with half of the files. None where it does not pay, or is not clean.

    Only predictions that fit their gold without a flaw are done so: whatever is wrong is for the plain way to tell.
    """
    halves = _halves(pair, plan)
    if halves is None:
        return None
    # Forked workers inherit the open files and the gold; a spawned one would take longer to start than its half takes.
    results = Local(len(halves), start="fork").in_order(_HalfJob(pair, halves, plan), (b"0", b"1"))
    first, second = (pickle.loads(result) for result in results)
    if first is None or second is None:
        return None
    places = first.places + second.places
    # Every dialogue of the gold, once.
    if sorted(places) != list(range(len(places))) or len(places) != plan.corpus.size:
        return None
    for tally, rest in zip(first.tallies, second.tallies, strict=True):
        tally.join(rest, places)
    pairing.coverage = first.coverage.joined(second.coverage)
    return first.tallies, first.notes or second.notes


def _halves(pair: OpenPair, plan: Plan) -> tuple[list[SourceFile], list[SourceFile]] | None:
    """The files for each process, about as many bytes each."""
    able = threading.active_count() == 1 and "fork" in multiprocessing.get_all_start_methods()
    splits = pair.reader is not None and pair.reader.by_file and plan.corpus.finder is not None
    # Slices are summed as they come, so their last bits would depend on which process had which file.
    if not (able and cores() > 1 and splits and pair.source) or plan.slices or plan.watchers:
        return None
    sizes = {file: size for file in pair.source.files if (size := file.size) is not None}
    if len(sizes) < max(2, len(pair.source.files)) or sum(sizes.values()) < WORTH_HALVING:
        return None
    halves: tuple[list[SourceFile], list[SourceFile]] = ([], [])
    for file in sorted(sizes, key=lambda file: -sizes[file]):
        min(halves, key=lambda half: sum(sizes[taken] for taken in half)).append(file)
    return halves


class _HalfJob(Job):
    """Tallies one half of the files; the piece is its number."""

    def __init__(self, pair: OpenPair, halves: Sequence[list[SourceFile]], plan: Plan) -> None:
        self.pair, self.halves, self.plan = pair, halves, plan

    def run(self, piece: bytes) -> bytes:
        try:
            half = self._tally(Source("", self.halves[int(piece)]))
        except DstressError:
            half = None  # it goes wrong again in the plain way, where it is told
        return pickle.dumps(half, pickle.HIGHEST_PROTOCOL)

    def _tally(self, source: Source) -> _Half | None:
        corpus, reader = self.plan.corpus, self.pair.reader
        if reader is None:
            return None
        arriving = _Arriving(reader.read(source, corpus.schema), corpus)
        pairing = Pairing(arriving.gold(), arriving, corpus.schema)
        tallies, notes = tally_pairs(pairing, self.plan)
        clean = pairing.coverage.complete and not pairing.coverage.outside.counts
        if not clean or len(arriving.places) > MOST_DIALOGUES // 2:
            return None
        return _Half(tallies, notes, arriving.places, pairing.coverage)


class _Arriving:
    """Predictions with a look ahead, so that gold is fetched in the order in which they come."""

    def __init__(self, predictions: Iterator[Prediction], corpus: Corpus) -> None:
        self.predictions, self.corpus = predictions, corpus
        self.places: list[int] = []
        self._ahead = next(predictions, None)

    def __iter__(self) -> Iterator[Prediction]:
        while (found := self._ahead) is not None:
            self._ahead = next(self.predictions, None)
            yield found

    def gold(self) -> Iterator[Dialogue]:
        """The dialogue of the next prediction, again and again; it ends early where there is none such."""
        find = self.corpus.finder() if self.corpus.finder else None
        while find is not None and self._ahead is not None:
            found = find(self._ahead.dialogue)
            if found is None:
                return
            self.places.append(found[0])
            yield found[1]
