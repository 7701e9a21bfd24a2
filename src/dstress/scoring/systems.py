"""Runs in memory, with what a metric says of each of their units: what comparisons are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dstress import corpora
from dstress.alignment.cells import Alignment
from dstress.alignment.columns import gather
from dstress.alignment.own_gold import own_gold
from dstress.alignment.pairing import Pairing, key
from dstress.conventions import conventions
from dstress.conventions.base import Convention
from dstress.corpora.base import Corpus
from dstress.errors import DstressError, PredictionError
from dstress.metrics.base import Floats, Metric
from dstress.metrics.consistency import Names
from dstress.predictions import detect, formats
from dstress.predictions.base import Prediction
from dstress.scoring.resampling import evaluate
from dstress.scoring.score import Options
from dstress.storage.sources import open_source

OPTIONS = Options(resamples=10_000)
"""More resamples than a single score needs: a p-value is never smaller than one over their number."""
_BATCH = 1000

Predictions = str | Path | Iterable[Prediction]


class Run(NamedTuple):
    """Predictions, as a file or themselves, and the gold that they answer to; without gold, the file's own."""

    predictions: Predictions
    gold: str | Corpus | None = None


class Held(NamedTuple):
    """A run in memory: its gold, and, where that is the file's own, the turn numbers that the file had."""

    name: str
    predictions: list[Prediction]
    corpus: Corpus
    usual: str
    numbers: dict[str, list[int]]


class Judged(NamedTuple):
    """What a metric says of each unit of a run."""

    names: Names
    values: Floats
    unit: str


def hold(run: Run, options: Options, name: str) -> Held:
    """Read a run into memory, with its gold."""
    corpus = corpora.load(run.gold) if isinstance(run.gold, str) else run.gold
    if not isinstance(run.predictions, str | Path):
        predictions, usual = list(run.predictions), "exact"
    else:
        with open_source(run.predictions) as source:
            reader = formats.create(options.format) if options.format else detect(source)
            predictions, usual = list(reader.read(source, corpus.schema if corpus else None)), reader.convention
            if corpus is None and not reader.carries_gold:
                problem = f"the format {reader.name!r} carries no gold"
                raise PredictionError(problem, where=str(run.predictions), fix="name the gold, CORPUS:SPLIT")
    if corpus is not None:
        return Held(name, predictions, corpus, usual, {})
    numbers: dict[str, list[int]] = {}
    for prediction in predictions:
        numbers.setdefault(key(prediction.dialogue), []).append(prediction.turn)
    called = Path(run.predictions).name if isinstance(run.predictions, str | Path) else name
    corpus, numbered = own_gold(called, predictions)
    return Held(name, numbered, corpus, usual, {dialogue: sorted(turns) for dialogue, turns in numbers.items()})


def usual_convention(held: Sequence[Held]) -> str:
    """The convention of the scripts that read such files, if it is one."""
    found = dict.fromkeys(run.usual for run in held)
    if len(found) > 1:
        raise PredictionError(
            f"these files are usually scored in different ways: {', '.join(found)}", fix="name one with --convention"
        )
    return next(iter(found))


def judge(run: Held, text: str, metric: Metric, options: Options, *, by_service: bool = True) -> Judged:
    """What a metric says of every unit of a run, under one convention."""
    convention = conventions.create(text)
    pairing = Pairing(run.corpus, run.predictions, run.corpus.schema)
    names: list[str] = []
    values: list[Floats] = []
    reasons: list[str] = []
    for alignment in _alignments(pairing, run.corpus, convention):
        reasons.append(metric.missing(alignment))
        names += _unit_names(alignment, run.numbers, by_turn=metric.by_turn, by_service=by_service)
        values.append(evaluate(metric.value, metric.statistics(alignment)))
    _check(pairing, convention, run, options)
    if all(reasons):
        raise PredictionError(f"{metric.name} cannot be computed: {reasons[0]}", where=run.name)
    unit = "turn" if metric.by_turn else convention.unit
    return Judged(np.array(names, np.str_), np.concatenate(values), unit)


def _alignments(pairing: Pairing, corpus: Corpus, convention: Convention) -> Iterator[Alignment]:
    arriving = iter(pairing)
    while batch := list(islice(arriving, _BATCH)):
        yield Alignment(gather(corpus.schema, batch), convention)


def _check(pairing: Pairing, convention: Convention, run: Held, options: Options) -> None:
    with located(run.name):
        pairing.require_predictions(run.corpus.name)
        if not options.allow_partial:
            pairing.require_complete(schema_only=convention.within_schema)


def _unit_names(
    alignment: Alignment, numbers: dict[str, list[int]], *, by_turn: bool, by_service: bool
) -> Iterator[str]:
    """`dialogue/turn/part`; the part is the frame's service, or its position where services have other names."""
    columns = alignment.columns
    ids = [key(dialogue) for dialogue in columns.dialogues]
    by_frame = alignment.convention.unit == "frame" and not by_turn
    turns = alignment.unit_turn if by_frame else np.arange(len(columns.turns))
    position = np.arange(len(turns)) - np.searchsorted(turns, turns)
    for unit, turn in enumerate(turns.tolist()):
        dialogue, index = ids[columns.turn_dialogue[turn]], int(columns.turn_index[turn])
        number = numbers[dialogue][index] if dialogue in numbers else index
        part = columns.services[alignment.unit_service[unit]] if by_frame and by_service else position[unit]
        yield f"{dialogue}/{number}/{part}"


@contextmanager
def located(name: str) -> Iterator[None]:
    """Say whose fault it is, where a message does not: several systems are in play."""
    try:
        yield
    except DstressError as error:
        error.where = error.where or name
        raise
