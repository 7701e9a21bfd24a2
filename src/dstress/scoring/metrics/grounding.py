"""Whether a predicted name was ever said: the ground of the no-hallucination frequency (CheckDST, section 2.3).

A generating tracker may predict an entity that it remembers from training. For every predicted value of a named-entity
slot (appendix B.1 asks for these to be defined per corpus) the dialogue so far is searched. `is_grounded` matches whole
words and forgives case, punctuation and spacing; CheckDST's class tests a raw substring, which `raw=True` repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from dstress.dialogue import DONTCARE, Schema
from dstress.text.slot_names import is_named_entity_slot
from dstress.text.tables import read_table
from dstress.text.tokens import ALPHANUMERIC

_MARKS = str.maketrans({"'": "", "’": "", "`": "", "´": "", "&": " and "})
NO_NAME = frozenset({"", "none", DONTCARE})
"""Predicted values that name nothing."""
_REMEMBERED = 16_384


def named_entities(state: Mapping[str, str], schema: Schema, *, raw: bool = False) -> Iterator[tuple[str, str]]:
    """The predicted names to check. `dontcare` and `none` name nothing.

    CheckDST's class counts them all the same, and looks for `center` where `centre` was predicted: `raw=True`.
    """
    rewritten = read_table(__package__, "grounding.toml")["rewritten"] if raw else {}
    for slot, value in state.items():
        if (raw or value.casefold() not in NO_NAME) and is_named_entity_slot(slot, schema):
            yield slot, rewritten.get(value, value)


def is_grounded(value: str, utterances: str | Sequence[str], *, raw: bool = False) -> bool:
    """Whether a text, or one of several utterances, says a value: the same letters and digits in whole words.

    So `Kings College` is in "to king 's college ." and `guest house` in "a guesthouse", but `eat` is not in "theatre".
    Utterances are the faster way to ask about every turn of a dialogue: each is prepared once. `raw=True` is CheckDST's
    own test, a substring of the text as it is.
    """
    texts = (utterances,) if isinstance(utterances, str) else utterances
    if raw:
        return any(value in text for text in texts)
    letters = _run_together(value)[0]
    return not letters or any(_has_words(*_run_together(text), letters) for text in texts)


def _has_words(letters: str, edges: frozenset[int], part: str) -> bool:
    """Whether the wanted letters stand between two edges of words."""
    at = letters.find(part)
    while at >= 0:
        if at in edges and at + len(part) in edges:
            return True
        at = letters.find(part, at + 1)
    return False


@lru_cache(maxsize=_REMEMBERED)
def _run_together(text: str) -> tuple[str, frozenset[int]]:
    """The text's words run together, and the places between them."""
    words, edges, at = ALPHANUMERIC.findall(text.casefold().translate(_MARKS)), [0], 0
    for word in words:
        at += len(word)
        edges.append(at)
    return "".join(words), frozenset(edges)
