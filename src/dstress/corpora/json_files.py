"""JSON files of a source, decoded with a message that names the file."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from dstress.errors import CorpusError
from dstress.storage.sources import SourceFile

T = TypeVar("T")


def decode(decoder: msgspec.json.Decoder[T], file: SourceFile) -> T:
    """Decode a whole file; what does not fit is a CorpusError that says where and what."""
    return decode_part(decoder, file.read(), file.label)


def decode_part(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw, where: str) -> T:
    """Decode a line or an entry of a file; `where` is what messages call it."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _misfit(error, where, bytes(data)) from None


def _misfit(error: Exception, where: str, data: bytes) -> CorpusError:
    """The message for bytes that are not what the layout says."""
    if not data.strip():
        return CorpusError("the file is empty", where=where)
    if isinstance(error, UnicodeDecodeError):
        return CorpusError(f"not UTF-8 text ({error.reason} at byte {error.start:,})", where=where, fix="save as UTF-8")
    if isinstance(error, msgspec.ValidationError):
        return CorpusError(f"does not have the layout's shape: {error}", where=where)
    return CorpusError(f"not valid JSON: {error}", where=where, fix="fetch the file again, it may be truncated")
