"""dstress's own layout: a dialogue a line in `SPLIT.jsonl`, and `SPLIT.schema.json` or one `schema.json` beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from dstress.corpora.base import Importer, LocatedDialogue, Split
from dstress.corpora.checks import derived_schema
from dstress.corpora.reading import decode, find_split, in_order, misfit
from dstress.dialogue import Dialogue, Schema
from dstress.storage.sources import Source, SourceFile

_DIALOGUE = msgspec.json.Decoder(Dialogue)
_SCHEMA = msgspec.json.Decoder(Schema)


class Jsonl(Importer):
    """dstress JSONL: what `dstress stress` writes, and the easiest layout to write by hand."""

    name: ClassVar[str] = "dstress"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return any(b'"turns"' in file.head() for file in source.ending(".jsonl"))

    def splits(self, source: Source) -> Iterator[Split]:
        by_name = {_name(file): file for file in source.ending(".jsonl")}
        for name in in_order(by_name):
            file = by_name[name]
            yield Split(name, _schema(source, file, name), _Lines(file))


def _name(file: SourceFile) -> str:
    stem = file.stem.removesuffix(".jsonl")
    return stem if find_split(stem) is None else find_split(stem) or stem


def _schema(source: Source, file: SourceFile, name: str) -> Schema:
    """The split's own schema, else the common one, else what its states use."""
    for candidate in (file.stem.removesuffix(".jsonl") + ".schema.json", f"{name}.schema.json", "schema.json"):
        for found in source.named(candidate):
            return decode(_SCHEMA, found)
    return derived_schema(dialogue for _, dialogue in _Lines(file)())


class _Lines:
    """A dialogue a line, never more than one in memory."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file

    def __call__(self) -> Iterator[LocatedDialogue]:
        for number, line in enumerate(self.file.lines(), start=1):
            if line.strip():
                where = f"{self.file.label}, line {number}"
                try:
                    yield where, _DIALOGUE.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise misfit(error, where, line) from None
