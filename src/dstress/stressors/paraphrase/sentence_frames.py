"""The same in other sentences: a clause is fitted to a frame ("I need X") and said in another ("what I'm after is X").

It knows English and no corpus; the frames are those of `sentence_frames.toml`. What carries a value, a name, a number,
a time or a day is masked by one letter that no frame can change, and comes back in the user's own writing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

from dstress.stressors.paraphrase.masks import Masks
from dstress.text.inflection import agree_articles
from dstress.text.tables import read_table
from dstress.text.utterance import Ranges
from dstress.text.writing_style import WritingStyle, capitalise, style_of, write

_SENTENCE = re.compile(r"\S.*?(?:[.?!]+(?=\s|$)|$)", re.DOTALL)
_SPACED_MARK = re.compile(r"\s+([.,?!;:]+)(?=\s|$)")
_QUESTION_END = re.compile(r"\? [a-z]")
_MACRO = re.compile(r"\{(\w+)\}")
_REPHRASED = frozenset({"np", "vp", "att", "frag", "pp", "x", "sub"})
"""What a frame catches that is about things; phrases for things would not fit where somebody does something."""
_COURTEOUS = re.compile(r"\b(?:please|could|would|may|might|glad|hoping|appreciate)\b")


class _Frame(NamedTuple):
    """Expressions for a whole clause, other sentences for it, and those of them that would not be English."""

    said: tuple[re.Pattern[str], ...]
    say: tuple[str, ...]
    never: re.Pattern[str]
    unless: re.Pattern[str]


class _Grammar(NamedTuple):
    frames: tuple[_Frame, ...]
    phrases: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]
    openers: dict[str, list[str]]
    opener: re.Pattern[str]
    joint: re.Pattern[str]
    please: re.Pattern[str]
    also: re.Pattern[str]
    additions: tuple[str, ...]
    expansions: tuple[tuple[re.Pattern[str], str], ...]


class Sentences:
    """An utterance, ready to be said in other sentences as often as one likes; `kept` stretches stay as they are."""

    def __init__(self, text: str, kept: Ranges, system: str = "", usual: WritingStyle | None = None) -> None:
        style = style_of(text, system, usual)
        # TRADE's preparation writes hardly a contraction, and those that it has left in one word.
        self._style = style._replace(apostrophes=style.apostrophes and (not style.spaced or " '" in text))
        self._masks = Masks(text, kept)
        self._plain = [_decapitalise(found[0]) for found in _SENTENCE.finditer(expand(self._masks.text))]

    def restate(self, random: Random) -> str:
        """The utterance in sentences drawn at random; empty where something would be lost."""
        sentences = [_restate_sentence(sentence, random) for sentence in self._plain]
        if self._style.cased:
            sentences = [_QUESTION_END.sub(lambda end: end[0].upper(), sentence) for sentence in sentences]
            sentences = [capitalise(re.sub(r"\bi\b", "I", sentence)) for sentence in sentences]
        text = agree_articles(" ".join(sentences), self._masks.restore)
        text = write(text if self._style.apostrophes else expand(text), self._style)
        return self._masks.restore(text, cased=self._style.cased) if self._masks.all_in(text) else ""


def expand(text: str) -> str:
    """Plain English: "i 'm" and "im" are "i am", marks stand at their words."""
    text = _SPACED_MARK.sub(r"\1", " ".join(text.split()))
    for short, full in _grammar().expansions:
        text = short.sub(full, text)
    return text


def _decapitalise(sentence: str) -> str:
    """A sentence's first word as it is written inside one."""
    first = sentence.split(" ")[0]
    return sentence if first == "I" or first[1:] != first[1:].lower() else sentence[:1].lower() + sentence[1:]


def _restate_sentence(sentence: str, random: Random) -> str:
    core = sentence.rstrip(".?!")
    mark = sentence[len(core) :]
    parts = _grammar().joint.split(core)  # a clause, a joint, a clause ...
    said = []
    for at in range(0, len(parts), 2):
        clause, end = _restate_clause(parts[at].strip(), random)
        if at + 1 == len(parts):
            mark = end if end == "?" or (end and mark == "?") else mark
            said.append(clause)
        elif end == "?":
            said += [f"{clause}? ", f"{parts[at + 1].strip(' ,')} ".lstrip()]
        else:
            said += [clause, f"{parts[at + 1].rstrip() or ','} "]
    return "".join(said) + mark


