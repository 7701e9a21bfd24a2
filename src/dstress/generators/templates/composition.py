"""Which words say a goal: a whole template where there is one, else an opening with further sentences or phrases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice, pairwise
from typing import Any, NamedTuple

from dstress.dialogue import DONTCARE, service_of
from dstress.generators.templates.library import AFRESH, Key, Library, Template, points_back, shape_of
from dstress.generators.templates.system_acts import ACT_KINDS, SystemAct
from dstress.generators.templates.tokens import (
    bare_name,
    elements_of,
    ends_sentence,
    is_booking,
    is_flag_mark,
    is_placeholder,
    sentences_of,
    service_noun,
    slot_of,
    words,
)
from dstress.generators.templates.unseen_slots import plain_templates, slot_noun

_PIECE = 0.5
"""What each further piece costs: fewer are better."""
_LEADS, _TAILS, _PHRASINGS = 5, 4, 30
_UNREQUESTED = 1.5
_TAKEN = 0.8
_ORDER = 0.8
_WORST, _LEAST = -3.4, 3
"""Leads that score less are left out, unless there are only few."""
_GOOD, _ENOUGH = -1.0, 10
"""With so many good whole templates, none are composed."""
_UNINTRODUCED = 1.2
_PLAIN = 0.6
"""By so much plain sentences are worse than the worst template."""
_AGAIN = 1.2
_BEST_FIT, _WORST_FIT = 1.5, -2.0
_CHAIN, _LINKS = 3, 2
_MANY = 4
_SEVERAL = 2
_ELSE = frozenset({"something else"})
"""Stands for elements that the system requested and a part does not have."""
_FREE = 3
"""A phrase that was said after so many different words can be said after others."""
_START = 3
_REFUSALS = ("no", ","), ("no", "thank", "you", ".")
"""What one says to an offer who wants something else of its kind, and who turns to another service."""
_REMEMBERED, _REMEMBERED_TEXTS = 4096, 16_384

Tokens = tuple[str, ...]


class Phrasing(NamedTuple):
    """A way to say a key, how good it is, and of how many pieces it is."""

    tokens: Tokens
    score: float
    pieces: int = 1


class Situation(NamedTuple):
    """What a user answers to: the kind of system turn, the elements of the key that it requested, how many slots it
    requested, the bare names of what is taken up, and whether the service is the one that the system spoke of."""

    kind: str
    requested: Key = frozenset()
    requests: int = 0
    taken: frozenset[str] = frozenset()
    goes_on: bool = False
    gives_name: bool = False
    """Whether the user names something: one who says yes to an offer does not name another in the next sentence."""
    differs: bool = False
    """Whether the system offers or tells something, and the user describes something else."""

    @property
    def mood(self) -> str:
        """The kind, as it limits how one may open."""
        if self.differs:
            return "refuses" if self.kind == "turns" else "differs"
        if self.kind == "confirm" and self.taken:
            return "agrees"
        return "goes_on" if self.kind == "tells" and self.goes_on else self.kind


class Composer:
    """Finds ways to say keys, from a library.

    An utterance is a lead, which opens it, and what comes after: phrases added to its request, or continuations, which
    are further sentences.
    """

    def __init__(self, library: Library, flag_words: dict[str, frozenset[str]], introducing: dict[str, str]) -> None:
        self._library, self._flag_words, self._introducing = library, flag_words, introducing
        wholes = (template for templates in library.wholes.values() for template in templates)
        self._taken = frozenset(bare_name(slot) for template in wholes for slot in template.taken)
        elements = {element for key in library.wholes for element in key}
        self._bookable = frozenset(service_of(element) for element in elements if is_booking(element))
        self._make_caches()

    def _make_caches(self) -> None:
        self._phrasings = lru_cache(maxsize=_REMEMBERED)(self._find_phrasings)
        self._leads = lru_cache(maxsize=_REMEMBERED)(self._find_leads)
        self._continuations = lru_cache(maxsize=_REMEMBERED)(self._find_continuations)
        self._shape = lru_cache(maxsize=None)(shape_of)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not hasattr(value, "cache_clear")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_caches()

    def compose(self, key: Key, act: SystemAct, taken: Iterable[str], heard: Key = frozenset()) -> list[Phrasing]:
        """Ways to say a key in answer to a system turn that names the values of what is `heard`, its services one after
        the other."""
        first, *others = _split_by_service(key, act)
        situation = self._situation(act, first, taken, heard)
        phrasings = self._phrasings(first, situation)
        if situation.differs and act.offers:
            refusal = _REFUSALS[situation.kind == "turns"]
            phrasings = [
                self._decline(phrasing, refusal) for phrasing in phrasings if not _books_offer(phrasing.tokens)
            ]
        for other in others:
            further = [
                phrasing
                for phrasing in self._phrasings(other, Situation("more"))
                if self._shape(phrasing.tokens).opening in ("", "addition")
            ]
            phrasings = [
                Phrasing(
                    lead.tokens + tail.tokens,
                    _mean(lead.score, tail.score) - _PIECE * _sound_alike(lead.tokens, tail.tokens),
                    lead.pieces + tail.pieces,
                )
                for lead in phrasings[:_TAILS]
                for tail in further[:_TAILS]
            ]
        return phrasings

    def _decline(self, phrasing: Phrasing, refusal: Tokens) -> Phrasing:
        """A phrasing after a no; "how about ..." is one already."""
        declines = self._shape(phrasing.tokens).opening == "proposal"
        return phrasing if declines else phrasing._replace(tokens=refusal + phrasing.tokens)

    def _situation(self, act: SystemAct, key: Key, taken: Iterable[str], heard: Key) -> Situation:
        """What a system turn is to a user who wants to say a key; only what makes a difference, so that it is known."""
        kind, taken = act.kind_toward(key), frozenset(map(bare_name, taken))
        describing = {element for element in key - heard if not is_booking(element)}
        goes_on = kind == "tells" and act.noun == service_noun(service_of(min(key)))
        turns, bookable = kind == "turns", service_of(min(key)) in self._bookable
        describes = bool(describing - act.requested_of(describing)) and bookable
        can_request = kind in ("asks", "invites", "book", "confirm", "fails", "tells")
        return Situation(
            kind,
            act.requested_of(key) if can_request else frozenset(),
            min(len(act.requested), _SEVERAL),
            taken & self._taken,
            goes_on,
            _has_name(key),
            not taken and ((act.offers and turns) or ((act.offers or goes_on) and describes)),
        )

    def _find_phrasings(self, key: Key, situation: Situation) -> list[Phrasing]:
        """Ways to say a key about one service, the best first."""
        phrasings = [Phrasing(lead.tokens, score) for lead, score in self._leads(key, situation)]
        if sum(phrasing.score > _GOOD for phrasing in phrasings) < _ENOUGH:
            for part in self._leading_parts(key):
                phrasings += self._lead_and_rest(part, key, situation)
        ranked: Iterable[Phrasing] = _rank(phrasings, 0.0)
        if any("=" in element for element in key):
            ranked = (phrasing for phrasing in ranked if self._names_flags(phrasing.tokens, situation))
        if situation.gives_name:
            ranked = (phrasing for phrasing in ranked if not _leaves_open(phrasing.tokens))
        if situation.kind in AFRESH:  # or else nobody knows what is cheap
            ranked = list(ranked)
            ranked = [phrasing for phrasing in ranked if self._introduces(phrasing.tokens)] or ranked
        return list(islice(ranked, _PHRASINGS))

    def _leading_parts(self, key: Key) -> list[Key]:
        """The parts of a key that a lead can say."""
        if len(key) > _MANY:  # of many subsets most have no template
            known = [part for part in self._library.wholes if part < key]
            singles = (frozenset((element,)) for element in key)
            return sorted({*known, *singles}, key=lambda part: (-len(part), sorted(part)))
        sizes = range(len(key) - 1, 0, -1)
        return [frozenset(part) for size in sizes for part in combinations(sorted(key), size)]

    def _lead_and_rest(self, part: Key, key: Key, situation: Situation) -> Iterator[Phrasing]:
        """A lead that says a part, and pieces for the rest."""
        rest = key - part
        delay = self._delay(part, rest)
        own = situation.requested & part
        requested = own or (_ELSE if situation.requested else own)
        for lead, score in self._leads(part, situation._replace(requested=requested))[:_LEADS]:
            for longer, base, pieces in self._extend(lead.tokens, rest):
                yield Phrasing(longer, _mean(score, base) - _PIECE * pieces + _ORDER * delay, 1 + pieces)
            for tail in self._continuations(rest)[:_TAILS]:
                if not _sound_alike(lead.tokens, tail.tokens):
                    cost = _PIECE * tail.pieces - _ORDER * min(0.0, delay)
                    yield Phrasing(lead.tokens + tail.tokens, _mean(score, tail.score) - cost, 1 + tail.pieces)

    def _find_leads(self, part: Key, situation: Situation, service: str = "") -> list[tuple[Template, float]]:
        """Templates that can open the answer, with their scores; for no slot at all the requests of a service."""
        at, noun = ACT_KINDS.index(situation.kind), service_noun(service or service_of(min(part)))
        leads = []
        for template in self._library.wholes.get(part, ()) if part else self._library.heads.get(service, ()):
            shape = self._shape(template.tokens)
            if not shape.may_follow(situation.mood, situation.requested):
                continue
            if situation.gives_name and shape.opening == "assent" and not _has_name(part):
                continue
            if situation.kind in AFRESH and ("the", noun) in pairwise(sentences_of(template.tokens)[0]):
                continue  # "the taxi", of which nobody has spoken
            books_first = all(map(is_booking, shape.first))
            if books_first and shape.opening == "proposal" and situation.requested.isdisjoint(shape.first):
                continue  # "how about 3 nights?" answers nobody who did not ask
            if books_first and situation.mood == "differs":
                continue  # first comes what else it should be
            score = template.base + max(_WORST_FIT, min(_BEST_FIT, template.fits[at]))
            if situation.requested and situation.requested.isdisjoint(shape.first):
                score -= _UNREQUESTED
            if situation.taken and not situation.taken.isdisjoint(map(bare_name, template.taken)):
                score += _TAKEN
            if situation.kind in AFRESH and not self._introduces(template.tokens):
                score -= _UNINTRODUCED
            leads.append((template, score))
        if part and situation.kind in AFRESH:
            leads += self._extended_heads(part, situation)
        leads.sort(key=lambda item: (-item[1], item[0].tokens))
        leads = leads[:_LEAST] + [item for item in leads[_LEAST:] if item[1] > _WORST]
        if len(part) == 1 and not (situation.mood == "differs" and is_booking(min(part))):
            least = min((score for _, score in leads), default=0.0)
            leads.append((self._plain_templates(part)[0], min(least, _WORST) - _PLAIN))
        return leads

    def _extended_heads(self, part: Key, situation: Situation) -> Iterator[tuple[Template, float]]:
        """A request that says no slot, with phrases that say the part: "i need a room" + "for 3 people"."""
        heads = self._leads(frozenset(), situation._replace(requested=frozenset()), service_of(min(part)))
        for head, score in heads[:_LEADS]:
            for longer, base, pieces in self._extend(head.tokens, part):
                yield head._replace(tokens=longer), _mean(score, base) - _PIECE * pieces

    def _extend(self, tokens: Tokens, rest: Key) -> Iterator[Phrasing]:
        """A request with phrases added that say the rest, in the usual order; the score is that of the phrases."""
        if not self._can_take(tokens, rest):
            return
        for phrase in self._library.added.get(rest, ())[:_TAILS]:
            if longer := _add_phrase(tokens, phrase):
                yield Phrasing(longer, phrase.base)
        if 1 < len(rest) <= _CHAIN:
            first = min(rest, key=self._usual_place)
            for phrase in self._library.added.get(frozenset((first,)), ())[:_LINKS]:
                if longer := _add_phrase(tokens, phrase):
                    for longest, base, pieces in self._extend(longer, rest - {first}):
                        yield Phrasing(longest, (phrase.base + base) / 2, 1 + pieces)

    def _can_take(self, tokens: Tokens, rest: Key) -> bool:
        """Whether phrases about a booking can be added: to "i need a table", not to "i prefer something cheap"."""
        last = sentences_of(tokens)[-1]
        books = any(map(is_booking, elements_of(last)))
        if not all(map(is_booking, rest)) and books and (points_back(last) or not self._introduces(last)):
            return False  # "book it for 3 people in the north"
        books_noun = not words("joining.booking").isdisjoint(last)
        if _has_name(elements_of(last)) and not books_noun and any(map(is_booking, rest)):
            return False  # "a restaurant called curry garden at 5"
        has_noun = books_noun or self._introduces([token for token in last if token not in words("joining.amenities")])
        return books or has_noun or not any(map(is_booking, rest))

    def _find_continuations(self, rest: Key) -> list[Phrasing]:
        """Sentences that say the rest, one or more; the score has no cost of pieces in it yet."""
        phrasings = self._single_sentences(rest)
        if len(rest) > _MANY:
            ordered = sorted(rest, key=self._usual_place)
            tails = self._continuations(frozenset(ordered[2:]))[:2]
            leads = self._continuations(frozenset(ordered[:2]))[:2]
            return _rank([*phrasings, *(_one_after_another(lead, tail) for lead in leads for tail in tails)], _PIECE)
        first, *others = sorted(rest)
        for size in range(len(others) - 1, -1, -1):
            for chosen in combinations(others, size):
                part = frozenset((first, *chosen))
                phrasings += self._sentence_and_rest(part, rest - part)
                phrasings += self._sentence_and_rest(rest - part, part)
        return _rank(phrasings, _PIECE)

    def _single_sentences(self, part: Key) -> list[Phrasing]:
        """Sentences that say all of it; those that name the service once more sound as if it were another."""
        phrasings = []
        for tokens, base, *_ in self._library.follow.get(part, ()):
            names_again = self._introduces(tokens) and not points_back(tokens)
            phrasings.append(Phrasing(tokens, base - _AGAIN * names_again))
        if len(part) == 1:
            least = min((phrasing.score for phrasing in phrasings), default=0.0)
            plain = self._plain_templates(part)[1]
            phrasings += [Phrasing(template.tokens, min(least, _WORST) - _PLAIN) for template in plain]
        return sorted(phrasings, key=lambda phrasing: (-phrasing.score, phrasing.tokens))

    def _sentence_and_rest(self, part: Key, rest: Key) -> Iterator[Phrasing]:
        """A sentence that says a part, and pieces for the rest; nothing where the rest is usually said before."""
        if not part or not rest or self._delay(part, rest) < 0:
            return
        for sentence in self._single_sentences(part)[:3]:
            for longer, base, pieces in islice(self._extend(sentence.tokens, rest), 2):
                yield Phrasing(longer, (sentence.score + base) / 2, 1 + pieces)
            for tail in self._continuations(rest)[:3]:
                if not _sound_alike(sentence.tokens, tail.tokens):
                    yield _one_after_another(sentence, tail)

    def _plain_templates(self, part: Key) -> tuple[Template, tuple[Template, ...]]:
        [element] = part
        slot = slot_of(element)
        is_flag = any(frozenset((f"{slot}={flag}",)) in self._library.wholes for flag in ("yes", "no"))
        return plain_templates(element, is_flag)

    def _usual_place(self, element: str) -> tuple[float, str]:
        """By this, elements stand in the usual order."""
        return self._library.places.get(element, 0.5), element

    def _delay(self, part: Key, rest: Key) -> float:
        """How much later the rest is usually said than the part; negative where it is usually said before."""

        def mean_place(elements: Key) -> float:
            return sum(self._library.places.get(element, 0.5) for element in elements) / len(elements)

        return mean_place(rest) - mean_place(part)

    def _introduces(self, tokens: Sequence[str]) -> bool:
        """Whether a text names its service or what it is after, so that it can be the first to speak of it."""
        return any(token in self._introducing or token.endswith("name]") for token in tokens)

    def _names_flags(self, tokens: Tokens, situation: Situation) -> bool:
        """Whether every flag says what it is about; only no preference may leave that to the one slot requested."""
        unnamed, first = 0, frozenset[str]()
        for sentence in sentences_of(tokens):
            elements = elements_of(sentence)
            first = first or frozenset(elements)
            for element in elements:
                slot, _, flag = element.partition("=")
                if not flag:
                    continue
                names = self._flag_words.get(slot, frozenset()).union(slot_noun(slot).split())
                if names.isdisjoint(sentence):
                    unnamed += 1
                    is_answer = element in situation.requested & first and situation.requests <= 1
                    if flag != DONTCARE or not is_answer:
                        return False
        return unnamed <= 1


def _split_by_service(key: Key, act: SystemAct) -> list[Key]:
    """A key by its services: first the one that the system asks about, or speaks of."""
    parts: dict[str, set[str]] = {}
    for element in sorted(key):
        parts.setdefault(service_of(element), set()).add(element)

    def rank(item: tuple[str, set[str]]) -> tuple[bool, bool, str]:
        service, elements = item
        return not act.requested_of(elements), service_noun(service) != act.noun, service

    return [frozenset(elements) for _, elements in sorted(parts.items(), key=rank)]


def _books_offer(tokens: Tokens) -> bool:
    """Whether words begin by booking what is offered: "book it for 3 people"."""
    first = sentences_of(tokens)[0]
    return points_back(first) and not words("joining.booking").isdisjoint(first)


def _leaves_open(tokens: Tokens) -> bool:
    """Whether words that give a name ask for any, or go on to look for something: "a place in the north"."""
    named = False
    for sentence in sentences_of(tokens):
        gives_name = _has_name(elements_of(sentence))
        text = " ".join(sentence)
        if "any" in sentence or (named and not gives_name and any(phrase in text for phrase in words("joining.vague"))):
            return True
        named = named or gives_name
    return False


def _has_name(elements: Iterable[str]) -> bool:
    return any(element.endswith("name") for element in elements)


def _mean(lead: float, tail: float) -> float:
    """The score of a lead and of what comes after it; how one opens matters more."""
    return (2 * lead + tail) / 3


def _one_after_another(lead: Phrasing, tail: Phrasing) -> Phrasing:
    return Phrasing(lead.tokens + tail.tokens, (lead.score + tail.score) / 2, lead.pieces + tail.pieces)


def _rank(phrasings: Iterable[Phrasing], cost: float) -> list[Phrasing]:
    """The best of each wording first; a further piece costs so much."""
    best: dict[Tokens, Phrasing] = {}
    for phrasing in phrasings:
        known = best.get(phrasing.tokens)
        if known is None or phrasing.score > known.score:
            best[phrasing.tokens] = phrasing
    return sorted(best.values(), key=lambda phrasing: (cost * (phrasing.pieces - 1) - phrasing.score, phrasing.tokens))


class _OpenRequest(NamedTuple):
    """A text cut where a phrase can be added to its last sentence: before the mark and a "please"."""

    body: Tokens
    end: Tokens
    sentence: frozenset[str]
    describes: bool


def _add_phrase(tokens: Tokens, phrase: Template) -> Tokens:
    """A phrase put at the end of a request; empty where it cannot be."""
    request = _cut_request(tokens)
    return request.body + phrase.tokens + request.end if request and _can_be_added(phrase, request) else ()


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _cut_request(tokens: Tokens) -> _OpenRequest | None:
    last = sentences_of(tokens)[-1]
    declines = any(element.endswith(("=no", "=dontcare")) for element in elements_of(last))
    if declines or words("joining.requests").isdisjoint(last):
        return None
    cut = len(tokens) - ends_sentence(tokens[-1])
    while cut and tokens[cut - 1] in words("joining.polite"):
        cut -= 1
    describes = not words("joining.describing").isdisjoint(last)
    return _OpenRequest(tokens[:cut], tokens[cut:], frozenset(last), describes) if cut else None


def _can_be_added(phrase: Template, request: _OpenRequest) -> bool:
    """Whether a phrase can be said after a request: "that serves" and "for 3 tickets" only after what they were."""
    is_known = request.body[-1] in phrase.after
    if phrase.tokens[0] in words("joining.relative"):
        if not words("joining.pointing").isdisjoint(request.sentence):
            return False  # "i would like it to be cheap that has wifi"
        return is_known and any(token in request.sentence for token in phrase.after if not is_placeholder(token))
    if is_known or request.describes:
        return is_known
    leaning = len(phrase.after & words("joining.leaning"))
    if 2 * leaning > len(phrase.after):
        return False
    return len(phrase.after) >= _FREE and not (len(phrase.tokens) == 2 and phrase.tokens[0] in words("joining.verbal"))


def _sound_alike(first: Tokens, second: Tokens) -> bool:
    """Whether two texts have sentences that begin alike or both ask for a booking, so that they sound like a list."""
    both_book = not any(words("system.book").isdisjoint(tokens) for tokens in (first, second))
    return both_book or not _sentence_starts(first).isdisjoint(_sentence_starts(second))


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _sentence_starts(tokens: Tokens) -> frozenset[Tokens]:
    return frozenset(
        tuple(token for token in sentence if not is_flag_mark(token) and token not in words("joining.replies"))[:_START]
        for sentence in sentences_of(tokens)
    )
