"""JSON files of a source, decoded with a message that names the file."""

from __future__ import annotations

from collections.abc import Iterable
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
        raise _misfit(error, where, bytes(data)) from None


def _misfit(error: Exception, where: str, data: bytes) -> CorpusError:
    """The message for bytes that are not what the layout says."""
    if not data.strip():
        return CorpusError("the file is empty", where=where)
    if isinstance(error, UnicodeDecodeError):
        return CorpusError(f"not UTF-8 text ({error.reason} at byte {error.start:,})", where=where, fix="save as UTF-8")
    if isinstance(error, RecursionError):
        return CorpusError("nested too deeply to be dialogues", where=where)
    if isinstance(error, msgspec.ValidationError):
        return CorpusError(f"does not have the layout's shape: {error}", where=where)
    return CorpusError(f"not valid JSON: {error}", where=where, fix="fetch the file again, it may be truncated")


def write_json(path: Path, content: Any) -> None:
    """Write a small document, whole or not at all."""
    with replacing(path) as out:
        out.write(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def write_list(path: Path, items: Iterable[Any]) -> None:
    """Write a list, an item a line, without holding it."""
    with replacing(path) as out:
        for number, item in enumerate(items):
            out.write((b",\n" if number else b"[\n") + msgspec.json.encode(item))
        out.write(b"\n]\n")


def write_object(path: Path, members: Iterable[tuple[str, Any]]) -> None:
    """Write an object, a member a line, without holding it."""
    with replacing(path) as out:
        for number, (name, member) in enumerate(members):
            out.write((b",\n" if number else b"{\n") + msgspec.json.encode(name) + b":" + msgspec.json.encode(member))
        out.write(b"\n}\n")
