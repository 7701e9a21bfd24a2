"""Whether a predicted name was ever said: the ground of the no-hallucination frequency (CheckDST, section 2.3).

A generating tracker may predict an entity that it remembers from training. For every predicted value of a named-entity
slot (appendix B.1 asks for these to be defined per corpus) the dialogue so far is searched. `grounded` matches whole
words and forgives case, punctuation and spacing; CheckDST's class tests a raw substring, which `raw=True` repeats.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from dstress.dialogue import DONTCARE, Schema, Slot
from dstress.naming import multiwoz_slots

_WORD = re.compile(r"[^\W_]+")
_MARKS = str.maketrans({"'": "", "’": "", "`": "", "´": "", "&": " and "})
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[a-zA-Z])(?=\d)")
NO_NAME = frozenset({"", "none", DONTCARE})
"""Predicted values that name nothing."""
_REMEMBERED = 16_384


def is_named_entity_slot(slot_id: str, schema: Schema) -> bool:
    """Whether a slot's values are names that a tracker has to copy from the dialogue.

    MultiWOZ: the slots that CheckDST's class checks. Other schemas: slots that are not categorical and whose name and
    description speak of no time, date, number or kind (`grounding.toml`). A slot that no schema knows is none.
    """
    table = _table()
    if slot_id in table["multiwoz"]:
        return True
    slot = schema.slots.get(slot_id)
    if slot is None or slot_id in multiwoz_slots():
        return False
    return _is_name(slot.name, slot)


def named_entities(state: Mapping[str, str], schema: Schema, *, raw: bool = False) -> Iterator[tuple[str, str]]:
    """The predicted names to check. `dontcare` and `none` name nothing.

    CheckDST's class counts them all the same, and looks for `center` where `centre` was predicted: `raw=True`.
    """
    rewritten = _rewritten() if raw else {}
    for slot, value in state.items():
        if (raw or value.casefold() not in NO_NAME) and is_named_entity_slot(slot, schema):
            yield slot, rewritten.get(value, value)


def grounded(value: str, said: str | Sequence[str], *, raw: bool = False) -> bool:
    """Whether a text, or one of several utterances, says a value: the same letters and digits in whole words.

    So `Kings College` is in "to king 's college ." and `guest house` in "a guesthouse", but `eat` is not in "theatre".
    Utterances are the faster way to ask about every turn of a dialogue: each is prepared once. `raw=True` is CheckDST's
    own test, a substring of the text as it is.
    """
    texts = (said,) if isinstance(said, str) else said
    if raw:
        return any(value in text for text in texts)
    wanted = _squashed(value)
    return not wanted or any(_says(wanted, *_lettered(text)) for text in texts)


def _says(wanted: str, letters: str, edges: frozenset[int]) -> bool:
    at = letters.find(wanted)
    while at >= 0:
        if at in edges and at + len(wanted) in edges:
            return True
        at = letters.find(wanted, at + 1)
    return False


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold().translate(_MARKS))


@lru_cache(maxsize=_REMEMBERED)
def _squashed(value: str) -> str:
    return "".join(_words(value))


@lru_cache(maxsize=_REMEMBERED)
def _lettered(text: str) -> tuple[str, frozenset[int]]:
    """The text's words run together, and the places between them."""
    words, edges, at = _words(text), [0], 0
    for word in words:
        at += len(word)
        edges.append(at)
    return "".join(words), frozenset(edges)


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(files("dstress.metrics").joinpath("grounding.toml").read_text(encoding="utf-8"))


@cache
def _table() -> dict[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in _tables().items() if name != "rewritten"}


def _rewritten() -> dict[str, str]:
    return dict(_tables()["rewritten"])


@lru_cache(maxsize=_REMEMBERED)
def _is_name(name: str, slot: Slot) -> bool:
    if slot.categorical:
        return False
    in_name = _verdict(_words(_CAMEL.sub(" ", name).replace("_", " ")))
    in_description = _verdict(_head(slot.description))
    return in_name if in_name is not None else in_description is not False


def _verdict(words: list[str]) -> bool | None:
    """What words say of a slot: a name, something else, or nothing. The last telling word is the noun's head."""
    table = _table()
    for word in reversed(words):
        if word in table["kept"] or word in table["excluded"]:
            return word in table["kept"]
    return None


def _head(description: str) -> list[str]:
    """The words of a description that come before what they are said of."""
    words = _words(description)
    ends = (number for number, word in enumerate(words) if word in _table()["openers"])
    return words[: next(ends, len(words))]
