"""The catalogue: where known corpora come from, under which licence, and what an import of them should count."""

from __future__ import annotations

from functools import cache

import msgspec

from dstress.text.tables import read_table


class CatalogueEntry(msgspec.Struct, frozen=True):
    """A corpus that dstress knows of. `within` is the part of the archive that holds it."""

    title: str
    version: str
    url: str
    licence: str
    citation: str
    git: str = ""
    sha256: str = ""
    within: str = ""
    note: str = ""
    dialogues: dict[str, int] = {}
    turns: dict[str, int] = {}


@cache
def catalogue() -> dict[str, CatalogueEntry]:
    """Every known corpus by name."""
    return msgspec.convert(read_table(__package__, "catalogue.toml"), dict[str, CatalogueEntry])
