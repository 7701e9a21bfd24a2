"""The same in other sentences: a clause is fitted to a frame ("I need X") and said in another ("what I'm after is X").

It knows English and no corpus; the frames are those of `sentence_frames.toml`. What carries a value, a name, a number,
a time or a day is masked by one letter that no frame can change, and comes back in the user's own writing.
"""

from __future__ import annotations

import re
from functools import cache
from random import Random
from typing import Any, NamedTuple

from dstress.text.edits import replace_places
from dstress.text.inflection import agree_articles
from dstress.text.numbers import ORDINAL_ENDING, number_words
from dstress.text.tables import read_table
from dstress.text.times import AM_PM, CLOCK, MONTH, calendar_words
from dstress.text.utterance import Ranges
from dstress.text.writing_style import WritingStyle, capitalise, opens_sentence, style_of, write

_SENTENCE = re.compile(r"\S.*?(?:[.?!]+(?=\s|$)|$)", re.DOTALL)
_SPACED_MARK = re.compile(r"\s+([.,?!;:]+)(?=\s|$)")
_QUESTION_END = re.compile(r"\? [a-z]")
_MACRO = re.compile(r"\{(\w+)\}")
_REPHRASED = frozenset({"np", "vp", "att", "frag", "pp", "x", "sub"})
"""What a frame catches that is about things; phrases for things would not fit where somebody does something."""
_COURTEOUS = re.compile(r"\b(?:please|could|would|may|might|glad|hoping|appreciate)\b")

ROOM = 128
"""Masks in one utterance; nobody says more values."""
_KINDS = ("word", "number", "time", "day", "price", "one", "answer", "open")
LETTERS = {kind: 0xA000 + ROOM * at for at, kind in enumerate(_KINDS)}
"""Where the letters of each kind begin. They are of a script (Yi) that no English text is written in."""

_MASK = re.compile(r"[\uA000-\uA3FF]")
_NO_NAME = (
    r"(?!(?:I|Im|Thanks?|Please|Can|Could|What|How|Is|Are|Yes|No|Ok|Okay|That|This|The|It|My|And|But|Also|So|An?|Do|We"
    r"|You)\b)"
)
_NAME = re.compile(rf"(?<=[\w,;] ){_NO_NAME}[A-Z][\w'’&-]*(?: (?:of |the |and )?{_NO_NAME}[A-Z][\w'’&-]*)*")
_COMMON = re.compile(r"(?:An?|Any|Anything|Anywhere|Whatever|Whichever|Just|Only|Not|No|Do|Does)\b")
_ENDING = re.compile(r"\s?-?ly\b(?:[ -]priced)?|[ -]priced\b|\s-s\b|(?<=\d)(?:st|nd|rd|th)\b")


class _Frame(NamedTuple):
    """Expressions for a whole clause, other sentences for it, and those of them that would not be English."""

    clauses: list[re.Pattern[str]]
    say: list[str]
    never: re.Pattern[str]
    unless: re.Pattern[str]


class _Grammar(NamedTuple):
    frames: list[_Frame]
    phrases: list[tuple[re.Pattern[str], list[str]]]
    openers: dict[str, list[str]]
    opener: re.Pattern[str]
    joint: re.Pattern[str]
    please: re.Pattern[str]
    also: re.Pattern[str]
    additions: list[str]
    expansions: list[tuple[re.Pattern[str], str]]


class Sentences:
    """An utterance, ready to be said in other sentences as often as one likes; `kept` stretches stay as they are."""

    def __init__(self, text: str, kept: Ranges, system: str = "", usual: WritingStyle | None = None) -> None:
        style = style_of(text, system, usual)
        # TRADE's preparation writes hardly a contraction, and those that it has left in one word.
        self._style = style._replace(apostrophes=style.apostrophes and (not style.spaced or " '" in text))
        self._masks = Masks(text, kept)
        self._plain = []
        for sentence in _SENTENCE.findall(expand(self._masks.text)):
            first = sentence.split(" ")[0]
            # Its first word as it is written inside a sentence.
            has_own_capital = first == "I" or first[1:] != first[1:].lower()
            self._plain.append(sentence if has_own_capital else sentence[:1].lower() + sentence[1:])

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


def _restate_sentence(sentence: str, random: Random) -> str:
    core = sentence.rstrip(".?!")
    mark, restated = sentence[len(core) :], ""
    *parts, last = _grammar().joint.split(core)  # a clause, a joint, a clause ...
    for clause, joint in zip(parts[::2], parts[1::2], strict=True):
        clause, end = _restate_clause(clause.strip(), random)
        is_question = end == "?"
        restated += f"{clause}? " if is_question else clause
        restated += f"{joint.strip(' ,')} ".lstrip() if is_question else f"{joint.rstrip() or ','} "
    clause, end = _restate_clause(last.strip(), random)
    return restated + clause + (end if end == "?" or (end and mark == "?") else mark)


def _restate_clause(clause: str, random: Random) -> tuple[str, str]:
    """A clause in other words, and the mark that it asks for; none if no frame fits."""
    grammar, opening = _grammar(), list[str]()
    while (opener := grammar.opener.match(clause)) is not None:
        opening.append(random.choice(grammar.openers.get(opener[1].lower(), [opener[1] + ","])))
        clause = clause[opener.end() :]
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
        for pattern in frame.clauses:
            if (match := pattern.fullmatch(clause)) is not None:
                offered = [_fill(say, match, random) for say in frame.say]
                if allowed := [sentence for sentence in offered if not frame.never.search(sentence)]:
                    chosen = random.choice(allowed)
                    return chosen[:-1], chosen[-1]
    return _rephrase(clause, random), ""


