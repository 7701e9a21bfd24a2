"""Text as one says it: numbers, times, codes and marks in words.

The same words go to the voice and are the reference of the word error rate, so that the two can be compared: 17:15 is
said, and counted, as "seventeen fifteen". A recogniser's text goes through the same door ("p.m." is "p m"). Word errors
are counted here too: substitutions, deletions and insertions against what was spoken, and the rate that they make.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from rapidfuzz.distance import Levenshtein

from dstress.text.numbers import ORDINAL_ENDING, number_names, ordinal_word
from dstress.text.tables import read_table
from dstress.text.times import AM_PM
from dstress.text.writing_style import CONTRACTION

_CLITIC = re.compile(rf"(?<=[a-z]) +(?={CONTRACTION})")
_TOKEN = re.compile(
    rf"""(?P<time>(?<!\d)[0-2]?\d(?:[:;][0-5]\d(?!\d)|\.[0-5]\d(?=\s?{AM_PM})))
      | (?P<money>[£$€]\s?\d+(?:,\d{{3}})*(?:\.\d\d)?)
      | (?P<decimal>\d+\.\d+)
      | (?P<thousands>\d{{1,3}}(?:,\d{{3}})+(?!\d))
      | (?P<ordinal>\d+{ORDINAL_ENDING}\b)
      | (?P<code>(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]++(?![:;]\d))
      | (?P<number>\d+)
      | (?P<dotted>\b(?:[a-z]\.){{2,}})
      | (?P<word>[a-z]+(?:'[a-z]+)*'?)
      | (?P<pause>[,.;:?!])
      | (?P<mark>[^\s\w])""",
    re.VERBOSE,
)
_INTRICATE = re.compile(r"[^a-z' ,.?!]|[a-z]\.[a-z]|(?<![a-z])'")
"""What no mere words and pauses have: digits, other marks, dots between letters."""
_ALONE = re.compile(r"(?:(?!n't|(?:fi|mail)\b)[a-z]+(?:'[a-z]+)*'?|\d+|[0-2]?\d:[0-5]\d)?[,.?!]*")
"""A word, a number or a time with its pauses, which is said alike wherever it stands; but for what `_MORNING` has."""
_MORNING = re.compile(r"\d\s+am\b")
_PLAIN_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)*'?|[,.?!]")
_SPLIT = re.compile(r"\b(?:(wi)[- ](fi)|(e)[- ](mail))\b")
_RUN = re.compile(r"\d+|[a-z]+")
_PAUSES = {";": ",", ":": ",", "!": "."}
_VOWELS = frozenset("aeiouy")
_APOSTROPHES = str.maketrans("’‘´", "'''")
_LONGEST_NUMBER = 6
_COUNTED_WORD = 4
"""From so many letters on, what follows a number is a word that it counts: `2people`, but `5pm` and `cb21nt`."""
_MIDNIGHT, _NOON = 0, 12


def _table() -> dict[str, Any]:
    return read_table(__package__, "spoken.toml")


@lru_cache(maxsize=65536)
def speak_out(text: str) -> tuple[str, ...]:
    """A text's spoken words, spelt-out letters (`A`) and pauses (`,` `.` `?`), in order."""
    if not text.isascii():
        parted = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES))
        text = "".join(letter for letter in parted if not unicodedata.combining(letter))
    plain = text.lower()
    chunks = plain.split()
    # Chunk by chunk, since corpora say the same few all the time.
    if len(chunks) > 1 and not _MORNING.search(plain):
        alone = [_say_alone(chunk) for chunk in chunks]
        if None not in alone:
            return tuple(chain.from_iterable(filter(None, alone)))
    return _say_together(plain)


@lru_cache(maxsize=65536)
def _say_alone(chunk: str) -> tuple[str, ...] | None:
    """What is between blanks; None where it may be said otherwise beside other chunks, as in `£ 5` and `is n't`."""
    return _say_together(chunk) if _ALONE.fullmatch(chunk) else None


def _say_together(plain: str) -> tuple[str, ...]:
    plain = _SPLIT.sub(lambda match: "".join(filter(None, match.groups())), join_clitics(plain))
    spoken: list[str] = []
    if not _INTRICATE.search(plain):  # words and pauses, as in most utterances
        for token in _PLAIN_TOKEN.findall(plain):
            spoken += _say("word" if token[0].isalpha() else "pause", token)
        return tuple(spoken)
    before = ""
    for match in _TOKEN.finditer(plain):
        kind = str(match.lastgroup)
        after_number = before in ("time", "number")
        spoken += ("A", "M") if after_number and match.group() == "am" else _say(kind, match.group())
        before = kind
    return tuple(spoken)


def join_clitics(text: str) -> str:
    """Without the blanks before clitics that tokenised corpora have: `john 's`."""
    return _CLITIC.sub("", text)


@lru_cache(maxsize=65536)
def words(text: str) -> tuple[str, ...]:
    """The spoken words alone: what the word error rate counts."""
    return tuple([word.lower() for word in speak_out(text) if word[0].isalpha()])


def comparable(spoken: Iterable[str]) -> list[str]:
    """Spoken words in the form in which they are compared: `centre` is no error for `center`."""
    same = _table()["same"]
    return [part for word in spoken for part in (same[word].split() if word in same else (word,))]


