"""How an utterance or a corpus is written, and other text written the same way.

Corpora keep their own ways: SGD writes "I'd like that, please.", MultiWOZ parts tokens ("I 'd like that , please ."),
TRADE's preparation has only small letters, hardly an apostrophe and endings apart ("i would like the hotel -s .").
What is added to an utterance has to look like the rest of it, or a tracker could tell the addition by its spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from dstress.dialogue import Dialogue
from dstress.text.tables import word_sets
from dstress.text.tokens import LETTERS

CONTRACTION = r"(?:n['’]t|['’](?:m|d|s|ll|re|ve))\b"
"""An expression for what is left of a word in "I'd", "isn't"."""
_DETACHED_CONTRACTION = re.compile(rf"\w {CONTRACTION}")
_SPACED = re.compile(rf"\w {CONTRACTION}|\w [.,?!](?:\s|$)")
_CLOSED = re.compile(r"\w[.,?!](?:\s|$)|\w['’]\w")
_SMALL_I = re.compile(r"\bi\b")
_LARGE_I = re.compile(r"\bI\b")
_CONTRACTED = re.compile(rf"(?<=\w)({CONTRACTION})")
_MARK = re.compile(r"(?<=[\w%])([.,!?:;]+)(?=\s|$)")
_EXPANSIONS = {"n't": " not", "'m": " am", "'d": " would", "'s": " is", "'ll": " will", "'re": " are", "'ve": " have"}
_OWNER = re.compile(
    r"\b(?!(?:it|that|what|who|where|when|why|how|there|here|he|she|this|every\w+|some\w+|no\w+|one)['’])(\w+)['’]s\b",
    re.I,
)
"""A word whose 's is possessive, not "is": "my cat's name"."""
_LET_US = re.compile(r"(?<=\blet)['’]s\b", re.I)
_HAD = re.compile(r"['’]d(?= better\b)")
_IRREGULAR = re.compile(r"\b(ca|wo)(?= not\b)")
_SENTENCE_END = re.compile(r"(?:^|[.!?:]\s*)[\"'(]*\s*$")
_ENDING = " -s"
_SAMPLED_TURNS = 5_000
"""Turns that are read to learn how a corpus writes."""
_SLIPS, _RARE_SLIPS = 1 / 50, 1 / 500
"""Shares that are only slips: of utterances with apostrophes or labels with capitals, and of utterances with detached
endings."""
_MIN_SHOUTED_LETTERS = 5
"""A text all in capitals with fewer letters is an abbreviation, not shouting."""
_CACHE_SIZE = 32_768
_words = word_sets(__package__, "data/writing_style.toml")


class WritingStyle(NamedTuple):
    """How a text is written. The last two can only be read off a corpus, not off a single utterance."""

    cased: bool
    """There are capitals."""
    spaced: bool
    """Blanks stand before marks and contractions."""
    apostrophes: bool
    """There are contractions; without them "I'd" is "I would"."""
    endings_apart: bool = False
    """Endings stand apart as tokens of their own: "hotel -s", "moderate -ly"."""
    titled: bool = False
    """Names have capitals that the values of the labels do not have."""


def style_of(text: str, system: str = "", usual: WritingStyle | None = None) -> WritingStyle:
    """The style of an utterance; what it leaves open is read from the system's before it, else it is as `usual`."""
    cased = bool(_LARGE_I.search(text)) if _SMALL_I.search(text) else text != text.lower()
    spaced = _is_spaced(text)
    if spaced is None:
        spaced = usual.spaced if usual and not system else bool(_is_spaced(system))
    # "i'll" among detached marks is a slip of a text that has no contractions, and no reason to write "is n't".
    contracts = cased or not spaced or bool(_DETACHED_CONTRACTION.search(text) or _DETACHED_CONTRACTION.search(system))
    return WritingStyle(cased=cased, spaced=spaced, apostrophes=contracts)


def _is_spaced(text: str) -> bool | None:
    """Whether blanks stand before marks and contractions; None where there are none."""
    if _SPACED.search(text):
        return True
    return False if _CLOSED.search(text) else None


