"""Which words say a goal: a whole template where there is one, else an opening with further sentences or phrases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice
from typing import Any, NamedTuple

from dstress.dialogue import DONTCARE, service_of
from dstress.generators.templates.joints import is_alike, with_phrase
from dstress.generators.templates.library import Key, Library, Template
from dstress.generators.templates.plain_sentences import noun_for, plain
from dstress.generators.templates.shapes import AFRESH, may_follow, points_back, shape_of
from dstress.generators.templates.system_acts import KINDS, Doing
from dstress.generators.templates.tokens import bare, elements_of, noun_of, sentences_of, slot_of

_PIECE = 0.5
"""What each further piece costs: fewer are better."""
_LEADS, _TAILS, _OPTIONS = 5, 4, 30
_UNASKED = 1.5
_TAKEN = 0.8
_ORDER = 0.8
_WORST, _LEAST = -3.4, 3
"""Openings that score less are left out, unless there are only few."""
_GOOD, _ENOUGH = -1.0, 10
"""With so many good whole templates, none are composed."""
_UNINTRODUCED = 1.2
_PLAIN = 0.6
"""By so much plain sentences are worse than the worst template."""
_AGAIN = 1.2
_BEST_FIT, _WORST_FIT = 1.5, -2.0
_CHAIN, _LINKS = 3, 2
_MANY = 4
_REMEMBERED = 4096


class Option(NamedTuple):
    """A way to say a key, how good it is, and of how many pieces it is."""

    tokens: tuple[str, ...]
    score: float
    pieces: int = 1


class Situation(NamedTuple):
    """What a user answers to: the kind of system turn, the elements of the key that it asked for, how many slots it
    asked for, the bare names of what is taken up, and whether the service is the one that the system spoke of."""

    kind: str
    answers: Key = frozenset()
    asked: int = 0
    taken: frozenset[str] = frozenset()
    goes_on: bool = False
    names: bool = False
    """Whether the user names something: one who says yes to an offer does not name another in the next sentence."""

    @property
    def mood(self) -> str:
        """The kind, as it limits how one may open."""
        if self.kind == "confirm" and self.taken:
            return "agrees"
        return "goes_on" if self.kind == "tells" and self.goes_on else self.kind


_SEVERAL = 2
_ELSE = frozenset({"something else"})
"""Stands for elements that the system asked for and a part does not have."""


class Composer:
    """Finds ways to say keys, from a library."""

    def __init__(self, library: Library, nouns: dict[str, frozenset[str]], introducing: dict[str, str]) -> None:
        self.library, self._nouns, self._introducing = library, nouns, introducing
        self._taken = frozenset(bare(slot) for found in library.wholes.values() for one in found for slot in one.taken)
        self._forget()

    def _forget(self) -> None:
        self.options = lru_cache(maxsize=_REMEMBERED)(self._options)
        self._leads = lru_cache(maxsize=_REMEMBERED)(self._find_leads)
        self._further = lru_cache(maxsize=_REMEMBERED)(self._find_further)
        self._shape = lru_cache(maxsize=None)(shape_of)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not hasattr(value, "cache_clear")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def situation(self, doing: Doing, key: Key, taken: Iterable[str]) -> Situation:
        """What a system turn is to a user who wants to say a key; only what makes a difference, so that it is known."""
        kind = doing.toward(key)
        return Situation(
            kind,
            doing.answers(key) if kind in ("asks", "invites", "book", "confirm", "fails", "tells") else frozenset(),
            min(len(doing.asked), _SEVERAL),
            frozenset(map(bare, taken)) & self._taken,
            kind == "tells" and doing.about == noun_of(service_of(min(key))),
            any(map(_is_name, key)),
        )

    def _options(self, key: Key, heard: Situation) -> list[Option]:
        """Ways to say a key about one service, the best first."""
        found = [Option(lead.tokens, score) for lead, score in self._leads(key, heard)]
        if sum(one.score > _GOOD for one in found) < _ENOUGH:
            for part in self._parts(key):
                found += self._split(part, key, heard)
        if any("=" in part for part in key):
            return list(islice((one for one in _best(found, 0.0) if self._is_named(one.tokens, heard)), _OPTIONS))
        return _best(found, 0.0)[:_OPTIONS]

    def _parts(self, key: Key) -> list[Key]:
        """The parts of a key that an opening can say."""
        if len(key) > _MANY:  # of many subsets most have no template
            known = [part for part in self.library.wholes if part < key]
            return sorted({*known, *(frozenset((one,)) for one in key)}, key=lambda part: (-len(part), sorted(part)))
        sizes = range(len(key) - 1, 0, -1)
        return [frozenset(part) for size in sizes for part in combinations(sorted(key), size)]

    def both(self, keys: Sequence[Key], doing: Doing, taken: Iterable[str]) -> list[Option]:
        """Ways to say keys of several services, one after the other."""
        first, *others = keys
        found = self.options(first, self.situation(doing, first, taken))
        for key in others:
            further = [
                one
                for one in self.options(key, Situation("more"))
                if self._shape(one.tokens).opening in ("", "addition")
            ]
            found = [
                Option(
                    one.tokens + other.tokens,
                    _mean(one.score, other.score) - _PIECE * is_alike(one.tokens, other.tokens),
                    one.pieces + other.pieces,
                )
                for one in found[:_TAILS]
                for other in further[:_TAILS]
            ]
        return found

    def _split(self, part: Key, key: Key, heard: Situation) -> Iterator[Option]:
        """An opening that says a part, and pieces for the rest."""
        rest = key - part
        late = self._late(part, rest)
        own = heard.answers & part
        answers = own or (_ELSE if heard.answers else own)
        for lead, score in self._leads(part, heard._replace(answers=answers))[:_LEADS]:
            for joined, base, pieces in self._extended(lead.tokens, rest):
                yield Option(joined, _mean(score, base) - _PIECE * pieces + _ORDER * late, 1 + pieces)
            for tail in self._further(rest)[:_TAILS]:
                if not is_alike(lead.tokens, tail.tokens):
                    cost = _PIECE * tail.pieces - _ORDER * min(0.0, late)
                    yield Option(lead.tokens + tail.tokens, _mean(score, tail.score) - cost, 1 + tail.pieces)

    def _built(self, part: Key, heard: Situation) -> Iterator[tuple[Template, float]]:
        """A request that says no slot, with phrases that say the part: "i need a room" + "for 3 people"."""
        heads = self._leads(frozenset(), heard._replace(answers=frozenset()), service_of(min(part)))
        for head, score in heads[:_LEADS]:
            for joined, base, pieces in self._extended(head.tokens, part):
                yield head._replace(tokens=joined), _mean(score, base) - _PIECE * pieces

    def _extended(self, tokens: tuple[str, ...], rest: Key) -> Iterator[Option]:
        """A request with phrases added that say the rest, in the usual order; the score is that of the phrases."""
        for phrase in self.library.added.get(rest, ())[:_TAILS]:
            if joined := with_phrase(tokens, phrase):
                yield Option(joined, phrase.base)
        if 1 < len(rest) <= _CHAIN:
            first = min(rest, key=lambda part: (self.library.places.get(part, 0.5), part))
            for phrase in self.library.added.get(frozenset((first,)), ())[:_LINKS]:
                if joined := with_phrase(tokens, phrase):
                    for longer, base, pieces in self._extended(joined, rest - {first}):
                        yield Option(longer, (phrase.base + base) / 2, 1 + pieces)

    def _find_leads(self, part: Key, heard: Situation, service: str = "") -> list[tuple[Template, float]]:
        """Templates that can open the answer, with their scores; for no slot at all the requests of a service."""
        at = KINDS.index(heard.kind)
        found = []
        for template in self.library.wholes.get(part, ()) if part else self.library.heads.get(service, ()):
            shape = self._shape(template.tokens)
            if not may_follow(shape, heard.mood, heard.answers):
                continue
            if heard.names and shape.opening == "assent" and not any(map(_is_name, part)):
                continue
            score = template.base + max(_WORST_FIT, min(_BEST_FIT, template.fits[at]))
            if heard.answers and heard.answers.isdisjoint(shape.first):
                score -= _UNASKED
            if heard.taken and not heard.taken.isdisjoint(map(bare, template.taken)):
                score += _TAKEN
            if heard.kind in AFRESH and not self._introduces(template.tokens):
                score -= _UNINTRODUCED
            found.append((template, score))
        if part and heard.kind in AFRESH:
            found += self._built(part, heard)
        found.sort(key=lambda item: (-item[1], item[0].tokens))
        found = found[:_LEAST] + [item for item in found[_LEAST:] if item[1] > _WORST]
        if len(part) == 1:
            least = min((score for _, score in found), default=0.0)
            found.append((self._plain(part)[0], min(least, _WORST) - _PLAIN))
        return found

    def _plain(self, part: Key) -> tuple[Template, tuple[Template, ...]]:
        [one] = part
        slot = slot_of(one)
        return plain(one, any(frozenset((f"{slot}={flag}",)) in self.library.wholes for flag in ("yes", "no")))

    def _introduces(self, tokens: Sequence[str]) -> bool:
        """Whether a text names its service or what it is after, so that it can be the first to speak of it."""
        return any(token in self._introducing or token.endswith("name]") for token in tokens)

    def _follow(self, part: Key) -> list[Option]:
        """Single sentences; those that name the service once more sound as if it were another."""
        found = []
        for tokens, base, *_ in self.library.follow.get(part, ()):
            again = self._introduces(tokens) and not points_back(tokens)
            found.append(Option(tokens, base - _AGAIN * again))
        if len(part) == 1:
            least = min((one.score for one in found), default=0.0)
            found += [Option(one.tokens, min(least, _WORST) - _PLAIN) for one in self._plain(part)[1]]
        return sorted(found, key=lambda one: (-one.score, one.tokens))

    def _find_further(self, rest: Key) -> list[Option]:
        """Sentences that say the rest, one or more; the score has no cost of pieces in it yet."""
        found = self._follow(rest)
        if len(rest) > _MANY:
            ordered = sorted(rest, key=lambda part: (self.library.places.get(part, 0.5), part))
            return _best([*found, *self._chained(frozenset(ordered[:2]), frozenset(ordered[2:]))], _PIECE)
        first, *others = sorted(rest)
        for size in range(len(others) - 1, -1, -1):
            for chosen in combinations(others, size):
                part = frozenset((first, *chosen))
                found += self._pairs(part, rest - part)
                found += self._pairs(rest - part, part)
        return _best(found, _PIECE)

    def _chained(self, part: Key, rest: Key) -> Iterator[Option]:
        for one in self._further(part)[:2]:
            for other in self._further(rest)[:2]:
                yield Option(one.tokens + other.tokens, (one.score + other.score) / 2, one.pieces + other.pieces)

    def _pairs(self, part: Key, rest: Key) -> Iterator[Option]:
        if not part or not rest or self._late(part, rest) < 0:
            return
        for one in self._follow(part)[:3]:
            for joined, base, pieces in islice(self._extended(one.tokens, rest), 2):
                yield Option(joined, (one.score + base) / 2, 1 + pieces)
            for other in self._further(rest)[:3]:
                if not is_alike(one.tokens, other.tokens):
                    yield Option(one.tokens + other.tokens, (one.score + other.score) / 2, 1 + other.pieces)

    def _late(self, part: Key, rest: Key) -> float:
        """How much later the rest is usually said than the part; negative where it is usually said before."""
        places = self.library.places

        def mean(elements: Key) -> float:
            return sum(places.get(one, 0.5) for one in elements) / len(elements)

        return mean(rest) - mean(part)

    def _is_named(self, tokens: tuple[str, ...], heard: Situation) -> bool:
        """Whether every flag says what it is about; only no preference may leave that to the one question asked."""
        silent, first = 0, frozenset[str]()
        for sentence in sentences_of(tokens):
            elements = elements_of(sentence)
            first = first or frozenset(elements)
            for part in (one for one in elements if "=" in one):
                if self._names(slot_of(part)).isdisjoint(sentence):
                    silent += 1
                    if not part.endswith(f"={DONTCARE}") or part not in heard.answers & first or heard.asked > 1:
                        return False
        return silent <= 1

    def _names(self, slot: str) -> frozenset[str]:
        """The words that speak of a slot."""
        return self._nouns.get(slot, frozenset()) | frozenset(noun_for(slot).split())


def _is_name(part: str) -> bool:
    return part.endswith("name")


def _mean(lead: float, tail: float) -> float:
    """The score of an opening and of what comes after it; how one opens matters more."""
    return (2 * lead + tail) / 3


def _best(found: Iterable[Option], cost: float) -> list[Option]:
    """The best of each wording first; a further piece costs so much."""
    best: dict[tuple[str, ...], Option] = {}
    for option in found:
        known = best.get(option.tokens)
        if known is None or option.score > known.score:
            best[option.tokens] = option
    return sorted(best.values(), key=lambda one: (cost * (one.pieces - 1) - one.score, one.tokens))


def by_service(key: Key, doing: Doing) -> list[Key]:
    """A key by its services: first the one that the system asks about, or speaks of."""
    parts: dict[str, set[str]] = {}
    for part in sorted(key):
        parts.setdefault(service_of(part), set()).add(part)

    def rank(item: tuple[str, set[str]]) -> tuple[bool, bool, str]:
        return not doing.answers(item[1]), noun_of(item[0]) != doing.about, item[0]

    return [frozenset(found) for _, found in sorted(parts.items(), key=rank)]
