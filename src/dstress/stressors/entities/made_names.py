"""Names that nobody has, put together by rule for a kind of slot in the manner of a region (`made_names.toml`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from random import Random
from typing import Any

from dstress.dialogue import Schema
from dstress.stressors.entities.lexicon import entity_words
from dstress.stressors.entities.names import Words
from dstress.text.tables import read_table

MADE = "made"
REGIONS = ("british", "american")
"""The manners that have names of every kind; others have towns only, for dialogues that name their country."""
_PART = re.compile(r"\{(\w+)\}")
_NO_KINDS = frozenset(["north", "south", "east", "west", "northern", "southern", "eastern", "western", "central"])


def region_of(schema: Schema) -> str:
    """The manner of a corpus's names, by how its schema spells."""
    return "british" if any("centre" in slot.values for slot in schema.slots.values()) else "american"


@cache
def _table() -> dict[str, Any]:
    return read_table(__package__, "made_names.toml")


@cache
def _words(region: str, name: str) -> tuple[str, ...]:
    words = _table().get(region, {}).get(name) or _table()["everywhere"].get(name, ())
    return tuple(words.split() if isinstance(words, str) else words)


@cache
def _patterns(kind: str, region: str) -> tuple[str, ...]:
    patterns = _words(region, _table()["kinds"].get(kind, ""))
    return tuple(pattern for pattern in patterns if all(_words(region, part) for part in _PART.findall(pattern)))


def draw_name(kind: str, region: str, random: Random) -> str:
    """A name of a kind; empty where the region has no rule for it."""
    patterns = _patterns(kind, region)
    if not patterns:
        return ""
    return _PART.sub(lambda part: random.choice(_words(region, part[1])), random.choice(patterns))


def all_names(kind: str, region: str) -> Iterator[str]:
    """Every name that can be drawn."""
    for pattern in _patterns(kind, region):
        parts = _PART.findall(pattern)
        for words in product(*(_words(region, part) for part in parts)):
            left = iter(words)
            yield _PART.sub(lambda _, left=left: next(left), pattern)  # type: ignore[misc]


def kind_words(name: Words) -> Words:
    """What a name says that it is: `guest house`, `museum`. Behind the new name it keeps labels of types true."""
    kinds = entity_words().kinds - _NO_KINDS
    first = len(name)
    while first and (name[first - 1] in kinds or (name[first - 1] == "and" and name[first - 2] in kinds)):
        first -= 1  # also "bed and breakfast"
    inside = tuple(word for word in name if word in kinds)
    return name[first:] or inside[-1:]
