"""Which words say a goal: a whole template where there is one, else an opening with further sentences or phrases.

A *key* is the set of elements that words must say. Candidates are ranked by a score, the higher the better: how usual
their words are in training, and how well they follow on the system's turn. The weights were set by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice, pairwise, product
from statistics import fmean
from typing import Any, NamedTuple

from dstress.dialogue import DONTCARE, service_of
from dstress.stressors.generators.templates.library import (
    AFRESH,
    Key,
    Library,
    Template,
    Tokens,
    plain_templates,
    points_back,
    shape_of,
    slot_noun,
)
from dstress.stressors.generators.templates.system_acts import ACT_KINDS, SystemAct
from dstress.stressors.generators.templates.tokens import (
    ENDS,
    bare_name,
    elements_of,
    has_phrase,
    has_word,
    is_booking,
    is_flag_mark,
    is_placeholder,
    sentences_of,
    service_noun,
    slot_of,
    words,
)

# Scores.
_PIECE_COST = 0.5
"""Of each piece after the first: fewer are better."""
_UNREQUESTED_COST = 1.5
"""Of a lead whose first sentence says nothing that the system requested."""
_UNINTRODUCED_COST = 1.2
"""Of a lead that does not name its service, where nothing is being spoken of."""
_REINTRODUCED_COST = 1.2
"""Of a further sentence that names its service once more, as if it were another."""
_PLAIN_COST = 0.6
"""A plain sentence scores this much less than the worst template."""
_TAKEN_GAIN = 0.8
"""Of a lead that users said when they accepted such an offer."""
_ORDER_WEIGHT = 0.8
"""Of how far a part comes before the rest in the usual order of elements."""
_BEST_FIT, _WORST_FIT = 1.5, -2.0
"""Bounds of how well a template follows on a kind of system turn."""
_WORST_LEAD, _FEWEST_LEADS = -3.4, 3
"""Leads that score less are left out, except the best few."""
_GOOD_WHOLE, _ENOUGH_WHOLES = -1.0, 10
"""With so many whole templates that score more, nothing is composed of pieces."""

# How much is searched.
_MOST_LEADS, _MOST_TAILS, _MOST_PHRASINGS = 5, 4, 30
_MOST_CHAINED, _MOST_LINKS = 3, 2
"""Elements that phrases added one after another may say, and phrases tried for each."""
_MANY_ELEMENTS = 4
"""Of more, not every subset is tried."""
_SEVERAL_REQUESTS = 2
"""More requests of one system turn are not told apart."""

_OTHER_ELEMENTS = frozenset({"something else"})
"""In place of the elements that the system requested, where a part has none of them."""
_FEWEST_CONTEXTS = 3
"""A phrase that training has after so many different words can follow others."""
_START_TOKENS = 3
"""Two sentences that share so many first tokens begin alike."""
_REFUSALS = ("no", ","), ("no", "thank", "you", ".")
"""How a user declines an offer: to ask for another of its kind, and to turn to another service."""
_REMEMBERED, _REMEMBERED_TEXTS = 4096, 16_384


class Phrasing(NamedTuple):
    """A way to say a key, its score, and the number of pieces (templates and phrases) in it."""

    tokens: Tokens
    score: float
    pieces: int = 1

    def followed_by(self, tail: Phrasing, score: float) -> Phrasing:
        """Both, one after the other."""
        return Phrasing(self.tokens + tail.tokens, score, self.pieces + tail.pieces)


class Situation(NamedTuple):
    """What a user answers to."""

    kind: str
    """The kind of system turn, one of `ACT_KINDS`."""
    requested: Key = frozenset()
    """The elements of the key that the system requested."""
    requests: int = 0
    """How many slots it requested."""
    taken: frozenset[str] = frozenset()
    """The bare names of the slots whose values the user takes up from the system."""
    goes_on: bool = False
    """Whether the service is the one that the system spoke of."""
    gives_name: bool = False
    """Whether the user names something: one who accepts an offer does not name another in the next sentence."""
    differs: bool = False
    """Whether the system offers or tells something, and the user describes something else."""

    @property
    def mood(self) -> str:
        """Which openings are possible: a row of the table `fits` in `words.toml`."""
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
        self._phrasings = lru_cache(maxsize=_REMEMBERED)(self._find_phrasings)
        self._leads = lru_cache(maxsize=_REMEMBERED)(self._find_leads)
        self._continuations = lru_cache(maxsize=_REMEMBERED)(self._find_continuations)
        self._shape = lru_cache(maxsize=None)(shape_of)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets it without its caches."""
        return Composer, (self._library, self._flag_words, self._introducing)

    def compose(self, key: Key, act: SystemAct, taken: Iterable[str], heard: Key = frozenset()) -> list[Phrasing]:
        """Ways to say a key in answer to a system turn, one service after the other.

        `heard` are the elements whose values the system named.
        """
        first, *others = _split_by_service(key, act)
        situation = self._situation(act, first, taken, heard)
        phrasings = self._phrasings(first, situation)
        if situation.differs and act.offers:
            offered, phrasings = phrasings, []
            for phrasing in offered:
                opening = sentences_of(phrasing.tokens)[0]
                if points_back(opening) and has_word(opening, "joining.booking"):
                    continue  # "book it for 3 people" would take the offer
                # "how about ..." is a no already
                declines = self._shape(phrasing.tokens).opening == "proposal"
                refusal = () if declines else _REFUSALS[situation.kind == "turns"]
                phrasings.append(phrasing._replace(tokens=refusal + phrasing.tokens))
        for other in others:
            further = self._phrasings(other, Situation("more"))
            further = [each for each in further if self._shape(each.tokens).opening in ("", "addition")]
            phrasings = [
                lead.followed_by(
                    tail, _mean(lead.score, tail.score) - _PIECE_COST * _sound_alike(lead.tokens, tail.tokens)
                )
                for lead, tail in product(phrasings[:_MOST_TAILS], further[:_MOST_TAILS])
            ]
        return phrasings

    def _situation(self, act: SystemAct, key: Key, taken: Iterable[str], heard: Key) -> Situation:
        """What a system turn is to a user who wants to say a key.

        It holds nothing that makes no difference, so that the caches have as few situations as possible.
        """
        kind, service, taken = act.kind_toward(key), service_of(min(key)), frozenset(map(bare_name, taken))
        goes_on = kind == "tells" and act.noun == service_noun(service)
        requested = act.requested_of(key)
        describes = service in self._bookable and not all(map(is_booking, key - heard - requested))
        can_request = kind in ("asks", "invites", "book", "confirm", "fails", "tells")
        return Situation(
            kind,
            requested if can_request else frozenset(),
            min(len(act.requested), _SEVERAL_REQUESTS),
            taken & self._taken,
            goes_on,
            _has_name(key),
            not taken and ((act.offers and kind == "turns") or ((act.offers or goes_on) and describes)),
        )

    def _find_phrasings(self, key: Key, situation: Situation) -> list[Phrasing]:
        """Ways to say a key about one service, the best first."""
        phrasings = [Phrasing(lead.tokens, score) for lead, score in self._leads(key, situation)]
        if sum(phrasing.score > _GOOD_WHOLE for phrasing in phrasings) < _ENOUGH_WHOLES:
            if len(key) > _MANY_ELEMENTS:  # of many subsets most have no template
                parts = {part for part in self._library.wholes if part < key} | {frozenset((each,)) for each in key}
                leading = sorted(parts, key=lambda part: (-len(part), sorted(part)))
            else:
                sizes = range(len(key) - 1, 0, -1)
                leading = [frozenset(part) for size in sizes for part in combinations(sorted(key), size)]
            for part in leading:
                phrasings += self._lead_and_rest(part, key, situation)
        has_flags = any("=" in element for element in key)
        fitting = (
            phrasing
            for phrasing in _rank(phrasings, 0.0)
            if not (has_flags and not self._names_flags(phrasing.tokens, situation))
            and not (situation.gives_name and _leaves_open(phrasing.tokens))
        )
        if situation.kind not in AFRESH:
            return list(islice(fitting, _MOST_PHRASINGS))
        # A phrasing that does not name its service leaves open what is cheap: only where there is no other.
        ranked = list(fitting)
        return ([each for each in ranked if self._introduces(each.tokens)] or ranked)[:_MOST_PHRASINGS]

    def _lead_and_rest(self, part: Key, key: Key, situation: Situation) -> Iterator[Phrasing]:
        """A lead that says a part, and pieces for the rest."""
        rest = key - part
        delay = self._delay(part, rest)
        own = situation.requested & part
        requested = own or (_OTHER_ELEMENTS if situation.requested else own)
        for lead, score in self._leads(part, situation._replace(requested=requested))[:_MOST_LEADS]:
            for longer, base, pieces in self._extend(lead.tokens, rest):
                yield Phrasing(longer, _mean(score, base) - _PIECE_COST * pieces + _ORDER_WEIGHT * delay, 1 + pieces)
            for tail in self._continuations(rest)[:_MOST_TAILS]:
                if not _sound_alike(lead.tokens, tail.tokens):
                    cost = _PIECE_COST * tail.pieces - _ORDER_WEIGHT * min(0.0, delay)
                    yield Phrasing(lead.tokens + tail.tokens, _mean(score, tail.score) - cost, 1 + tail.pieces)

    def _find_leads(self, part: Key, situation: Situation, service: str = "") -> list[tuple[Template, float]]:
        """Templates that can open the answer, with their scores; with an empty part, the requests of `service`."""
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
                score -= _UNREQUESTED_COST
            if situation.taken and not situation.taken.isdisjoint(map(bare_name, template.taken)):
                score += _TAKEN_GAIN
            if situation.kind in AFRESH and not self._introduces(template.tokens):
                score -= _UNINTRODUCED_COST
            leads.append((template, score))
        if part and situation.kind in AFRESH:
            # A request that says no slot, with phrases that say the part: "i need a room" + "for 3 people".
            heads = self._leads(frozenset(), situation._replace(requested=frozenset()), service_of(min(part)))
            for head, score in heads[:_MOST_LEADS]:
                leads += [
                    (head._replace(tokens=longer), _mean(score, base) - _PIECE_COST * pieces)
                    for longer, base, pieces in self._extend(head.tokens, part)
                ]
        leads.sort(key=lambda item: (-item[1], item[0].tokens))
        leads = leads[:_FEWEST_LEADS] + [item for item in leads[_FEWEST_LEADS:] if item[1] > _WORST_LEAD]
        if len(part) == 1 and not (situation.mood == "differs" and is_booking(min(part))):
            least = min((score for _, score in leads), default=0.0)
            leads.append((self._plain_templates(part)[0], min(least, _WORST_LEAD) - _PLAIN_COST))
        return leads

    def _extend(self, tokens: Tokens, rest: Key) -> Iterator[Phrasing]:
        """A request with phrases added that say the rest, in the usual order; the score is that of the phrases."""
        if not self._can_take(tokens, rest):
            return
        for phrase in self._library.added.get(rest, ())[:_MOST_TAILS]:
            if longer := _add_phrase(tokens, phrase):
                yield Phrasing(longer, phrase.base)
        if 1 < len(rest) <= _MOST_CHAINED:
            first = min(rest, key=self._usual_place)
            for phrase in self._library.added.get(frozenset((first,)), ())[:_MOST_LINKS]:
                if longer := _add_phrase(tokens, phrase):
                    for longest, base, pieces in self._extend(longer, rest - {first}):
                        yield Phrasing(longest, (phrase.base + base) / 2, 1 + pieces)

    def _can_take(self, tokens: Tokens, rest: Key) -> bool:
        """Whether phrases about a booking can be added: to "i need a table", not to "i prefer something cheap"."""
        last = sentences_of(tokens)[-1]
        books = any(map(is_booking, elements_of(last)))
        if not all(map(is_booking, rest)) and books and (points_back(last) or not self._introduces(last)):
            return False  # "book it for 3 people in the north"
        books_noun = has_word(last, "joining.booking")
        if _has_name(elements_of(last)) and not books_noun and any(map(is_booking, rest)):
            return False  # "a restaurant called curry garden at 5"
        has_noun = books_noun or self._introduces([token for token in last if token not in words("joining.amenities")])
        return books or has_noun or not any(map(is_booking, rest))

    def _find_continuations(self, rest: Key) -> list[Phrasing]:
        """Sentences that say the rest, one or more; the score has no cost of pieces in it yet."""
        phrasings = self._single_sentences(rest)
        if len(rest) > _MANY_ELEMENTS:
            ordered = sorted(rest, key=self._usual_place)
            tails = self._continuations(frozenset(ordered[2:]))[:2]
            leads = self._continuations(frozenset(ordered[:2]))[:2]
            both = (lead.followed_by(tail, (lead.score + tail.score) / 2) for lead, tail in product(leads, tails))
            return _rank([*phrasings, *both], _PIECE_COST)
        first, *others = sorted(rest)
        for size in range(len(others) - 1, -1, -1):
            for chosen in combinations(others, size):
                part = frozenset((first, *chosen))
                phrasings += self._sentence_and_rest(part, rest - part)
                phrasings += self._sentence_and_rest(rest - part, part)
        return _rank(phrasings, _PIECE_COST)

    def _single_sentences(self, part: Key) -> list[Phrasing]:
        """Sentences that say all of it; those that name the service once more sound as if it were another."""
        phrasings = [
            Phrasing(tokens, base - _REINTRODUCED_COST * (self._introduces(tokens) and not points_back(tokens)))
            for tokens, base, *_ in self._library.follow.get(part, ())
        ]
        if len(part) == 1:
            least = min((phrasing.score for phrasing in phrasings), default=0.0)
            plain = self._plain_templates(part)[1]
            phrasings += [Phrasing(template.tokens, min(least, _WORST_LEAD) - _PLAIN_COST) for template in plain]
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
                    yield sentence.followed_by(tail, (sentence.score + tail.score) / 2)

    def _plain_templates(self, part: Key) -> tuple[Template, tuple[Template, ...]]:
        [element] = part
        slot = slot_of(element)
        is_flag = any(frozenset((f"{slot}={flag}",)) in self._library.wholes for flag in ("yes", "no"))
        return plain_templates(element, is_flag)

    def _usual_place(self, element: str) -> tuple[float, str]:
        """A sort key: where in an utterance training says the element on average."""
        return self._library.places.get(element, 0.5), element

    def _delay(self, part: Key, rest: Key) -> float:
        """How much later the rest is usually said than the part; negative where it is usually said before."""
        # Exact sums, as a set has another order in every process.
        return fmean(self._usual_place(each)[0] for each in rest) - fmean(self._usual_place(each)[0] for each in part)

    def _introduces(self, tokens: Sequence[str]) -> bool:
        """Whether a text names its service or what it is after, so that it can be the first to speak of it."""
        return any(token in self._introducing or token.endswith("name]") for token in tokens)

    def _names_flags(self, tokens: Tokens, situation: Situation) -> bool:
        """Whether every flag says what it is about; only no preference may leave that to the one slot requested."""
        unnamed, answering = [], list[str]()
        for sentence in sentences_of(tokens):
            elements = elements_of(sentence)
            answering = answering or elements
            for element in elements:
                slot, _, flag = element.partition("=")
                if flag and {*self._flag_words.get(slot, ()), *slot_noun(slot).split()}.isdisjoint(sentence):
                    unnamed.append(element)
        if not unnamed:
            return True
        is_answer = unnamed[0] in situation.requested and unnamed[0] in answering and situation.requests <= 1
        return len(unnamed) == 1 and unnamed[0].endswith(f"={DONTCARE}") and is_answer


