"""Prediction files: found by their shape, read turn by turn, written whole.

`read_predictions("preds.json")` is all that most callers need. A new format is one file beside these, listed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dstress.dialogue import Schema
from dstress.errors import PredictionError
from dstress.predictions.base import Format, FramePrediction, Prediction
from dstress.predictions.shape import Shape, shape_of
from dstress.registry import Registry
from dstress.storage.sources import Source, open_source

__all__ = [
    "Format",
    "FramePrediction",
    "Prediction",
    "UnknownFormatError",
    "detect",
    "formats",
    "read_predictions",
    "write_predictions",
]

_QUOTED = re.compile(r'"(\w+)"')

formats: Registry[Format] = Registry(
    "format",
    Format,
    {
        "dstress": "dstress.predictions.jsonl:Jsonl",
        "calls": "dstress.predictions.calls:Calls",
        "checkdst": "dstress.predictions.checkdst:CheckDst",
        "parlai": "dstress.predictions.checkdst:Parlai",
        "sgd": "dstress.predictions.sgd:Sgd",
        "trippy": "dstress.predictions.trippy:Trippy",
        "convlab": "dstress.predictions.convlab:ConvLab",
        "trade": "dstress.predictions.trade:Trade",
        "gca": "dstress.predictions.gca:Gca",
        "trippy-matches": "dstress.predictions.slot_matches:SlotMatches",
        "som-dst": "dstress.predictions.trade:SomDst",
        "mwzeval": "dstress.predictions.mwzeval:Mwzeval",
        "states": "dstress.predictions.states:States",
        "t5dst": "dstress.predictions.trade:T5Dst",
        "simpletod": "dstress.predictions.simpletod:SimpleTod",
        "pptod": "dstress.predictions.pptod:Pptod",
        "fnctod": "dstress.predictions.pptod:FncTod",
        "ic-dst": "dstress.predictions.icdst:IcDst",
        "dstc10": "dstress.predictions.dstc10:Dstc10",
        "flat": "dstress.predictions.flat:Flat",
        "csv": "dstress.predictions.csv_table:CsvTable",
    },
)
"""In the order in which they are tried."""


class UnknownFormatError(PredictionError):
    """A file in no known format. `nearest` is the format that it is most like, and `lacks` what it lacks of it."""

    nearest = lacks = ""


def detect(source: Source) -> Format:
    """The format whose shape the source has. No match is an error that says what the nearest format lacks."""
    for name in formats.usable():
        if formats.get(name).matches(source):
            return formats.create(name)
    shape = shape_of(source)
    problem, fix = f"no known prediction format looks like this: {shape}", "docs/predictions.md shows every format"
    nearest = lacks = ""
    try:
        nearest = _nearest(shape)
        for _ in formats.create(nearest).read(source):
            break
    except PredictionError as error:
        if shape.head.strip():
            lacks = error.problem
            problem, fix = f"{problem}; the nearest is {nearest}: {lacks}", f"{error.fix}; {fix}".lstrip("; ")
    unknown = UnknownFormatError(problem, where=source.address, fix=fix)
    unknown.nearest, unknown.lacks = nearest if lacks else "", lacks
    raise unknown


def _nearest(shape: Shape) -> str:
    """The format that shares most keys with a file, by the keys that its summary quotes; else the plainest one."""
    if shape.kind == "other":
        return "csv"
    nested = [*shape.records.values(), shape.turn, *(shape.listed or [])[:1], shape.item]
    keys = {*shape.members, *(key for record in nested if isinstance(record, dict) for key in record)}
    shared = {name: len(keys & {*_QUOTED.findall(formats.summary(name))}) for name in formats.usable()}
    best = max(shared, key=lambda name: shared[name])
    if shared[best] > 1:
        return best
    is_nested = bool(shape.members) and all(isinstance(part, dict | list) for part in shape.members.values())
    return "states" if is_nested and not shape.records else "flat"


def read_predictions(
    paths: str | Path | Sequence[str | Path], *, schema: Schema | None = None, format: str | None = None
) -> Iterator[Prediction]:
    """Every prediction in a file, a folder, an archive, or several of them. Streams; the source is closed at the end.

    `schema` settles how slots are spelled; without it MultiWOZ's thirty names are the reference.
    """
    with open_source(*([paths] if isinstance(paths, str | Path) else paths)) as source:
        reader = formats.create(format) if format else detect(source)
        yield from reader.read(source, schema)


def write_predictions(predictions: Iterable[Prediction], path: str | Path, format: str = "dstress") -> None:
    """Write predictions, whole or not at all. Not every format holds everything that a prediction can say."""
    formats.create(format).write(predictions, Path(path))
