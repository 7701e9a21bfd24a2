"""What a text is about: the dictionary forms of its words, without stop words.

SGD-X (section 2.2) sorts paraphrases of descriptions by the Jaccard distance of such sets, with spaCy's lemmas. Its
model is far larger than all of dstress, and a schema's language is small and plain. So this is a table of irregular
words and a few rules; `lemmas.toml` holds the tables.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from dstress.text.tables import read_table, word_sets

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SIBILANT = ("ches", "shes", "sses", "xes", "zzes")
_SHORTEST_STEM = 3
_VOWEL = re.compile(r"[aeiouy]")


_words = word_sets(__package__, "data/lemmas.toml")


def content(text: str) -> frozenset[str]:
    """The lemmas of a text's words, without stop words."""
    words = [word.group().lower().replace("’", "'") for word in _WORD.finditer(text)]
    return frozenset(lemma(word) for word in words if word not in _words("stop.words"))


@lru_cache(maxsize=8192)
def lemma(word: str) -> str:
    """The dictionary form of an English word in small letters: `cities` -> `city`, `booked` -> `book`."""
    word = word.removesuffix("'s").removesuffix("'")
    if word in _words("whole.words"):
        return word
    if word in _irregular():
        return _irregular()[word]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _SHORTEST_STEM and _VOWEL.search(stem):
            return _verb(stem, ending)
    if len(word) <= _SHORTEST_STEM or word.endswith(("ss", "us", "is")) or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > len("ties"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(_SIBILANT) else word[:-1]


def _verb(stem: str, ending: str) -> str:
    """The verb of a stem that lost `ing` or `ed`: a doubled letter goes, a mute e comes back."""
    if ending == "ed" and stem.endswith("i"):
        return f"{stem[:-1]}y"
    if ending == "ed" and stem.endswith("e"):
        return f"{stem}e"
    if stem[-1] == stem[-2] and stem[-1] not in "lsez":
        return stem[:-1]
    # The longest ending in the table decides: -at takes an e (locat-e), -eat does not (treat).
    with_e, without_e = _words("mute_e.with"), _words("mute_e.without")
    longest = max((end for end in with_e | without_e if stem.endswith(end)), key=len, default="")
    return f"{stem}e" if longest in with_e else stem


@cache
def _irregular() -> dict[str, str]:
    forms_of = read_table(__package__, "data/lemmas.toml")["irregular"]
    return {form: word for word, forms in forms_of.items() for form in forms.split()}