def _split_by_service(key: Key, act: SystemAct) -> list[Key]:
    """A key by its services: first the one that the system asks about, or speaks of."""
    parts: dict[str, set[str]] = {}
    for element in sorted(key):
        parts.setdefault(service_of(element), set()).add(element)
    order = sorted(parts, key=lambda each: (not act.requested_of(parts[each]), service_noun(each) != act.noun, each))
    return [frozenset(parts[service]) for service in order]


def _leaves_open(tokens: Tokens) -> bool:
    """Whether an utterance that gives a name still searches: "any place", "Curry Garden. a place in the north"."""
    named = False
    for sentence in sentences_of(tokens):
        gives_name = _has_name(elements_of(sentence))
        if "any" in sentence or (named and not gives_name and has_phrase(" ".join(sentence), "joining.vague")):
            return True
        named = named or gives_name
    return False


def _has_name(elements: Iterable[str]) -> bool:
    return any(element.endswith("name") for element in elements)


def _mean(lead: float, tail: float) -> float:
    """The score of a lead with what comes after it; the lead counts twice."""
    return (2 * lead + tail) / 3


def _rank(phrasings: Iterable[Phrasing], cost: float) -> list[Phrasing]:
    """Each wording once, at its best score, the best first; every further piece costs `cost`."""
    best: dict[Tokens, Phrasing] = {}
    for phrasing in sorted(phrasings, key=lambda phrasing: -phrasing.score):
        best.setdefault(phrasing.tokens, phrasing)
    return sorted(best.values(), key=lambda phrasing: (cost * (phrasing.pieces - 1) - phrasing.score, phrasing.tokens))


