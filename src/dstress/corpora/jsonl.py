"""dstress's own layout: a dialogue a line in `SPLIT.jsonl`, and `SPLIT.schema.json` or one `schema.json` beside it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

import msgspec

from dstress.corpora.base import Corpus, Importer, LocatedDialogue, Split
from dstress.corpora.checks import derive_schema
from dstress.corpora.json_files import decode, decode_part
from dstress.corpora.languages import find_language
from dstress.corpora.split_names import sort_splits, split_of_file
from dstress.dialogue import Dialogue, Schema
from dstress.storage.atomic import replacing
from dstress.storage.file_names import file_name
from dstress.storage.sources import Source, SourceFile


class _Stressed(msgspec.Struct):
    language: str = ""


_STRESSED = msgspec.json.Decoder(_Stressed)
_DIALOGUE = msgspec.json.Decoder(Dialogue)
_SCHEMA = msgspec.json.Decoder(Schema)


class Jsonl(Importer):
    """dstress JSONL: what `dstress stress` writes, and the easiest layout to write by hand."""

    name: ClassVar[str] = "dstress"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return any(b'"turns"' in file.head() for file in source.ending(".jsonl"))

    def splits(self, source: Source) -> Iterator[Split]:
        by_name = {split_of_file(file, ".jsonl"): file for file in source.ending(".jsonl")}
        for name in sort_splits(by_name):
            file = by_name[name]
            language = _read_language(source) or find_language(_read_lines(file))
            yield Split(name, _read_schema(source, file, name), partial(_read_lines, file), language)

    def write(self, corpus: Corpus, folder: Path) -> None:
        name = file_name(corpus.split)
        with replacing(folder / f"{name}.jsonl") as lines:
            for dialogue in corpus:
                lines.write(msgspec.json.encode(dialogue) + b"\n")
        with replacing(folder / f"{name}.schema.json") as out:
            out.write(msgspec.json.encode(corpus.schema))


def _read_schema(source: Source, file: SourceFile, name: str) -> Schema:
    """The split's own schema, else the common one, else what its states use."""
    for candidate in (file.stem.removesuffix(".jsonl") + ".schema.json", f"{name}.schema.json", "schema.json"):
        for schema in source.named(candidate):
            return decode(_SCHEMA, schema)
    return derive_schema(dialogue for _, dialogue in _read_lines(file))


def _read_language(source: Source) -> str:
    """What `stress.json` says of a stressed corpus; empty where there is none."""
    return next((decode(_STRESSED, file).language for file in source.named("stress.json")), "")


def _read_lines(file: SourceFile) -> Iterator[LocatedDialogue]:
    """A dialogue a line, never more than one in memory."""
    for number, line in enumerate(file.lines(), start=1):
        if line.strip():
            where = f"{file.label}, line {number}"
            yield where, decode_part(_DIALOGUE, line, where)
