"""What a system turn does, read off its words: it starts, asks for a slot, offers to book, fails, tells.

What a question asks for is learned: the slots that users name in answer to its words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import product
from math import log
from typing import NamedTuple

from dstress.dialogue import service_of
from dstress.stressors.generators.templates.tokens import (
    bare_name,
    has_phrase,
    has_word,
    lists,
    runs,
    sentences_of,
    service_noun,
    slot_of,
    tokens_of,
)

ACT_KINDS = ("start", "more", "book", "confirm", "asks", "invites", "besides", "fails", "done", "tells", "turns")
"""What a system turn can do, to one who answers. `besides`: it asks for something that the user does not speak of;
`turns`: the user turns to another service."""

_OFTEN = 3
_SHARE = 4_000  # a run of words must be in so many questions, or in one of so many, to count
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


class ActTagger(NamedTuple):
    """Tells what system turns do, by their words."""

    requests: dict[str, tuple[str, ...]]
    """By runs of words, the bare names of the slots that they request."""
    nouns: tuple[str, ...]
    """Of the services."""
    log_odds: dict[str, tuple[float, ...]]
    """What each word tells of each service (naive Bayes)."""

    @classmethod
    def learn(cls, turns: Iterable[tuple[str, Sequence[str], str]]) -> ActTagger:
        """Learn from system turns, each with the slots that the user named in answer and the service spoken of before
        it."""
        by_noun: dict[str, Counter[str]] = defaultdict(Counter)
        answered, in_questions, questions = Counter[tuple[str, str]](), Counter[str](), 0
        for system, slots, service in turns:
            if system and service:
                by_noun[service_noun(service)].update({*tokens_of(system)})
            if system and slots:
                questions += 1
                runs = _question_runs(system)
                in_questions.update(runs)
                answered.update(product(runs, {bare_name(slot) for slot in slots}))
        requests: dict[str, tuple[str, ...]] = {}
        often = max(_OFTEN, questions // _SHARE)
        for (run, name), number in sorted(answered.items()):
            if number >= often and (number - 1) / in_questions[run] >= _SURE:
                requests[run] = (*requests.get(run, ()), name)
        nouns, used = tuple(sorted(by_noun)), sum(by_noun.values(), Counter[str]())
        shares = [by_noun[noun].total() / used.total() for noun in nouns]
        log_odds = {
            word: tuple(
                round(log((by_noun[noun][word] + share * _SMOOTH) / ((number + _SMOOTH) * share)), 3)
                for noun, share in zip(nouns, shares, strict=True)
            )
            for word, number in used.items()
            if number >= _KNOWN
        }
        return cls(requests, nouns, log_odds)

    def tag(self, system: str) -> SystemAct:
        """What a system turn does."""
        if not system.strip():
            return SystemAct("start")
        kind = _kind(system)
        requested = frozenset(name for run in _question_runs(system) for name in self.requests.get(run, ()))
        if kind == "polar":
            kind = "invites" if requested else "confirm"
        noun, lead = "", 0.0
        log_odds = [odds for token in dict.fromkeys(tokens_of(system)) if (odds := self.log_odds.get(token))]
        if log_odds and len(self.nouns) > 1:
            scores = sorted(zip(map(sum, zip(*log_odds, strict=True)), self.nouns, strict=True), reverse=True)
            lead = scores[0][0] - scores[1][0]
            noun = scores[0][1] if lead > _CLEAR else ""
        offers = kind in ("book", "confirm", "invites") and is_offer(system)
        return SystemAct(kind, requested if kind != "more" else frozenset(), noun, lead > _PLAIN, offers)


@lru_cache(maxsize=4096)
def _questions(system: str) -> tuple[tuple[str, ...], ...]:
    """The sentences that ask for something."""
    sentences = sentences_of(tuple(tokens_of(system)))
    questions = [sentence for sentence in sentences if sentence[-1] == "?"]
    return tuple(questions or [each for each in sentences if has_phrase(" ".join(each), "system.wanting")])


def asked_in(system: str, polar: bool = False) -> str:
    """The questions of a system turn; with `polar` only those that want a yes or a no."""
    return " ".join(" ".join(question) for question in _questions(system) if not polar or _is_polar(question))


def _question_runs(system: str) -> list[str]:
    return list(dict.fromkeys(run for question in _questions(system) for run in runs(question, _LONGEST)))


@lru_cache(maxsize=4096)
def _kind(system: str) -> str:
    """The kind by the words alone; `polar` for a question that wants yes or no, whatever it is about."""
    text, questions = f" {' '.join(tokens_of(system))} ", _questions(system)
    question_text = f" {asked_in(system)} "
    fails, done, books = (
        any(f" {phrase} " in words_of_turn for phrase in lists()["system"][kind])
        for kind, words_of_turn in (("fails", text), ("done", text), ("book", question_text))
    )
    if has_phrase(question_text if questions else text, "system.more"):
        return "more"
    is_polar = bool(questions) and _is_polar(questions[-1])
    if has_phrase(text, "system.confirm") and (is_polar or not questions):
        return "confirm"
    if not questions:
        return "fails" if fails else "done" if done else "tells"
    if not is_polar:
        return "asks"
    if fails:
        return "fails"
    if has_phrase(question_text, "system.wanting"):
        return "asks"
    return "book" if books else "polar"


def wants_value(system: str) -> bool:
    """Whether a system turn asks for something and does not only want a yes to what it offers."""
    return _kind(system) in ("asks", "polar") and not is_offer(system)


def is_offer(system: str) -> bool:
    """Whether the last question is for a yes or a no to something: "shall i book it ?", not "any other wishes ?"."""
    last = (_questions(system) or ((),))[-1]
    return has_phrase(" ".join(last), "system.offers") and not has_word(last, "system.open_ended")


def _is_polar(question: Sequence[str]) -> bool:
    """Whether a question wants yes or no."""
    return not has_word(question, "system.open") or has_phrase(" ".join(question), "system.polar")
