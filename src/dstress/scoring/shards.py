"""From paired dialogues to tallies: shard by shard, and for large files in two processes at once."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dstress.alignment.cells import Alignment
from dstress.alignment.columns import Columns, Gatherer, Vocabulary
from dstress.alignment.pairing import Coverage, Pairing, looks_like_updates
from dstress.conventions.base import Convention
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue
from dstress.metrics.base import Metric
from dstress.predictions import detect
from dstress.predictions.base import Prediction
from dstress.scoring.tally import MOST_DIALOGUES, Tally
from dstress.storage.sources import open_source

SHARD_TURNS = 4_000
WORTH_HALVING = 16 << 20
"""Bytes of predictions from which a second process pays for its start."""
_MOST_VALUES = 200_000
_GLANCE = 50

Tallied = tuple[list[Tally], list[str]]


class Plan(NamedTuple):
    """What is to be tallied."""

    corpus: Corpus
    conventions: list[Convention]
    metrics: dict[str, Metric]
    slices: tuple[str, ...]
    resamples: int
    seed: int


class _Half(NamedTuple):
    tallies: list[Tally]
    notes: list[str]
    places: list[int]
    coverage: Coverage


def tally_pairs(pairing: Pairing, plan: Plan) -> Tallied:
    """Tallies of all pairs, one for each convention, and what a user should know about the predictions."""
    tallies = [Tally(dict(plan.metrics), plan.slices, plan.resamples, plan.seed) for _ in plan.conventions]
    notes: list[str] = []
    for shard in _shards(pairing, plan.corpus):
        for tally, convention in zip(tallies, plan.conventions, strict=True):
            tally.add(Alignment(shard, convention), plan.corpus.seen)
        notes = notes or _hints(shard.predictions)
    return tallies, notes


def _shards(pairing: Pairing, corpus: Corpus) -> Iterator[Columns]:
    """Columns of a few thousand turns at a time: small enough to stay in the cache, large enough for numpy."""
    vocabulary = Vocabulary(corpus.schema)
    gatherer = Gatherer(corpus.schema, vocabulary)
    for dialogue, predictions in pairing:
        gatherer.add(dialogue, predictions)
        if len(gatherer.turns) >= SHARD_TURNS:
            yield gatherer.columns()
            if vocabulary.size > _MOST_VALUES:
                vocabulary = Vocabulary(corpus.schema)
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


def in_halves(predictions: object, pairing: Pairing, plan: Plan) -> Tallied | None:
    """The same tallies from two processes, each with half of the files. None where it does not pay, or is not clean.

    Only predictions that fit their gold without a flaw are done so: whatever is wrong is for the plain way to tell.
    """
    halves = _halves(predictions, plan) if isinstance(predictions, str | Path) else None
    if halves is None or not isinstance(predictions, str | Path):
        return None
    finish = _elsewhere(lambda: _half(predictions, halves[1], plan))
    parts = (_half(predictions, halves[0], plan), finish())
    if parts[0] is None or parts[1] is None:
        return None
    one, two = parts[0], parts[1]
    places = one.places + two.places
    # Every dialogue of the gold, once.
    if sorted(places) != list(range(len(places))) or len(places) != plan.corpus.size:
        return None
    for tally, rest in zip(one.tallies, two.tallies, strict=True):
        tally.join(rest, places)
    pairing.coverage = one.coverage.joined(two.coverage)
    return one.tallies, one.notes or two.notes


def _elsewhere(work: Callable[[], _Half | None]) -> Callable[[], _Half | None]:
    """Start work in a forked process, which inherits all it needs; the function returned waits for what comes of it."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        # Whatever goes wrong goes wrong again in the plain way, where it is told.
        with suppress(BaseException), os.fdopen(writing, "wb") as out:
            out.write(pickle.dumps(work(), pickle.HIGHEST_PROTOCOL))
        os._exit(0)
    os.close(writing)

    def finish() -> _Half | None:
        with os.fdopen(reading, "rb") as answered:
            answer = answered.read()
        os.waitpid(child, 0)
        found = pickle.loads(answer) if answer else None
        return found if isinstance(found, _Half) else None

    return finish


def _halves(predictions: str | Path, plan: Plan) -> tuple[frozenset[str], frozenset[str]] | None:
    """The names of the files for each process, about as many bytes each."""
    alone = threading.active_count() == 1 and hasattr(os, "fork") and (os.cpu_count() or 1) > 1
    # Slices are summed as they come, so their last bits would depend on which process had which file.
    if not alone or plan.slices or plan.corpus.finder is None or not Path(predictions).is_dir():
        return None
    sizes = {path.name: path.stat().st_size for path in Path(predictions).glob("*.json")}
    if len(sizes) < 2 or sum(sizes.values()) < WORTH_HALVING:
        return None
    with open_source(predictions) as source:
        if not detect(source).by_file or {file.name for file in source.files} != set(sizes):
            return None
    halves: tuple[list[str], list[str]] = ([], [])
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        min(halves, key=lambda half: sum(sizes[taken] for taken in half)).append(name)
    return frozenset(halves[0]), frozenset(halves[1])


def _half(predictions: str | Path, names: frozenset[str], plan: Plan) -> _Half | None:
    with open_source(predictions) as source:
        reader = detect(source)
        source.keep(lambda file: file.name in names)
        arriving = _Arriving(reader.read(source, plan.corpus.schema), plan.corpus)
        pairing = Pairing(arriving.gold(), arriving, plan.corpus.schema)
        tallies, notes = tally_pairs(pairing, plan)
    if not pairing.coverage.complete or len(arriving.places) > MOST_DIALOGUES // 2:
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
