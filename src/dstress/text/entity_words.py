"""Words that tell names from other words."""

from __future__ import annotations

from functools import cache, lru_cache

from dstress.text.tables import read_table, word_sets

_words = word_sets(__package__, "data/entity_words.toml")


@cache
def entity_words(name: str) -> frozenset[str]:
    """A list of `entity_words.toml`; `idle`: little words and kinds, which stay as they are inside a name."""
    if name == "idle":
        return entity_words("little") | entity_words("kinds")
    return _words(name)


@cache
def regions() -> dict[str, str]:
    """What may stand behind a town's comma ("London, England"), and the manner in which places are called there."""
    return {name: manner for manner, names in read_table(__package__, "data/regions.toml").items() for name in names}


@lru_cache(maxsize=16_384)
def split_region(value: str) -> tuple[str, str]:
    """`Seattle` and `, WA`; a value whose last comma has no region behind it is not split."""
    head, comma, behind = value.rpartition(",")
    if comma and head.strip() and behind.replace(".", "").strip().lower() in regions():
        return head, comma + behind
    return value, ""