def _add_phrase(tokens: Tokens, phrase: Template) -> Tokens:
    """A phrase put at the end of a request; empty where it cannot be.

    "that serves" and "for 3 tickets" can be said only after what they were said after.
    """
    if not (cut := _open_end(tokens)):
        return ()
    last = sentences_of(tokens)[-1]
    was_there = tokens[cut - 1] in phrase.after
    if phrase.tokens[0] in words("joining.relative"):
        if has_word(last, "joining.pointing"):
            return ()  # "i would like it to be cheap that has wifi"
        fits = was_there and any(token in last for token in phrase.after if not is_placeholder(token))
    elif was_there or has_word(last, "joining.describing"):
        fits = was_there
    else:
        leaning = len(phrase.after & words("joining.leaning"))
        is_bare_verb = len(phrase.tokens) == 2 and phrase.tokens[0] in words("joining.verbal")
        fits = 2 * leaning <= len(phrase.after) and len(phrase.after) >= _FEWEST_CONTEXTS and not is_bare_verb
    return tokens[:cut] + phrase.tokens + tokens[cut:] if fits else ()


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _open_end(tokens: Tokens) -> int:
    """Where a phrase can be added to the last sentence, before the mark and a "please"; 0 if it is no request."""
    last = sentences_of(tokens)[-1]
    if any(element.endswith(("=no", "=dontcare")) for element in elements_of(last)):
        return 0
    cut = len(tokens) - (tokens[-1] in ENDS) if has_word(last, "joining.requests") else 0
    while cut and tokens[cut - 1] in words("joining.polite"):
        cut -= 1
    return cut


def _sound_alike(first: Tokens, second: Tokens) -> bool:
    """Whether two texts have sentences that begin alike or both ask for a booking, so that they sound like a list."""
    both_book = has_word(first, "system.book") and has_word(second, "system.book")
    return both_book or not _sentence_starts(first).isdisjoint(_sentence_starts(second))


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _sentence_starts(tokens: Tokens) -> frozenset[Tokens]:
    return frozenset(
        tuple(token for token in sentence if not is_flag_mark(token) and token not in words("joining.replies"))[
            :_START_TOKENS
        ]
        for sentence in sentences_of(tokens)
    )