def script(text: str) -> str:
    """A text for a voice: words in lower case, letters that are spelt in capitals, and the marks that make it pause."""
    return " ".join(speak_out(text)).replace(" ,", ",").replace(" .", ".").replace(" ?", "?")


@lru_cache(maxsize=65536)
def _say(kind: str, token: str) -> tuple[str, ...]:
    """What a token says, by its kind: the name of its group in `_TOKEN`."""
    table = _table()
    match kind:
        case "word":  # as it is; abbreviations in full; letters without a vowel one by one
            word = token.rstrip("'")
            if word in table["words"]:
                return tuple(table["words"][word].split())
            if len(word) > 1 and word.isalpha() and _VOWELS.isdisjoint(word) and word not in table["hummed"]:
                return _one_by_one(word)
            return (word,)
        case "pause":
            return (_PAUSES.get(token, token),)
        case "mark":
            return tuple(table["marks"].get(token, "").split())
        case "time":  # `17:15` "seventeen fifteen", `17:00` "seventeen hundred", `9:00` "nine o'clock"
            hours, minutes = re.split("[:;.]", token)
            if int(hours) == _MIDNIGHT and minutes == "00":
                return ("midnight",)
            return _clock(hours, minutes, "o'clock" if int(hours) <= _NOON else "hundred")
        case "number":
            return _number(token)
        case "thousands":
            return _cardinal(int(token.replace(",", "")))
        case "decimal":
            whole, _, part = token.partition(".")
            return (*_number(whole), "point", *_one_by_one(part))
        case "ordinal":
            *head, last = _number(token[:-2])
            return (*head, ordinal_word(last))
        case "money":
            pounds, _, pence = token[1:].strip().replace(",", "").partition(".")
            return (*_number(pounds), *table["marks"][token[0]].split(), *(_cardinal(int(pence)) if pence else ()))
        case "dotted":
            return _one_by_one(token.replace(".", ""))
    # Letters and digits together: a number and what it counts, or a code that is spelt out.
    runs = _RUN.findall(token)
    if len(runs) == 2 and runs[0].isdigit() and (len(runs[1]) >= _COUNTED_WORD or runs[1] in ("am", "pm")):
        return (*_number(runs[0]), *(_say("word", runs[1]) if len(runs[1]) >= _COUNTED_WORD else _one_by_one(runs[1])))
    return _one_by_one(token)


def _one_by_one(text: str) -> tuple[str, ...]:
    return tuple([number_names()[int(letter)] if letter.isdigit() else letter.upper() for letter in text])


def _number(text: str) -> tuple[str, ...]:
    """Numbers of four digits go in pairs, as years and hours do; leading zeros and long ones digit by digit."""
    if len(text) > _LONGEST_NUMBER or (text[0] == "0" and len(text) > 1):
        return _one_by_one(text)
    if len(text) == 4 and 11 <= int(text[:2]) <= 24:
        return _clock(text[:2], text[2:], "hundred")
    return _cardinal(int(text))


def _clock(hours: str, minutes: str, whole: str) -> tuple[str, ...]:
    head = _cardinal(int(hours))
    if minutes == "00":
        return (*head, whole)
    return (*head, *(("oh",) if minutes[0] == "0" else ()), *_cardinal(int(minutes)))


def _cardinal(number: int) -> tuple[str, ...]:
    names = number_names()
    if number < 100:
        return (names[number],) if number in names else (names[number // 10 * 10], names[number % 10])
    name, size = max(((n, s) for n, s in _table()["scale"].items() if s <= number), key=lambda each: int(each[1]))
    rest = _cardinal(number % size) if number % size else ()
    return (*_cardinal(number // size), name, *rest)


class WordErrors(NamedTuple):
    """Errors among `words` spoken words."""

    words: int = 0
    substituted: int = 0
    deleted: int = 0
    inserted: int = 0

    @property
    def errors(self) -> int:
        """All of them."""
        return self.substituted + self.deleted + self.inserted

    @property
    def rate(self) -> float:
        """The word error rate; insertions can bring it above 1."""
        return self.errors / self.words if self.words else 0.0

    @property
    def mix(self) -> tuple[float, float, float]:
        """The shares of substitutions, deletions and insertions among the errors."""
        every = self.errors or 1
        return self.substituted / every, self.deleted / every, self.inserted / every


def word_errors(spoken: Sequence[str], heard: Sequence[str]) -> WordErrors:
    """The fewest errors that turn what was spoken into what was heard; other spellings of a word are none."""
    spoken, heard = comparable(spoken), comparable(heard)
    counts = {"replace": 0, "delete": 0, "insert": 0}
    for operation in Levenshtein.editops(spoken, heard):
        counts[operation.tag] += 1
    return WordErrors(len(spoken), counts["replace"], counts["delete"], counts["insert"])


def total(errors: Iterable[WordErrors]) -> WordErrors:
    """Errors of many utterances, pooled: long ones weigh more."""
    columns = list(zip(*errors, strict=True)) or [(0,)] * 4
    return WordErrors(*map(sum, columns))
