"""Predictions opened together with their gold: the one way in which a prediction file becomes something to score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from dstress import corpora
from dstress.corpora.base import Corpus
from dstress.corpora.checks import derive_schema
from dstress.dialogue import Dialogue
from dstress.errors import DstressError, PredictionError
from dstress.predictions import detect, formats
from dstress.predictions.base import Format, Prediction
from dstress.predictions.plain import Plain, is_frame, read_plain, read_plain_gold
from dstress.scoring.alignment.own_gold import own_gold
from dstress.scoring.alignment.pairing import key
from dstress.storage.sources import Source, open_source

Predictions = str | Path | Iterable[Prediction] | Plain
Gold = str | Path | Corpus | Iterable[Dialogue] | Plain
_PLAIN = "exact"
"""The convention of predictions that no file format speaks for."""


class PredictionSource(NamedTuple):
    """Predictions, as a file or themselves, and the gold that they answer to; without gold, the file's own."""

    predictions: Predictions
    gold: Gold | None = None


class OpenPair(NamedTuple):
    """Predictions as they arrive, beside their gold; `convention` is that of the script that reads such files.

    `turns` has the numbers that the turns of each dialogue had in a file with its own gold, which numbers them anew.
    `reader` and `source` are there for a file.
    """

    corpus: Corpus
    predictions: Iterable[Prediction]
    convention: str
    turns: Mapping[str, list[int]] = MappingProxyType({})
    reader: Format | None = None
    source: Source | None = None


class LoadedSystem(NamedTuple):
    """A system's predictions in memory, with their gold (see `OpenPair`)."""

    name: str
    predictions: list[Prediction]
    corpus: Corpus
    convention: str
    turns: Mapping[str, list[int]]


@contextmanager
def open_pair(source: PredictionSource, format_name: str = "") -> Iterator[OpenPair]:
    """Open predictions with the gold that is named, or else with the gold that they carry."""
    predictions, gold = source
    corpus = load_gold(gold)
    if not isinstance(predictions, str | Path):
        read = read_plain(predictions, "predictions", corpus.schema if corpus else None)
        yield OpenPair(corpus, read, _PLAIN) if corpus else _carried("predictions", list(read), _PLAIN)
        return
    with open_source(predictions) as opened:
        reader = formats.create(format_name) if format_name else detect(opened)
        if corpus is not None:
            reader.choose(opened, corpus.split)
            yield OpenPair(corpus, reader.read(opened, corpus.schema), reader.convention, reader=reader, source=opened)
        elif reader.carries_gold:
            yield _carried(Path(predictions).name, list(reader.read(opened)), reader.convention)
        else:
            raise PredictionError(
                f"the format {reader.name!r} carries no gold", where=str(predictions), fix="add --gold CORPUS:SPLIT"
            )


def load_gold(gold: Gold | None) -> Corpus | None:
    """Gold by its name, as dialogues, or as plain states, which make a corpus without words."""
    if gold is None or isinstance(gold, Corpus):
        return gold
    if isinstance(gold, str | Path):
        return corpora.load(str(gold))
    dialogues = [] if isinstance(gold, Mapping) or is_frame(gold) else list(gold)
    if dialogues and all(isinstance(item, Dialogue) for item in dialogues):
        return Corpus("gold", "", derive_schema(dialogues), lambda: iter(dialogues))
    return own_gold("gold", read_plain_gold(dialogues or gold, "gold"))[0]


def _carried(name: str, predictions: list[Prediction], convention: str) -> OpenPair:
    turns: dict[str, list[int]] = {}
    for prediction in predictions:
        turns.setdefault(key(prediction.dialogue), []).append(prediction.turn)
    corpus, numbered = own_gold(name, predictions)
    return OpenPair(corpus, numbered, convention, {dialogue: sorted(numbers) for dialogue, numbers in turns.items()})


def load_system(source: PredictionSource, name: str, format_name: str = "") -> LoadedSystem:
    """Read a system's predictions into memory, with their gold."""
    with located(name), open_pair(source, format_name) as pair:
        return LoadedSystem(name, list(pair.predictions), pair.corpus, pair.convention, pair.turns)


def usual_convention(systems: Sequence[LoadedSystem]) -> str:
    """The convention of the scripts that read such files, if it is one."""
    usual = dict.fromkeys(system.convention for system in systems)
    if len(usual) > 1:
        raise PredictionError(
            f"these files are usually scored in different ways: {', '.join(usual)}", fix="name one with --convention"
        )
    return next(iter(usual))


@contextmanager
def located(name: str) -> Iterator[None]:
    """Say whose fault it is, where a message does not: several systems are in play."""
    try:
        yield
    except DstressError as error:
        error.where = error.where or name
        raise
