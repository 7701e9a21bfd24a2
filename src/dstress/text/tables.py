"""Tables: word lists, label maps and dictionaries that ship beside the code, and those that a person writes."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from dstress.errors import DstressError


def read_table(package: str, name: str) -> dict[str, Any]:
    """The TOML file `name` of a package, which says `__package__` of itself."""
    return tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8"))


def is_table_file(text: str) -> bool:
    """Whether a text names a table that a person wrote, in TOML or JSON."""
    return Path(text).suffix.casefold() in (".toml", ".json")


def read_table_file(path: str | Path, kind: str) -> Any:
    """What the file holds; `kind` is what it should be, for messages. A key that is there twice is an error."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.casefold() == ".json":
            return json.loads(text, object_pairs_hook=_unique)
        return tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise DstressError(f"cannot read the {kind}: {error}", where=str(path)) from error
    except ValueError as error:  # both readers' errors are ones
        raise DstressError(f"this is no {path.suffix[1:].upper()}: {error}", where=str(path)) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. Its reader would silently keep the last of two lists for one slot; TOML's does not."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} is there twice")
        found[key] = value
    return found
