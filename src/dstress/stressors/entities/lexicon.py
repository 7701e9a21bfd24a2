"""Words that tell names from other words."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from dstress.text.tables import read_table


class EntityWords(NamedTuple):
    """Little words, kinds of places, ordinary English words, towns, and words beside a town or in a street's name."""

    little: frozenset[str]
    kinds: frozenset[str]
    ordinary: frozenset[str]
    towns: frozenset[str]
    within: frozenset[str]
    streets: frozenset[str]
    idle: frozenset[str]
    """Little words and kinds: what stays as it is inside a name."""


@cache
def entity_words() -> EntityWords:
    """The words of `lexicon.toml`."""
    table = {name: frozenset(words.split()) for name, words in read_table(__package__, "lexicon.toml").items()}
    return EntityWords(**table, idle=table["little"] | table["kinds"])


@cache
def regions() -> dict[str, str]:
    """What may stand behind a town's comma ("London, England"), and the manner in which places are called there."""
    return {name: manner for manner, names in read_table(__package__, "regions.toml").items() for name in names}


@lru_cache(maxsize=16_384)
def split_region(value: str) -> tuple[str, str]:
    """`Seattle` and `, WA`; a value whose last comma has no region behind it is not split."""
    head, comma, behind = value.rpartition(",")
    if comma and head.strip() and behind.replace(".", "").strip().lower() in regions():
        return head, comma + behind
    return value, ""
