"""The templates that a corpus gives: whole utterances, further sentences, phrases to add; and what shape each has.

Slots that the training corpus lacks borrow the templates of similar ones. SGD's splits have different services: a slot
of another restaurant service is said as the known one says it, and a slot of the same name or kind elsewhere lends only
the templates that name no service. What nobody lends is said by a plain sentence with the slot's name, ranked last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from dstress.dialogue import DONTCARE, Schema, service_of
from dstress.stressors.generators.templates.selection import Vocabulary
from dstress.stressors.generators.templates.system_acts import ACT_KINDS
from dstress.stressors.generators.templates.tokens import (
    bare_name,
    element_in,
    elements_of,
    has_word,
    is_flag_mark,
    is_placeholder,
    lists,
    sentences_of,
    service_noun,
    slot_of,
    tokens_of,
    words,
)
from dstress.text import inflection
from dstress.text.letters import name_words
from dstress.text.slot_names import kind_of

Tokens = tuple[str, ...]

Key = frozenset[str]
"""The elements that words say."""

AFRESH = frozenset({"start", "more", "turns", "done"})
"""After these kinds of system turns, nothing is being spoken of."""
_INTRODUCED = 5  # a sentence of more tokens has named what is spoken of
_COST = 0.5  # what a borrowed template loses
_KEPT = 30
_LENDERS = 6
_POOR = 4  # a known slot with fewer further sentences borrows some
_REMEMBERED = 4096


class Template(NamedTuple):
    """Tokens that say a key. `base` is how usual they are, `fits` how well they follow on each kind of system turn.

    `taken` are the slots that were mostly taken up from the system along with it; `after` the tokens that a phrase was
    mostly said after.
    """

    tokens: Tokens
    base: float
    fits: tuple[float, ...] = ()
    taken: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()


class Library(NamedTuple):
    """All templates, by key: `wholes`, `follow` (further sentences), `added` (phrases)."""

    wholes: dict[Key, tuple[Template, ...]]
    follow: dict[Key, tuple[Template, ...]]
    added: dict[Key, tuple[Template, ...]]
    heads: dict[str, tuple[Template, ...]]
    """Requests that say no slot, by service: "i am looking for a place to stay"."""
    places: dict[str, float]
    """Where in an utterance an element is said on average, from 0 to 1."""


class Shape(NamedTuple):
    """How a template opens (`greeting`, `assent` ...), whether it says that it wants something further ("also"),
    whether it speaks of something named before, whether it is only an answer, and which elements its first sentence
    with a slot says."""

    opening: str
    wants_further: bool
    points_back: bool
    only_answers: bool
    first: frozenset[str]

    def may_follow(self, kind: str, requested: frozenset[str]) -> bool:
        """Whether it can be said after this kind of system turn, which requested some elements."""
        fits = lists()["fits"][kind]
        denies = self.opening == "refusal" and any(each.endswith(("=no", "=dontcare")) for each in requested)
        if self.opening and self.opening not in fits and not denies:
            return False
        if (self.wants_further and "addition" not in fits) or (self.points_back and kind in AFRESH):
            return False
        is_answered = kind == "book" or (kind == "fails" and self.opening == "proposal")
        return not self.only_answers or is_answered or not requested.isdisjoint(self.first)


def shape_of(tokens: Tokens) -> Shape:
    """The shape of a template."""
    sentences = sentences_of(tokens)
    at = next((at for at, sentence in enumerate(sentences) if elements_of(sentence)), 0)
    first = sentences[at]
    is_introduced = any(
        len(sentence) > _INTRODUCED and not points_back(sentence) and "that" not in sentence
        for sentence in sentences[:at]
    )
    # "let's say 7" has nothing that tells one slot from another
    is_thin = all(token[0] in "[{" or token in words("joining.thin") for token in first)
    plain = tuple(token for token in tokens if not is_flag_mark(token))
    start, openings = f"{' '.join(plain[:6])} ", lists()["openings"].items()
    return Shape(
        next((name for name, phrases in openings if any(start.startswith(f"{phrase} ") for phrase in phrases)), ""),
        has_word(plain, "joining.further") or " as well " in f" {' '.join(plain)} ",
        not is_introduced and points_back(first),
        is_fragment(first) or is_thin,
        frozenset(elements_of(first)),
    )


def is_fragment(tokens: Sequence[str]) -> bool:
    """Whether words are no sentence, only an answer: "the north , please"."""
    return not has_word(tokens, "joining.verbs")


def points_back(sentence: Sequence[str]) -> bool:
    """Whether a sentence speaks of what was named before: "it should be cheap"."""
    return has_word(sentence, "joining.pointing") or any(
        token == "there" and not has_word(sentence[max(0, at - 1) : at + 2], "joining.existing")
        for at, token in enumerate(sentence)
    )


_Loans = dict[str, tuple[str, bool]]
"""By lender the slot that borrows its templates; if the lender is of another kind of service (is far), only those that
name no service."""


def borrow_templates(library: Library, schema: Schema, vocabulary: Vocabulary) -> Library:
    """The library with templates for the schema's slots that it has none for."""
    learned = sorted({slot_of(element) for key in library.wholes for element in key})
    unknown = [slot for slot in schema.slots if slot not in set(learned)]
    poor = [slot for slot in learned if len(library.follow.get(frozenset((slot,)), ())) < _POOR]
    parts = {name: dict(getattr(library, name)) for name in ("wholes", "follow", "added")}
    for slots, names in ((unknown, parts), (poor, ("follow",))):
        for loans in _find_loans(slots, learned):
            for name in names:
                _borrow(parts[name], getattr(library, name), loans, vocabulary)
    return library._replace(**parts)


