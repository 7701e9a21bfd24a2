"""What a system turn does, read off its words: it starts, asks for a slot, offers to book, fails, tells.

What a question asks for is learned: the slots that users name in answer to its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import NamedTuple

from dstress.dialogue import service_of
from dstress.generators.templates.tokens import (
    bare_name,
    lists,
    runs,
    sentences_of,
    service_noun,
    slot_of,
    tokens_of,
    words,
)

ACT_KINDS = ("start", "more", "book", "confirm", "asks", "invites", "besides", "fails", "done", "tells", "turns")
"""What a system turn can do, to one who answers. `besides`: it asks for something that the user does not speak of;
`turns`: the user turns to another service."""

_OFTEN = 3
_SHARE = 4_000
"""A run of words must be in so many questions, or in one of so many, to count."""
_SURE = 0.45
_LONGEST = 3
_SMOOTH = 20
_KNOWN = 3
_CLEAR, _PLAIN = 2.5, 8.0


class SystemAct(NamedTuple):
    """What a system turn does, the bare names of the slots that it requests, and the noun of the service that it is
    about."""

    kind: str
    requested: frozenset[str] = frozenset()
    noun: str = ""
    is_plain: bool = False
    """Whether it is plainly about that service."""
    offers: bool = False
    """Whether it offers something that one may decline."""

    def requested_of(self, elements: Iterable[str]) -> frozenset[str]:
        """Those of the elements that the system requested."""
        return frozenset(element for element in elements if bare_name(slot_of(element)) in self.requested)

    def kind_toward(self, elements: Collection[str]) -> str:
        """The kind, for a user who speaks of these elements."""
        if self.kind in ("start", "more"):
            return self.kind
        asks = self.kind in ("asks", "invites")
        answers = asks and bool(self.requested_of(elements))
        turns = self.noun and self.noun not in {service_noun(service_of(element)) for element in elements}
        if turns and (self.is_plain or not (answers or self.kind == "fails")):
            return "turns"
        return self.kind if answers or not asks else "besides"


class AnsweredTurn(NamedTuple):
    """A system turn, the slots that the user named in answer, and the service that was spoken of before it."""

    system: str
    slots: Sequence[str]
    service: str


class Topics(NamedTuple):
    """Which service a system turn is about, by its words (naive Bayes; only a clear answer counts)."""

    nouns: tuple[str, ...]
    log_odds: dict[str, tuple[float, ...]]

    @classmethod
    def learn(cls, counts: Mapping[str, Counter[str]]) -> Topics:
        """What each word tells of each service, from the turns that have it, by the services' nouns."""
        used: Counter[str] = Counter()
        for of_noun in counts.values():
            used.update(of_noun)
        nouns = tuple(sorted(counts))
        totals = [sum(counts[noun].values()) for noun in nouns]
        shares = [number / sum(totals) for number in totals]
        return cls(
            nouns,
            {
                word: tuple(
                    round(log((counts[noun][word] + share * _SMOOTH) / ((number + _SMOOTH) * share)), 3)
                    for noun, share in zip(nouns, shares, strict=True)
                )
                for word, number in used.items()
                if number >= _KNOWN
            },
        )

    def find(self, tokens: Iterable[str]) -> tuple[str, bool]:
        """The service's noun, empty if none is clearly spoken of; and whether it is plain."""
        log_odds = [odds for token in dict.fromkeys(tokens) if (odds := self.log_odds.get(token))]
        if not log_odds or len(self.nouns) < 2:
            return "", False
        scores = sorted(zip(map(sum, zip(*log_odds, strict=True)), self.nouns, strict=True), reverse=True)
        lead = scores[0][0] - scores[1][0]
        return (scores[0][1], lead > _PLAIN) if lead > _CLEAR else ("", False)


class ActTagger(NamedTuple):
    """Tells what system turns do: by runs of words, the bare names of the slots that they request; by words, topics."""

    requests: dict[str, tuple[str, ...]]
    topics: Topics

    @classmethod
    def learn(cls, turns: Iterable[AnsweredTurn]) -> ActTagger:
        """Learn from system turns and the slots that users named in answer."""
        used: dict[str, Counter[str]] = {}
        answered: Counter[tuple[str, str]] = Counter()
        in_questions: Counter[str] = Counter()
        questions = 0
        for system, slots, service in turns:
            if system and service:
                used.setdefault(service_noun(service), Counter()).update(set(tokens_of(system)))
            if not system or not slots:
                continue
            questions += 1
            names = {bare_name(slot) for slot in slots}
            for run in _question_runs(system):
                in_questions[run] += 1
                for name in names:
                    answered[run, name] += 1
        requests: dict[str, tuple[str, ...]] = {}
        often = max(_OFTEN, questions // _SHARE)
        for (run, name), number in sorted(answered.items()):
            if number >= often and (number - 1) / in_questions[run] >= _SURE:
                requests[run] = (*requests.get(run, ()), name)
        return cls(requests, Topics.learn(used))

    def tag(self, system: str) -> SystemAct:
        """What a system turn does."""
        if not system.strip():
            return SystemAct("start")
        kind = _kind(system)
        requested = frozenset(name for run in _question_runs(system) for name in self.requests.get(run, ()))
        if kind == "polar":
            kind = "invites" if requested else "confirm"
        noun, is_plain = self.topics.find(tokens_of(system))
        requested = requested if kind != "more" else frozenset()
        return SystemAct(kind, requested, noun, is_plain, kind in ("book", "confirm", "invites") and is_offer(system))


@lru_cache(maxsize=4096)
def _questions(system: str) -> tuple[tuple[str, ...], ...]:
    """The sentences that ask for something."""
    sentences = sentences_of(tuple(tokens_of(system)))
    questions = [sentence for sentence in sentences if sentence[-1] == "?"]
    wanting = lists()["system"]["wanting"]
    return tuple(questions or [each for each in sentences if any(phrase in " ".join(each) for phrase in wanting)])


def asked_in(system: str, polar: bool = False) -> str:
    """The questions of a system turn; with `polar` only those that want a yes or a no."""
    return " ".join(" ".join(question) for question in _questions(system) if not polar or _is_polar(question))


def _question_runs(system: str) -> list[str]:
    return list(dict.fromkeys(run for question in _questions(system) for run in runs(question, _LONGEST)))


@lru_cache(maxsize=4096)
def _kind(system: str) -> str:
    """The kind by the words alone; `polar` for a question that wants yes or no, whatever it is about."""
    table = lists()["system"]
    text = f" {' '.join(tokens_of(system))} "
    questions = _questions(system)
    question_text = " ".join(" ".join(question) for question in questions)
    if any(phrase in (question_text or text) for phrase in table["more"]):
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
    if any(phrase in f" {question_text} " for phrase in table["wanting"]):
        return "asks"
    return "book" if any(f" {word} " in f" {question_text} " for word in table["book"]) else "polar"


def wants_value(system: str) -> bool:
    """Whether a system turn asks for something and does not only want a yes to what it offers."""
    return _kind(system) in ("asks", "polar") and not is_offer(system)


def is_offer(system: str) -> bool:
    """Whether the last question is for a yes or a no to something: "shall i book it ?", not "any other wishes ?"."""
    last = _questions(system)[-1:]
    phrases = lists()["system"]["offers"]
    return any(
        any(phrase in " ".join(question) for phrase in phrases) and words("system.open_ended").isdisjoint(question)
        for question in last
    )


def _is_polar(question: Sequence[str]) -> bool:
    """Whether a question wants yes or no."""
    text = " ".join(question)
    return words("system.open").isdisjoint(question) or any(phrase in text for phrase in lists()["system"]["polar"])
