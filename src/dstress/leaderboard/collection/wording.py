"""What workers are told about each thing they write; the texts are in `wording.toml`."""

from __future__ import annotations

from functools import cache

import msgspec

from dstress.text.tables import read_table


class Wording(msgspec.Struct, frozen=True):
    """A title, and what is asked for."""

    title: str
    about: str


@cache
def wordings(kind: str) -> dict[str, Wording]:
    """Those of `rewrites` or of `elements`, by name."""
    return msgspec.convert(read_table(__package__, "wording.toml")[kind], dict[str, Wording])
