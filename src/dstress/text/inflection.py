"""Putting other words into a sentence so that they fit: the, a and an, plurals, counted nouns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, partial

from dstress.dialogue import Edit
from dstress.text.edits import apply
from dstress.text.tables import read_table
from dstress.text.writing_style import capitalise, copy_capitals, opens_sentence

_ARTICLE = re.compile(r"(?<!\w)(an?)(\s+)$", re.IGNORECASE)
_ANY_ARTICLE = re.compile(r"(?<!\w)an?(\s+)(\w+)")
_THE = re.compile(r"(?<!\w)the\s+$", re.IGNORECASE)
_DETERMINER = re.compile(r"(?<!\w)(?:an?|this|that|your|my|our|called|named)\s+[\"']?$", re.IGNORECASE)
_NEXT_WORD = re.compile(r"(\s*-?\s*)([A-Za-z]+)\b")
_ITS_VERB = re.compile(r"(\s+(?:that|which)\s+)(?:is|are)\b")
# A vowel's sound, not its letter: a university, an hour, an 8, an 11.
_AN = re.compile(r"(?!uni|use|usu|uta|eu|one\b|once|ewe)[aeiou]|hour|honest|honou?r|heir|8|1[18](?!\d)", re.IGNORECASE)


table = cache(partial(read_table, __package__, "data/inflection.toml"))


def place_name(text: str, start: int, end: int, name: str, *, town: bool = False) -> tuple[int, int, str]:
    """A name for the words from `start` to `end`, with or without "the" in front, as names like it have it.

    No town has one, unless what follows asks for it: "the ely station".
    """
    words, names = name.lower().split(), table()
    the = _THE.search(text, max(0, start - 8), start)
    if the:
        first, last = words[0], words[-1]
        unwanted = first == "the" or first in names["without_the_first"] or last in names["without_the_last"]
        if not (unwanted or first[0].isdigit() or (town and not _NEXT_WORD.match(text, end))):
            return start, end, name
        opens = opens_sentence(text, the.start())
        return the.start(), end, capitalise(name) if opens else name
    wanted = words[-1] in names["with_the_last"] or "of" in words[1:-1] or name.lower() in names["with_the"]
    if town or not wanted or words[0] == "the" or _DETERMINER.search(text, max(0, start - 12), start):
        return start, end, name
    return start, end, f"{'The' if name[:1].isupper() and opens_sentence(text, start) else 'the'} {name}"


def plural(noun: str) -> str:
    """`library` -> `libraries`; a noun that has no plural stays."""
    last = noun.rpartition(" ")[2]
    if last in table()["uncountable"] or last.endswith("s"):
        return noun
    if last in table()["plurals"]:
        return noun.removesuffix(last) + str(table()["plurals"][last])
    if last.endswith("y") and last[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if last.endswith(("sh", "ch", "x", "z")) else "s")


def count_noun(text: str, end: int, old: int, new: int) -> tuple[int, str]:
    """The noun after a number, agreeing with the new one: `1 night` -> `3 nights`. Its end, and the words to put.

    Of two nouns, as in `1 train ticket`, the second is counted; "that is" behind it becomes "that are".
    """
    match = _NEXT_WORD.match(text, end)
    if match is None or (old == 1) == (new == 1):
        return end, ""
    units: dict[str, str] = table()["units"]
    fits = units if old == 1 else {many: one for one, many in units.items()}
    second = _NEXT_WORD.match(text, match.end())
    for noun in (second, match):
        if noun and (fit := fits.get(noun[2].lower())):
            counted = text[end : noun.start(2)] + copy_capitals(noun[2], fit, name=False)
            verb = _ITS_VERB.match(text, noun.end())
            return (verb.end(), f"{counted}{verb[1]}{'are' if old == 1 else 'is'}") if verb else (noun.end(), counted)
    return end, ""


def edits_with_articles(text: str, changes: Iterable[tuple[int, int, str]]) -> list[Edit]:
    """Changes (start, end, new words) as edits, in order; an article in front agrees with the new words."""
    made: list[Edit] = []
    for start, end, new in sorted(changes):
        match = _ARTICLE.search(text, max(0, start - 12), start)
        if match and new and (not made or match.start() >= made[-1].start + len(made[-1].before)):
            article = "an" if _AN.match(new) else "a"
            if match[1].lower() != article:
                article = article.capitalize() if match[1][0].isupper() else article
                start, new = match.start(), article + match[2] + new
        if text[start:end] != new:
            made.append(Edit(start, text[start:end], new))
    return made


def replace_with_articles(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """The text with changes (start, end, new words), and articles in front that agree with the new words."""
    return apply(text, edits_with_articles(text, changes))


def agree_articles(text: str, said: Callable[[str], str] = str) -> str:
    """The text with "a" and "an" as the next word sounds; `said` is what it stands for."""
    return _ANY_ARTICLE.sub(lambda match: ("an" if _AN.match(said(match[2])) else "a") + match[1] + match[2], text)
