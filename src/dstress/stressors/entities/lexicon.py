"""Words that tell names from other words."""

from __future__ import annotations

from functools import cache
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
