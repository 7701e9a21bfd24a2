"""What importers share: decoding with a message that names the file, and finding out which split a file is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import TypeVar

import msgspec

from dstress.errors import CorpusError
from dstress.storage.sources import Source, SourceFile

T = TypeVar("T")

SPLIT_NAMES: dict[str, str] = {"train": "train", "training": "train", "test": "test"} | dict.fromkeys(
    ("dev", "val", "valid", "validation", "development"), "dev"
)
"""What the field calls its splits -> the three that they are. `multiwoz21:val` and `multiwoz21:dev` are the same."""

UNNAMED = "all"
"""The split of a source that does not say which it is."""
_ORDER = ("train", "dev", "test")
_WORDS = re.compile(r"[a-z0-9]+")


def decode(decoder: msgspec.json.Decoder[T], file: SourceFile) -> T:
    """Decode a whole file; what does not fit is a CorpusError that says where and what."""
    data = file.read()
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise misfit(error, file.label, data) from None


def misfit(error: Exception, label: str, data: bytes) -> CorpusError:
    """The message for bytes that are not what the layout says."""
    if not data.strip():
        return CorpusError("the file is empty", where=label)
    if isinstance(error, UnicodeDecodeError):
        return CorpusError(f"not UTF-8 text ({error.reason} at byte {error.start:,})", where=label, fix="save as UTF-8")
    if isinstance(error, msgspec.ValidationError):
        return CorpusError(f"does not have the layout's shape: {error}", where=label)
    return CorpusError(f"not valid JSON: {error}", where=label, fix="fetch the file again, it may be truncated")


def canonical_split(name: str) -> str:
    """train, dev or test for any of the field's words for them; other names as they are."""
    return SPLIT_NAMES.get(name.casefold(), name)


def in_order(names: Iterable[str]) -> list[str]:
    """Splits as people list them: train, dev, test, then the others by name."""

    def key(name: str) -> tuple[int, str]:
        known = canonical_split(find_split(name) or name)
        return (_ORDER.index(known) if known in _ORDER else len(_ORDER), name)

    return sorted(names, key=key)


def find_split(text: str) -> str | None:
    """The split that a file or folder name tells of, in the source's own word: `test_dials.json` -> `test`."""
    words = _WORDS.findall(text.casefold())
    return next((word for word in reversed(words) if word in SPLIT_NAMES), None)


def split_name(folder: str, source: Source) -> str:
    """The split that a folder inside a source holds, else the one that the source's own name tells of."""
    return (
        find_split(PurePath(folder).name) or find_split(folder) or find_split(PurePath(source.address).name) or UNNAMED
    )