def corpus_style(corpus: Iterable[Dialogue]) -> WritingStyle:
    """The style of most of a corpus's user utterances."""
    utterances = cased = spaced = apostrophes = endings = values = proper = 0
    turns = (turn for dialogue in corpus for turn in dialogue.turns if turn.user)
    for turn in islice(turns, _SAMPLED_TURNS):
        text = turn.user
        utterances += 1
        cased += style_of(text).cased
        spaced += {True: 1, False: -1, None: 0}[_is_spaced(text)]
        apostrophes += "'" in text
        endings += _ENDING in text
        values += len(turn.state)
        proper += sum(forms[0] != forms[0].lower() for forms in turn.state.values() if forms)
    is_cased = cased > utterances / 2
    return WritingStyle(
        cased=is_cased,
        spaced=spaced > 0,
        apostrophes=apostrophes > _SLIPS * utterances,
        endings_apart=endings > _RARE_SLIPS * utterances,
        titled=is_cased and proper < _SLIPS * values,
    )


@lru_cache(maxsize=_CACHE_SIZE)
def write(phrase: str, style: WritingStyle) -> str:
    """A phrase of plain English ("I'd love that, thanks.") in a style. Its first letter stays as it is, if cased."""
    if not style.apostrophes:
        phrase = _LET_US.sub(" us", _HAD.sub(" had", phrase))
        phrase = _OWNER.sub(r"\1 s", phrase)
        phrase = _CONTRACTED.sub(lambda match: _EXPANSIONS[match[0].replace("’", "'")], phrase)
        phrase = _IRREGULAR.sub(lambda match: {"ca": "can", "wo": "will"}[match[0]], phrase)
    if style.spaced:
        phrase = _MARK.sub(r" \1", space_contractions(phrase))
    return phrase if style.cased else phrase.lower()


def write_behind(phrase: str, style: WritingStyle) -> str:
    """A phrase as it stands behind a word, without that word: `, sorry` is ` , sorry` in a style that spaces marks."""
    # What is written before a mark, or a contraction, depends on the word that it follows: here `x`.
    return write(f"x{phrase}", style)[1:]


def space_contractions(text: str) -> str:
    """`I'd` -> `I 'd`."""
    return _CONTRACTED.sub(r" \1", text)


def capitalise(text: str) -> str:
    """The text with a capital first letter; the rest stays."""
    return text[:1].upper() + text[1:]


@lru_cache(maxsize=_CACHE_SIZE)
def copy_capitals(old: str, new: str, *, opens: bool = False, name: bool = True) -> str:
    """Give `new` the capitals of `old`: `CHEAP`, `cheap`, `Cheap`, `Pizza Hut`.

    `opens` says that `old` begins a sentence, so its capital may mean only that: `new` is then written as a title only
    if it is a `name` or `old` has several words.
    """
    letters = LETTERS.findall(old)
    if all(word == word.upper() == word.lower() for word in letters):
        return new
    if old == old.lower():
        return new if any(map(str.isdigit, old)) else new.lower()  # "the 6th" says nothing about names
    if old == old.upper():
        if sum(map(len, letters)) >= _MIN_SHOUTED_LETTERS:
            return new.upper()
        return new if new != new.lower() else write_title(new)
    if not letters[0][:1].isupper():
        return new
    if new != new.lower():
        return new  # it has its own capitals
    if not name and not opens and is_common_noun(new):
        return new
    return capitalise(new) if not name and opens and len(letters) == 1 else write_title(new)


@lru_cache(maxsize=4096)
def write_title(text: str) -> str:
    """`statue of liberty` -> `Statue of Liberty`."""
    small = _words("small")
    return " ".join(
        word if (number and word in small) or not word[:1].isalpha() else capitalise(word)
        for number, word in enumerate(text.split(" "))
    )


def is_common_noun(text: str) -> bool:
    """Whether a kind of food goes without a capital: "taco food"."""
    return text in _words("common")


def opens_sentence(text: str, start: int) -> bool:
    """Whether the character at `start` is the first of a sentence."""
    return bool(_SENTENCE_END.search(text, max(0, start - 8), start)) if start else True
