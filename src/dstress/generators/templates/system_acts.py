"""What a system turn does, read off its words: it starts, asks for a slot, offers to book, fails, tells.

What a question asks for is learned: the slots that users name in answer to its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from math import log
from typing import NamedTuple

from dstress.dialogue import service_of
from dstress.generators.templates.tokens import bare, lists, noun_of, runs, sentences_of, slot_of, tokens_of, words

KINDS = ("start", "more", "book", "confirm", "asks", "invites", "besides", "fails", "done", "tells", "turns")
"""What a system turn can do, to one who answers. `besides`: it asks for something that the user does not speak of;
`turns`: the user turns to another service."""

_OFTEN = 3
_SHARE = 4_000
"""A run of words must be heard so often, or in one of so many questions, to count."""
_SURE = 0.45
_LONGEST = 3
_SMOOTH = 20
_KNOWN = 3
_CLEAR, _PLAIN = 2.5, 8.0


class Doing(NamedTuple):
    """What a system turn does, the bare names of the slots that it asks for, and the service that it is about."""

    kind: str
    asked: frozenset[str] = frozenset()
    about: str = ""
    sure: bool = False
    """Whether it is plainly about that service."""

    def answers(self, elements: Iterable[str]) -> frozenset[str]:
        """The elements of a key that the system asked for."""
        return frozenset(part for part in elements if bare(slot_of(part)) in self.asked)

    def toward(self, elements: Collection[str]) -> str:
        """The kind, for a user who speaks of these elements of a key."""
        if self.kind in ("start", "more"):
            return self.kind
        asks = self.kind in ("asks", "invites")
        answers = asks and bool(self.answers(elements))
        turns = self.about and self.about not in {noun_of(service_of(part)) for part in elements}
        if turns and (self.sure or not answers):
            return "turns"
        return self.kind if answers or not asks else "besides"


class Exchange(NamedTuple):
    """A system turn, the slots that the user said in answer, and the service that was spoken of before it."""

    system: str
    slots: Sequence[str]
    service: str


class Listener:
    """Hears what system turns do."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        """Learn from system turns and the slots that users said in answer."""
        self._topics = _Topics()
        said: Counter[tuple[str, str]] = Counter()
        heard: Counter[str] = Counter()
        questions = 0
        for system, slots, service in exchanges:
            if system and service:
                self._topics.add(tokens_of(system), noun_of(service))
            if not system or not slots:
                continue
            questions += 1
            names = {bare(slot) for slot in slots}
            for run in _question_runs(system):
                heard[run] += 1
                for name in names:
                    said[run, name] += 1
        self._topics.learned()
        self._asks: dict[str, tuple[str, ...]] = {}
        often = max(_OFTEN, questions // _SHARE)
        for (run, name), number in sorted(said.items()):
            if number >= often and (number - 1) / heard[run] >= _SURE:
                self._asks[run] = (*self._asks.get(run, ()), name)

    def hear(self, system: str) -> Doing:
        """What a system turn does."""
        if not system.strip():
            return Doing("start")
        kind = _kind(system)
        asked = frozenset(name for run in _question_runs(system) for name in self._asks.get(run, ()))
        if kind == "polar":
            kind = "invites" if asked else "confirm"
        return Doing(kind, asked if kind != "more" else frozenset(), *self._topics.of(tokens_of(system)))


class _Topics:
    """Which service a system turn is about, by its words (naive Bayes; only a clear answer counts)."""

    def __init__(self) -> None:
        self._counted: dict[str, Counter[str]] = {}
        self._steps: dict[str, list[float]] = {}
        self._services: list[str] = []

    def add(self, tokens: Iterable[str], service: str) -> None:
        """Learn one turn."""
        self._counted.setdefault(service, Counter()).update(set(tokens))

    def learned(self) -> None:
        """Count what was learned into what each word tells."""
        used: Counter[str] = Counter()
        for counted in self._counted.values():
            used.update(counted)
        self._services = sorted(self._counted)
        totals = [sum(self._counted[service].values()) for service in self._services]
        shares = [number / sum(totals) for number in totals]
        for word, number in used.items():
            if number >= _KNOWN:
                self._steps[word] = [
                    round(log((self._counted[service][word] + share * _SMOOTH) / ((number + _SMOOTH) * share)), 3)
                    for service, share in zip(self._services, shares, strict=True)
                ]
        self._counted = {}

    def of(self, tokens: Iterable[str]) -> tuple[str, bool]:
        """The service, empty if none is clearly spoken of; and whether it is plain."""
        steps = [found for token in dict.fromkeys(tokens) if (found := self._steps.get(token))]
        if not steps or len(self._services) < 2:
            return "", False
        scores = sorted(zip(map(sum, zip(*steps, strict=True)), self._services, strict=True), reverse=True)
        lead = scores[0][0] - scores[1][0]
        return (scores[0][1], lead > _PLAIN) if lead > _CLEAR else ("", False)


@lru_cache(maxsize=4096)
def _questions(system: str) -> tuple[tuple[str, ...], ...]:
    """The sentences that ask for something."""
    sentences = sentences_of(tuple(tokens_of(system)))
    asking = [sentence for sentence in sentences if sentence[-1] == "?"]
    wanting = lists()["system"]["wanting"]
    asking = asking or [one for one in sentences if any(phrase in " ".join(one) for phrase in wanting)]
    return tuple(asking)


def _question_runs(system: str) -> list[str]:
    return list(dict.fromkeys(run for question in _questions(system) for run in runs(question, _LONGEST)))


@lru_cache(maxsize=4096)
def _kind(system: str) -> str:
    table = lists()["system"]
    text = f" {' '.join(tokens_of(system))} "
    questions = _questions(system)
    asked = " ".join(" ".join(question) for question in questions)
    if any(phrase in (asked or text) for phrase in table["more"]):
        return "more"
    if any(phrase in text for phrase in table["confirm"]) and (not questions or _is_polar(questions[-1])):
        return "confirm"
    if not questions:
        for kind in ("fails", "done"):
            if any(f" {phrase} " in text for phrase in table[kind]):
                return kind
        return "tells"
    if not _is_polar(questions[-1]):
        return "asks"
    if any(f" {phrase} " in text for phrase in table["fails"]):
        return "fails"
    if any(phrase in f" {asked} " for phrase in table["wanting"]):
        return "asks"
    return "book" if any(f" {word} " in f" {asked} " for word in table["book"]) else "polar"


def _is_polar(question: Sequence[str]) -> bool:
    """Whether a question wants yes or no."""
    asked = " ".join(question)
    return words("system.open").isdisjoint(question) or any(phrase in asked for phrase in lists()["system"]["polar"])
