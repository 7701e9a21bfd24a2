"""Text as one says it: numbers, times, codes and marks in words.

The same words go to the voice and are the reference of the word error rate, so that the two can be compared: 17:15 is
said, and counted, as "seventeen fifteen". A recogniser's text goes through the same door ("p.m." is "p m").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import Any

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


@cache
def _table() -> dict[str, Any]:
    return read_table(__package__, "spoken.toml")


@lru_cache(maxsize=65536)
def said(text: str) -> tuple[str, ...]:
    """A text's spoken words, spelt-out letters (`A`) and pauses (`,` `.` `?`), in order."""
    plain = text.lower() if text.isascii() else _unaccented(text)
    chunks = plain.split()
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
    found: list[str] = []
    if not _INTRICATE.search(plain):  # words and pauses, as in most utterances
        for token in _PLAIN_TOKEN.findall(plain):
            found += _say("word" if token[0].isalpha() else "pause", token)
        return tuple(found)
    before = ""
    for match in _TOKEN.finditer(plain):
        kind = str(match.lastgroup)
        after_number = before in ("time", "number")
        found += ("A", "M") if after_number and match.group() == "am" else _say(kind, match.group())
        before = kind
    return tuple(found)


@lru_cache(maxsize=65536)
def _say(kind: str, token: str) -> tuple[str, ...]:
    return tuple(_SAYERS[kind](token))


def join_clitics(text: str) -> str:
    """Without the blanks before clitics that tokenised corpora have: `john 's`."""
    return _CLITIC.sub("", text)


def _unaccented(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES))
    return "".join(letter for letter in plain if not unicodedata.combining(letter)).lower()


def words(text: str) -> list[str]:
    """The spoken words alone: what the word error rate counts."""
    return list(spoken_words(text))


@lru_cache(maxsize=65536)
def spoken_words(text: str) -> tuple[str, ...]:
    """The spoken words alone, for who does not change them."""
    return tuple([word.lower() for word in said(text) if word[0].isalpha()])


def comparable(spoken: Iterable[str]) -> list[str]:
    """Spoken words in the form in which they are compared: `centre` is no error for `center`."""
    same = _table()["same"]
    return [part for word in spoken for part in (same[word].split() if word in same else (word,))]


def script(text: str) -> str:
    """A text for a voice: words in lower case, letters that are spelt in capitals, and the marks that make it pause."""
    return " ".join(said(text)).replace(" ,", ",").replace(" .", ".").replace(" ?", "?")


def _cardinal(number: int) -> Iterator[str]:
    known = number_names()
    if number in known and number < 100:
        yield known[number]
    elif number < 100:
        yield from (known[number // 10 * 10], known[number % 10])
    else:
        name, size = max(((n, s) for n, s in _table()["scale"].items() if s <= number), key=lambda each: int(each[1]))
        yield from _cardinal(number // size)
        yield name
        if number % size:
            yield from _cardinal(number % size)


def _number(text: str) -> list[str]:
    """Numbers of four digits go in pairs, as years and hours do; leading zeros and long ones digit by digit."""
    if len(text) > _LONGEST_NUMBER or (text[0] == "0" and len(text) > 1):
        return _one_by_one(text)
    if len(text) == 4 and 11 <= int(text[:2]) <= 24:
        return _clock(text[:2], text[2:], "hundred")
    return list(_cardinal(int(text)))


def _one_by_one(text: str) -> list[str]:
    return [number_names()[int(letter)] if letter.isdigit() else letter.upper() for letter in text]


def _clock(hours: str, minutes: str, whole: str) -> list[str]:
    head = list(_cardinal(int(hours)))
    if minutes == "00":
        return [*head, whole]
    return [*head, *(["oh"] if minutes[0] == "0" else []), *_cardinal(int(minutes))]


def _time(text: str) -> list[str]:
    """`17:15` "seventeen fifteen", `17:00` "seventeen hundred", `9:00` "nine o'clock", `9:05` "nine oh five"."""
    hours, minutes = re.split("[:;.]", text)
    if int(hours) == _MIDNIGHT and minutes == "00":
        return ["midnight"]
    return _clock(hours, minutes, "o'clock" if int(hours) <= _NOON else "hundred")


def _money(text: str) -> list[str]:
    pounds, _, pence = text[1:].strip().replace(",", "").partition(".")
    return [*_number(pounds), *_table()["marks"][text[0]].split(), *(_cardinal(int(pence)) if pence else ())]


def _decimal(text: str) -> list[str]:
    whole, _, part = text.partition(".")
    return [*_number(whole), "point", *_one_by_one(part)]


def _ordinal(text: str) -> list[str]:
    *head, last = _number(text[:-2])
    return [*head, ordinal_word(last)]


def _code(text: str) -> list[str]:
    """Letters and digits together: a number and what it counts, or a code that is spelt out."""
    runs = _RUN.findall(text)
    if len(runs) == 2 and runs[0].isdigit() and (len(runs[1]) >= _COUNTED_WORD or runs[1] in ("am", "pm")):
        return [*_number(runs[0]), *(_one_by_one(runs[1]) if len(runs[1]) < _COUNTED_WORD else _word(runs[1]))]
    return _one_by_one(text)


def _word(text: str) -> list[str]:
    """Words as they are; abbreviations in full; letters without a vowel one by one."""
    text = text.rstrip("'")
    table = _table()
    if text in table["words"]:
        return str(table["words"][text]).split()
    if len(text) > 1 and text.isalpha() and _VOWELS.isdisjoint(text) and text not in table["hummed"]:
        return _one_by_one(text)
    return [text]


def _mark(text: str) -> list[str]:
    known = _table()["marks"].get(text)
    return str(known).split() if known else []


_SAYERS: dict[str, Callable[[str], list[str]]] = {
    "time": _time,
    "money": _money,
    "decimal": _decimal,
    "thousands": lambda text: list(_cardinal(int(text.replace(",", "")))),
    "ordinal": _ordinal,
    "code": _code,
    "number": _number,
    "dotted": lambda text: _one_by_one(text.replace(".", "")),
    "word": _word,
    "pause": lambda text: [_PAUSES.get(text, text)],
    "mark": _mark,
}