def _find_loans(slots: Sequence[str], learned: Sequence[str]) -> list[_Loans]:
    """Who lends to these slots: one service and one lender service at a time.

    The slots most like one lend: of the same kind of service before others (far ones), of the same name before the same
    kind. A kind tells enough only where both services have one slot of it: a flight's dates are two.
    """

    def is_only(slot: str, slots: Sequence[str]) -> bool:
        return sum(service_of(each) == service_of(slot) and kind_of(each) == kind_of(slot) for each in slots) == 1

    loans: dict[tuple[str, str], _Loans] = defaultdict(dict)
    for slot in slots:
        noun, kind = service_noun(service_of(slot)), kind_of(slot)
        others = [other for other in learned if other != slot]
        alike = [other for other in others if bare_name(other) == bare_name(slot)]
        if not alike and kind and is_only(slot, slots):
            alike = [other for other in others if kind_of(other) == kind and is_only(other, learned)]
        lenders = sorted((service_noun(service_of(other)) != noun, other) for other in alike)[:_LENDERS]
        for is_far, lender in lenders:
            loans[service_of(slot), service_of(lender)].setdefault(lender, (slot, is_far))
    return [loans[services] for services in sorted(loans)]


def _borrow(
    own: dict[Key, tuple[Template, ...]],
    lent: Mapping[Key, tuple[Template, ...]],
    loans: _Loans,
    vocabulary: Vocabulary,
) -> None:
    """Put what is lent to the own templates, with the slots of the borrowers in place of the lenders'."""

    def rename(element: str) -> str:
        slot, equals, flag = element.partition("=")
        return loans[slot][0] + equals + flag

    def rename_token(token: str) -> str:
        if not (is_placeholder(token) or is_flag_mark(token)) or slot_of(element_in(token)) not in loans:
            return token
        return token[0] + rename(element_in(token)) + token[-1]

    for key in sorted(lent, key=sorted):
        if not all(slot_of(element) in loans for element in key):
            continue
        is_far = any(loans[slot_of(element)][1] for element in key)
        new_key = frozenset(map(rename, key))
        if len(new_key) < len(key):
            continue
        noun = service_noun(service_of(min(new_key)))
        usual = vocabulary.general - vocabulary.foreign.get(noun, frozenset())
        may_have = usual.issuperset if is_far else vocabulary.particular.isdisjoint
        present = {template.tokens for template in own.get(new_key, ())}
        renamed = (
            template._replace(
                tokens=tuple(map(rename_token, template.tokens)),
                base=template.base - _COST - _COST * is_far,
                taken=frozenset(loans[slot][0] for slot in template.taken if slot in loans),
                after=frozenset(map(rename_token, template.after)),
            )
            for template in lent[key]
        )
        more = [
            each
            for each in renamed
            if each.tokens not in present and may_have(word for word in each.tokens if word.isalpha())
        ]
        if more:
            ranked = sorted((*own.get(new_key, ()), *more), key=lambda template: (-template.base, template.tokens))
            own[new_key] = tuple(ranked[:_KEPT])


@lru_cache(maxsize=_REMEMBERED)
def plain_templates(element: str, is_flag: bool = False) -> tuple[Template, tuple[Template, ...]]:
    """Plain sentences that say one element: one to open with, others to go on with.

    `is_flag`: the slot is answered with yes or no, so that no preference is not one for any of many.
    """
    slot, _, flag = element.partition("=")
    named, noun = name_words(slot), slot_noun(slot)
    if flag == DONTCARE:
        form = "flag_dontcare" if is_flag else flag
    elif flag and named[-1] == "allowed":
        form = f"allowed_{flag}"
    elif flag:
        is_adjective = named[0] == "is" or (len(named) == 1 and named[0].endswith(("able", "ed")))
        form = f"is_{flag}" if is_adjective else flag
    elif named[-1] == "name" and (len(named) == 1 or kind_of(slot)):
        form = "name"
    elif "price" in bare_name(slot):
        form = "price"
    elif named[-1] == "area":
        form = "area"
    elif _is_counted(noun):
        form = "things" if noun in lists()["counting"]["things"] else "counted"
    else:
        form = "value"
    first, *others = (
        Template(tuple(tokens_of(f"{{{element}}} {text}" if flag else text)), 0.0, (0.0,) * len(ACT_KINDS))
        for text in (each.replace("NOUN", noun).replace("VALUE", f"[{slot}]") for each in lists()["plain"][form])
    )
    return first, tuple(others)


def slot_noun(slot: str) -> str:
    """A slot's name in words: `hotel-pricerange` -> `price range`, `has_laundry_service` -> `laundry service`."""
    name = bare_name(slot)
    if name in lists()["named"]:
        return str(lists()["named"][name])
    named = name_words(slot)
    noun = " ".join([word for word in named if word not in words("names.idle")] or named)
    rest = noun.removeprefix("number ")
    return rest if rest == noun or _is_counted(rest) else f"number of {rest}"


def _is_counted(noun: str) -> bool:
    """Whether a noun is one that is counted: people, nights, tickets."""
    units = {**inflection.table()["units"], **lists()["units"]}
    return noun.rpartition(" ")[2] in units.values()
