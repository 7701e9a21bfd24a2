"""The catalogue: where known corpora come from, under which licence, and what an import of them should count."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

import msgspec


class CatalogueEntry(msgspec.Struct, frozen=True):
    """A corpus that dstress knows of. `within` is the part of the archive that holds it."""

    title: str
    version: str
    url: str
    licence: str
    citation: str
    git: str = ""
    within: str = ""
    note: str = ""
    dialogues: dict[str, int] = {}
    turns: dict[str, int] = {}


@cache
def catalogue() -> dict[str, CatalogueEntry]:
    """Every known corpus by name."""
    text = files("dstress.corpora").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, CatalogueEntry])