def _restate_clause(clause: str, random: Random) -> tuple[str, str]:
    """A clause in other words, and the mark that it asks for; none if no frame fits."""
    grammar = _grammar()
    opening = []
    while (found := grammar.opener.match(clause)) is not None:
        opening.append(random.choice(grammar.openers.get(found[1].lower(), [found[1] + ","])))
        clause = clause[found.end() :]
    if not clause:
        return " ".join(opening).rstrip(",:"), ""
    bare = grammar.please.sub("", clause).strip(" ,")
    if not bare:
        return " ".join((*opening, "please")), ""
    polite = bare != clause
    core = grammar.also.sub("", bare).strip(" ,")
    if core != bare:
        opening.append(random.choice(grammar.additions))
    core, mark = _reframe(core, random)
    if polite and mark != "?" and not _COURTEOUS.search(core):
        core += ", please"
    return " ".join((*opening, core)), mark


def _reframe(clause: str, random: Random) -> tuple[str, str]:
    for frame in _grammar().frames:
        if frame.unless.search(clause):
            continue
        for said in frame.said:
            if (found := said.fullmatch(clause)) is not None:
                offered = [_fill(say, found, random) for say in frame.say]
                allowed = [one for one in offered if not frame.never.search(one)]
                if allowed:
                    chosen = random.choice(allowed)
                    return chosen[:-1], chosen[-1]
    return _rephrase(clause, random), ""


def _fill(say: str, found: re.Match[str], random: Random) -> str:
    caught = {
        name: _rephrase(value, random) if value and name in _REPHRASED else value or ""
        for name, value in found.groupdict().items()
    }
    we = caught.get("I", "").lower() == "we" or caught.get("me") == "us"
    caught |= {"I": "we", "me": "us", "my": "our"} if we else {"I": "I", "me": "me", "my": "my"}
    text = _MACRO.sub(lambda name: caught.get(name[1], ""), say)
    return text.replace("we'm ", "we're ").replace("we was ", "we were ") if we else text


def _rephrase(clause: str, random: Random) -> str:
    """The clause with the phrases in it said otherwise, each place once."""
    done: list[tuple[int, int, str]] = []
    for pattern, others in _grammar().phrases:
        for found in pattern.finditer(clause):
            if others and not any(found.start() < end and start < found.end() for start, end, _ in done):
                done.append((*found.span(), found.expand(random.choice(others))))
    for start, end, text in sorted(done, reverse=True):
        clause = clause[:start] + text + clause[end:]
    return clause


@cache
def _grammar() -> _Grammar:
    table = read_table(__package__, "sentence_frames.toml")
    macros: dict[str, str] = table["macros"]

    def compiled(expression: str) -> re.Pattern[str]:
        while (whole := _MACRO.sub(lambda name: macros.get(name[1], name[0]), expression)) != expression:
            expression = whole
        return re.compile(expression, re.IGNORECASE)

    def words(expression: str) -> re.Pattern[str]:
        return compiled(rf"(?<!\w)(?:{expression})(?!\w)")

    def frame(entry: dict[str, Any]) -> _Frame:
        never, unless = (compiled(entry.get(name, "(?!)")) for name in ("never", "unless"))
        return _Frame(tuple(map(compiled, entry["said"])), tuple(entry["say"]), never, unless)

    openers: dict[str, list[str]] = table["openers"]
    longest: Sequence[str] = sorted(openers, key=len, reverse=True)
    return _Grammar(
        tuple(map(frame, table["frame"])),
        tuple((words(said), tuple(say)) for said, say in table["phrases"].items()),
        openers,
        compiled(rf"({'|'.join(longest)}|{table['clauses']['stay']})(?:[,!:]+ *|$| (?={table['clauses']['begin']}))"),
        compiled(table["clauses"]["joint"]),
        compiled(table["clauses"]["please"]),
        compiled(table["clauses"]["also"]),
        tuple(table["clauses"]["additions"]),
        tuple((words(short), full) for short, full in table["expansions"].items()),
    )
