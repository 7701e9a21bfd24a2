"""From paired dialogues to tallies, shard by shard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from dstress.conventions.base import Convention
from dstress.corpora.base import Corpus
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Columns, Vocabulary
from dstress.scoring.alignment.pairing import Pairing, looks_like_updates
from dstress.scoring.metrics.base import Metric
from dstress.scoring.tally import Tally

SHARD_TURNS = 4_000
_MOST_VALUES = 200_000
_GLANCE = 50
_UPDATES = "most predicted values vanish in the next turn: are these turn updates instead of cumulative states?"

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
        if not notes:
            glanced = islice(shard.paired(), _GLANCE)
            notes = [_UPDATES] if looks_like_updates(predictions for _, predictions in glanced) else []
    return tallies, notes


def gather_shards(pairing: Pairing, corpus: Corpus) -> Iterator[Columns]:
    """Columns of a few thousand turns at a time: small enough to stay in the cache, large enough for numpy."""
    vocabulary = Vocabulary(corpus.schema, lambda: corpus.database)
    columns = Columns(vocabulary)
    for dialogue, predictions in pairing:
        columns.add(dialogue, predictions)
        if len(columns.turns) >= SHARD_TURNS:
            yield columns.finish()
            if vocabulary.size > _MOST_VALUES:
                vocabulary = Vocabulary(corpus.schema, lambda: corpus.database)
            columns = Columns(vocabulary)
    if columns.turns:
        yield columns.finish()
