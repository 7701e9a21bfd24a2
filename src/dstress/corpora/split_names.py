"""What the field calls its splits, and which split a file or a folder holds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from dstress.storage.sources import Source, SourceFile

SPLIT_NAMES: dict[str, str] = {"train": "train", "training": "train", "test": "test"} | dict.fromkeys(
    ("dev", "val", "valid", "validate", "validation", "development"), "dev"
)
"""What the field calls its splits -> the three that they are. `multiwoz21:val` and `multiwoz21:dev` are the same."""

UNNAMED = "all"
"""The split of a source that does not say which it is."""
_ORDER = ("train", "dev", "test")
_OF_LANGUAGE = re.compile(r"([a-z]+)((?:_[a-z]{2})+)")
_WORDS = re.compile(r"[a-z0-9]+")


def canonical_split(name: str) -> str:
    """train, dev or test for any of the field's words for them, `dev_de` for `validate_de`; other names as they are."""
    word, language = _part(name)
    return f"{SPLIT_NAMES[word.casefold()]}{language}" if word.casefold() in SPLIT_NAMES else name


def training_split(names: Iterable[str], split: str) -> str | None:
    """The training split that goes with a split: `train`, or `train_de` with `test_de`."""
    word, language = _part(split)
    return same_split(names, f"train{language}" if word in SPLIT_NAMES else "train")


def _part(name: str) -> tuple[str, str]:
    """`test_de` -> `test`, `_de`."""
    match = _OF_LANGUAGE.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def same_split(names: Iterable[str], split: str) -> str | None:
    """The first of the names that means the wanted split: `dev`, `val` and `validation` all find the same one."""
    return next((name for name in names if canonical_split(name) == canonical_split(split)), None)


def sort_splits(names: Iterable[str]) -> list[str]:
    """Splits as people list them: train, dev, test, then the others by name."""

    def key(name: str) -> tuple[int, str]:
        split = canonical_split(find_split(name) or name)
        return (_ORDER.index(split) if split in _ORDER else len(_ORDER), name)

    return sorted(names, key=key)


def find_split(text: str) -> str | None:
    """The split that a file or folder name tells of, in the source's own word: `test_dials.json` -> `test`."""
    words = _WORDS.findall(text.casefold())
    return next((word for word in reversed(words) if word in SPLIT_NAMES), None)


def split_of_file(file: SourceFile, ending: str) -> str:
    """The split that a file's name tells of, else the name itself without its ending."""
    return find_split(file.stem) or file.stem.removesuffix(ending)


def split_of_folder(folder: str, source: Source) -> str:
    """The split that a folder inside a source holds, else the one that the source's own name tells of."""
    return (
        find_split(PurePath(folder).name) or find_split(folder) or find_split(PurePath(source.address).name) or UNNAMED
    )
