"""What a metric says of each unit of a system: what comparisons and metrics over several versions are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dstress.corpora.base import Corpus
from dstress.dialogue import Turn
from dstress.errors import DstressError, PredictionError
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Booleans
from dstress.scoring.alignment.pairing import key
from dstress.scoring.metrics import metrics
from dstress.scoring.metrics.base import Floats
from dstress.scoring.metrics.consistency import Names
from dstress.scoring.open_pair import LoadedSystem, PredictionSource, located
from dstress.scoring.resampling import evaluate
from dstress.scoring.score import ScoringOptions, tally_predictions
from dstress.scoring.slices import SLICES, UNCUT, Slicing, cuts_units, parts


class UnitPart(NamedTuple):
    """One key of a slice: which units have it, and the value of every unit's part of it."""

    units: Booleans
    values: Floats


class UnitSlice(NamedTuple):
    """A slice, key by key. `nothing` is the value of units of which a key has no part; `cuts`: keys share units."""

    keys: dict[str, UnitPart]
    nothing: Floats
    cuts: bool

    def part(self, key: str) -> UnitPart:
        """One key, also where no unit has it."""
        return self.keys.get(key) or UnitPart(np.zeros(len(self.nothing), np.bool_), self.nothing)


class UnitScores(NamedTuple):
    """A value for each unit, by its name `dialogue/turn/part`, and the gold turn that it is of.

    `unit` is `turn` or `frame`, `corpus` and `data` are a signature's.
    """

    names: Names
    values: Floats
    turns: list[Turn]
    unit: str
    corpus: str
    data: str = ""
    slices: Mapping[str, UnitSlice] = MappingProxyType({})


class UnitCollector:
    """Watches alignments and keeps what a metric says of each unit."""

    def __init__(
        self,
        metric: str,
        turns: Mapping[str, list[int]] | None = None,
        *,
        by_service: bool = True,
        slicing: Slicing = UNCUT,
    ) -> None:
        self.metric, self.turns, self.by_service = metrics.create(metric), turns or {}, by_service
        self.slicing = slicing
        self._slices: dict[str, list[UnitSlice]] = {name: [] for name in slicing.by}
        self._names: list[str] = []
        self._values: list[Floats] = []
        self._turns: list[Turn] = []
        self._missing: list[str] = []
        self._unit = ""

    def __call__(self, alignment: Alignment) -> None:
        """Take the units of one alignment in."""
        by_turn = self.metric.by_turn
        self._missing.append(self.metric.missing(alignment))
        self._unit = "turn" if by_turn else alignment.convention.unit
        self._names += unit_names(alignment, self.turns, by_turn=by_turn, by_service=self.by_service)
        self._values.append(self._evaluated(alignment))
        for name, shards in self._slices.items():
            shards.append(self._sliced(name, alignment))
        turns = alignment.columns.turns
        self._turns += turns if by_turn else [turns[turn] for turn in alignment.unit_turn.tolist()]

    def _evaluated(self, alignment: Alignment) -> Floats:
        return evaluate(self.metric.value, self.metric.statistics(alignment))

    def _sliced(self, name: str, alignment: Alignment) -> UnitSlice:
        if not self._can_slice(name, alignment):
            if self.slicing.lenient:
                return UnitSlice({}, self._values[-1], cuts=False)
            possible = [other for other in SLICES if self._can_slice(other, alignment)]
            fix = f"possible: {', '.join(possible)}" if possible else "leave the slices out"
            convention = alignment.convention.name
            raise DstressError(f"{self.metric.name} under {convention} cannot be cut by {name!r}", fix=fix)
        cut_parts, whole = parts(name, alignment, self.slicing), self._values[-1]
        if not cuts_units(name, alignment):
            return UnitSlice({key: UnitPart(part.units, whole) for key, part in cut_parts.items()}, whole, cuts=False)
        keys = {key: UnitPart(part.units, self._evaluated(part.alignment)) for key, part in cut_parts.items()}
        return UnitSlice(keys, self._evaluated(alignment.restricted(frozenset())), cuts=True)

    def _can_slice(self, name: str, alignment: Alignment) -> bool:
        """A metric of whole turns has no parts where frames are scored; of one slot alone only jga has a meaning."""
        if self.metric.by_turn and alignment.convention.unit == "frame":
            return False
        if name == "slot":
            return self.metric.name == "jga"
        return self.metric.restrictable or not cuts_units(name, alignment)

    def scores(self, corpus: Corpus) -> UnitScores:
        """All that was collected of a corpus."""
        if all(self._missing):
            raise PredictionError(f"{self.metric.name} cannot be computed: {self._missing[0]}", where=corpus.name)
        names, values = np.array(self._names, np.str_), np.concatenate(self._values)
        slices = {name: _joined(shards) for name, shards in self._slices.items()}
        return UnitScores(names, values, self._turns, self._unit, corpus.signature, corpus.data, slices)


def _joined(shards: Sequence[UnitSlice]) -> UnitSlice:
    """The slice of all shards: a key that a shard does not have is nothing there."""
    keys = {}
    for name in dict.fromkeys(name for shard in shards for name in shard.keys):
        units, values = zip(*(shard.part(name) for shard in shards), strict=True)
        keys[name] = UnitPart(np.concatenate(units), np.concatenate(values))
    return UnitSlice(keys, np.concatenate([shard.nothing for shard in shards]), shards[0].cuts)


def score_units(
    system: LoadedSystem,
    convention: str,
    metric: str,
    options: ScoringOptions,
    *,
    by_service: bool = True,
    slicing: Slicing = UNCUT,
) -> UnitScores:
    """What a metric says of every unit of a system, under one convention."""
    collector = UnitCollector(metric, system.turns, by_service=by_service, slicing=slicing)
    with located(system.name):
        source = PredictionSource(system.predictions, system.corpus)
        tally_predictions(source, [convention], [metric], (), options, [collector])
    return collector.scores(system.corpus)


def unit_names(
    alignment: Alignment, turns: Mapping[str, list[int]], *, by_turn: bool = False, by_service: bool = True
) -> Iterator[str]:
    """`dialogue/turn/part`; the part is the frame's service, or its position where services have other names."""
    columns = alignment.columns
    ids = [key(dialogue) for dialogue in columns.dialogues]
    by_frame = alignment.convention.unit == "frame" and not by_turn
    unit_turn = alignment.unit_turn if by_frame else np.arange(len(columns.turns))
    position = np.arange(len(unit_turn)) - np.searchsorted(unit_turn, unit_turn)
    for unit, turn in enumerate(unit_turn.tolist()):
        dialogue, index = ids[columns.turn_dialogue[turn]], int(columns.turn_number[turn])
        number = turns[dialogue][index] if dialogue in turns else index
        part = columns.services[alignment.unit_service[unit]] if by_frame and by_service else position[unit]
        yield f"{dialogue}/{number}/{part}"
