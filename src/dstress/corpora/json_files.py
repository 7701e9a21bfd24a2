"""JSON files of a source, decoded with a message that names the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dstress.errors import UNREADABLE_JSON, CorpusError
from dstress.storage.atomic import replacing
from dstress.storage.sources import SourceFile

T = TypeVar("T")


def decode(decoder: msgspec.json.Decoder[T], file: SourceFile) -> T:
    """Decode a whole file; what does not fit is a CorpusError that says where and what."""
    return decode_part(decoder, file.read(), file.label)


def decode_part(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw, where: str) -> T:
    """Decode a line or an entry of a file; `where` is what messages call it."""
    try:
        return decoder.decode(data)
    except UNREADABLE_JSON as error:
        fix = ""
        if not bytes(data).strip():
            problem = "the file is empty"
        elif isinstance(error, UnicodeDecodeError):
            problem, fix = f"not UTF-8 text ({error.reason} at byte {error.start:,})", "save as UTF-8"
        elif isinstance(error, RecursionError):
            problem = "nested too deeply to be dialogues"
        elif isinstance(error, msgspec.ValidationError):
            problem = f"does not have the layout's shape: {error}"
        else:
            problem, fix = f"not valid JSON: {error}", "fetch the file again, it may be truncated"
        raise CorpusError(problem, where=where, fix=fix) from None


def decode_lines(decoder: msgspec.json.Decoder[T], file: SourceFile) -> Iterator[tuple[str, T]]:
    """Each line that is not blank, decoded, with its place."""
    for number, line in enumerate(file.lines(), start=1):
        if line.strip():
            where = f"{file.label}, line {number}"
            yield where, decode_part(decoder, line, where)


def write_json(path: Path, content: Any) -> None:
    """Write a small document, whole or not at all."""
    with replacing(path) as out:
        out.write(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def write_list(path: Path, items: Iterable[Any]) -> None:
    """Write a list, an item a line, without holding it."""
    _write_lines(path, b"[", map(msgspec.json.encode, items), b"]")


def write_object(path: Path, members: Iterable[tuple[str, Any]]) -> None:
    """Write an object, a member a line, without holding it."""
    lines = (msgspec.json.encode(name) + b":" + msgspec.json.encode(member) for name, member in members)
    _write_lines(path, b"{", lines, b"}")


def _write_lines(path: Path, opening: bytes, lines: Iterable[bytes], closing: bytes) -> None:
    with replacing(path) as out:
        out.write(opening)
        for number, line in enumerate(lines):
            out.write((b",\n" if number else b"\n") + line)
        out.write(b"\n" + closing + b"\n")