def _fill(say: str, match: re.Match[str], random: Random) -> str:
    caught = {
        name: _rephrase(value, random) if value and name in _REPHRASED else value or ""
        for name, value in match.groupdict().items()
    }
    we = caught.get("I", "").lower() == "we" or caught.get("me") == "us"
    caught |= {"I": "we", "me": "us", "my": "our"} if we else {"I": "I", "me": "me", "my": "my"}
    text = _MACRO.sub(lambda name: caught.get(name[1], ""), say)
    return text.replace("we'm ", "we're ").replace("we was ", "we were ") if we else text


def _rephrase(clause: str, random: Random) -> str:
    """The clause with the phrases in it said otherwise, each place once."""
    done: list[tuple[int, int, str]] = []
    for pattern, others in _grammar().phrases:
        for match in pattern.finditer(clause):
            if others and not any(match.start() < end and start < match.end() for start, end, _ in done):
                done.append((*match.span(), match.expand(random.choice(others))))
    return replace_places(clause, sorted(done))


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
        return _Frame([compiled(clause) for clause in entry["said"]], entry["say"], never, unless)

    openers, clauses = table["openers"], table["clauses"]
    longest = "|".join(sorted(openers, key=len, reverse=True))
    return _Grammar(
        [frame(entry) for entry in table["frame"]],
        [(words(phrase), say) for phrase, say in table["phrases"].items()],
        openers,
        compiled(rf"({longest}|{clauses['stay']})(?:[,!:]+ *|$| (?={clauses['begin']}))"),
        compiled(clauses["joint"]),
        compiled(clauses["please"]),
        compiled(clauses["also"]),
        clauses["additions"],
        [(words(short), full) for short, full in table["expansions"].items()],
    )


class Masks:
    """An utterance in masks (`text`), and the way back."""

    def __init__(self, text: str, kept: Ranges) -> None:
        self._words: dict[str, str] = {}
        # Names are told by their capitals; numbers, times and days by their words.
        patterns = (_NAME, *(_patterns()[kind] for kind in ("time", "day", "number")))
        matches = (match for pattern in patterns for match in pattern.finditer(text))
        untouchable = (match.span() for match in matches if _kind(match[0]) != "one")
        parts, at = [], 0
        for start, end in sorted({*kept, *untouchable}, key=lambda span: (span[0], -span[1])):
            if start < at or len(self._words) == ROOM:
                continue
            while (ending := _ENDING.match(text, end)) is not None:
                end = ending.end()
            kind = _kind(text[start:end])
            letter = chr(LETTERS[kind] + len(self._words))
            common = kind in ("number", "price") or _COMMON.match(text, start)
            self._words[letter] = text[start:end].lower() if common else text[start:end]
            parts += [text[at:start], letter]
            at = end
        self.text = "".join((*parts, text[at:]))

    def restore(self, text: str, *, cased: bool = False) -> str:
        """A text with its words in place of the masks; if it is `cased`, those that open a sentence have a capital."""

        def words(mask: re.Match[str]) -> str:
            original = self._words.get(mask[0], mask[0])
            return capitalise(original) if cased and opens_sentence(text, mask.start()) else original

        return _MASK.sub(words, text)

    def all_in(self, text: str) -> bool:
        """Whether a text has every mask once."""
        return sorted(_MASK.findall(text)) == sorted(self._words)


def _kind(words: str) -> str:
    return next((kind for kind, pattern in _patterns().items() if pattern.fullmatch(words)), "word")


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    days = "|".join(calendar_words("weekdays"))
    numbers = "|".join(sorted((word for word in number_words() if len(word) > 1), key=len, reverse=True))
    expressions = {
        "one": r"1|one",
        "time": rf"(?:{CLOCK}|\d{{1,2}}(?:\.\d\d)?)\s?{AM_PM}|{CLOCK}|noon|midnight",
        "day": rf"(?:(?:next|this)(?: coming)? )?(?:{days})s?(?: (?:this|next) week)?|today|tomorrow|tonight|"
        rf"{MONTH} \d{{1,2}}{ORDINAL_ENDING}?|(?:the )?\d{{1,2}}{ORDINAL_ENDING}?(?: of)? (?:this month|{MONTH})|"
        rf"(?:the )?\d{{1,2}}{ORDINAL_ENDING}",
        "number": rf"\d+|{numbers}",
        "price": r"(?:cheap|expensive|moderate|inexpensive|affordable)(?:\s?-?ly)?(?:[ -]priced)?",
        "answer": r"yes|yeah|yep|yup|sure|no|nope|ok|okay|not (?:really|at all|particularly|sure)",
        "open": r".*\b(?:not?|\w+n['’]t|cannot|matters?|minds?|care|preferences?|difference|picky|decide|surprise)\b.*",
    }
    return {kind: re.compile(rf"(?<!\w)(?:{rule})(?!\w)", re.IGNORECASE) for kind, rule in expressions.items()}
