"""Tables: word lists, label maps and dictionaries that ship beside the code, and those that a person writes.

Patterns over utterances are plain words there, with a shorthand for what corpora write in many ways: a blank is any
white space and " ?" perhaps some; ' is an apostrophe, parted or not ("I'm", "I 'm", "i m"), n't likewise. LAST sees,
but does not take, the end of a sentence or a comma.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from dstress.errors import DstressError

_APOSTROPHE = r"(?:\s?['’]|\s)"
_WRITTEN = {
    "n't": rf"{_APOSTROPHE}?n['’]?t",
    "'": _APOSTROPHE,
    " ?": r"\s*",
    " ": r"\s+",
    "LAST": r"(?=\s*[.?!,]|\s*$)",
}
_SHORTHAND = re.compile(r"n't|'| \?| |LAST")


@cache
def read_table(package: str, name: str) -> dict[str, Any]:
    """The TOML file `name` of a package, which says `__package__` of itself. Read once: nobody may change it."""
    return tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8"))


def word_sets(package: str, name: str) -> Callable[[str], frozenset[str]]:
    """A reader of a table's words: those of a list, or of a text with blanks; `flags.yes` is `yes` under `flags`."""

    @cache
    def read_words(key: str) -> frozenset[str]:
        words: Any = read_table(package, name)
        for part in key.split("."):
            words = words[part]
        return frozenset(words.split() if isinstance(words, str) else words)

    return read_words


def is_table_file(text: str) -> bool:
    """Whether a text names a table that a person wrote, in TOML or JSON."""
    return Path(text).suffix.casefold() in (".toml", ".json")


def read_table_file(path: str | Path, kind: str) -> Any:
    """What the file holds; `kind` is what it should be, for messages. A key that is there twice is an error."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.casefold() == ".json":
            return json.loads(text, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite)
        return tomllib.loads(text, parse_float=_finite)
    except (OSError, UnicodeDecodeError) as error:
        raise DstressError(f"cannot read the {kind}: {error}", where=str(path)) from error
    except (ValueError, RecursionError) as error:  # both readers raise subclasses of the first
        raise DstressError(f"this is no {path.suffix[1:].upper()}: {error}", where=str(path)) from error


def _finite(text: str) -> float:
    """A number that can be counted with: nobody means the other ones, and they pass every check of a range."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. Its reader would silently keep the last of two lists for one slot; TOML's does not."""
    unique: dict[str, Any] = {}
    for key, value in pairs:
        if key in unique:
            raise ValueError(f"{key!r} is there twice")
        unique[key] = value
    return unique


def expand_shorthand(pattern: str) -> str:
    """The regular expression that a pattern of a table stands for."""
    return _SHORTHAND.sub(lambda match: _WRITTEN[match.group()], pattern)
