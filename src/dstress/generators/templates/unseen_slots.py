"""Templates for slots that the training corpus does not have: those of similar slots, or else plain sentences.

SGD's splits have different services. A slot of another restaurant service is said as the known one says it. A slot of
the same name or kind elsewhere lends only the templates that name no service. What nobody lends is said by a plain
sentence with the slot's name, ranked last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from dstress.dialogue import Schema, service_of
from dstress.generators.templates.library import Key, Library, Template
from dstress.generators.templates.system_acts import ACT_KINDS
from dstress.generators.templates.tokens import (
    bare_name,
    element_in,
    is_flag_mark,
    is_placeholder,
    lists,
    service_noun,
    slot_of,
    tokens_of,
    words,
)
from dstress.generators.templates.vocabulary import Vocabulary
from dstress.text import inflection
from dstress.text.letters import name_words
from dstress.text.slot_kinds import kind_of

_COST = 0.5
"""What a borrowed template loses."""
_KEPT = 30
_LENDERS = 6
_POOR = 4
"""A known slot with fewer further sentences borrows some."""
_REMEMBERED = 4096


class _Loan(NamedTuple):
    """The slot that borrows a lender's templates; if the lender is of another kind of service (`is_far`), only those
    that name no service."""

    slot: str
    is_far: bool


_Loans = Mapping[str, _Loan]
"""Loans by their lenders."""


def borrow_templates(library: Library, schema: Schema, vocabulary: Vocabulary) -> Library:
    """The library with templates for the schema's slots that it has none for."""
    known = sorted({slot_of(element) for key in library.wholes for element in key})
    if not known:
        return library
    unknown = [slot for slot in schema.slots if slot not in set(known)]
    poor = [slot for slot in known if len(library.follow.get(frozenset((slot,)), ())) < _POOR]
    wholes, follow, added = dict(library.wholes), dict(library.follow), dict(library.added)
    for loans in _find_loans(unknown, known):
        for own, lent in ((wholes, library.wholes), (follow, library.follow), (added, library.added)):
            _borrow(own, lent, loans, vocabulary)
    for loans in _find_loans(poor, known):
        _borrow(follow, library.follow, loans, vocabulary)
    return library._replace(wholes=wholes, follow=follow, added=added)


def _find_loans(slots: Sequence[str], known: Sequence[str]) -> list[_Loans]:
    """Who lends to these slots: one service and one lender service at a time."""
    loans: dict[tuple[str, str], dict[str, _Loan]] = {}
    for slot in slots:
        for is_far, lender in _lenders(slot, known, slots):
            services = service_of(slot), service_of(lender)
            loans.setdefault(services, {}).setdefault(lender, _Loan(slot, is_far))
    return [loans[services] for services in sorted(loans)]


def _lenders(slot: str, known: Sequence[str], mine: Sequence[str]) -> list[tuple[bool, str]]:
    """The slots most like one: of the same kind of service before others (far ones), of the same name before the same
    kind.

    A kind tells enough only where both services have one slot of it: a flight's dates are two.
    """
    noun, name, kind = service_noun(service_of(slot)), bare_name(slot), kind_of(slot)
    others = [other for other in known if other != slot]
    alike = [other for other in others if bare_name(other) == name]
    if not alike and kind and _is_only(slot, mine):
        alike = [other for other in others if kind_of(other) == kind and _is_only(other, known)]
    return sorted((service_noun(service_of(other)) != noun, other) for other in alike)[:_LENDERS]


def _is_only(slot: str, slots: Sequence[str]) -> bool:
    """Whether a service has one slot of a kind."""
    kind, service = kind_of(slot), service_of(slot)
    return sum(service_of(other) == service and kind_of(other) == kind for other in slots) == 1


def _borrow(
    own: dict[Key, tuple[Template, ...]],
    lent: Mapping[Key, tuple[Template, ...]],
    loans: _Loans,
    vocabulary: Vocabulary,
) -> None:
    """Put what is lent to the own templates, with the slots of the borrowers in place of the lenders'."""
    for key in sorted(lent, key=sorted):
        if not all(slot_of(element) in loans for element in key):
            continue
        is_far = any(loans[slot_of(element)].is_far for element in key)
        new_key = frozenset(_rename_element(element, loans) for element in key)
        if len(new_key) < len(key):
            continue
        noun = service_noun(service_of(min(new_key)))
        usual = vocabulary.general - vocabulary.foreign.get(noun, frozenset())
        may_have = usual.issuperset if is_far else vocabulary.particular.isdisjoint
        there = {template.tokens for template in own.get(new_key, ())}
        more = []
        for template in lent[key]:
            tokens = tuple(_rename_token(token, loans) for token in template.tokens)
            if tokens not in there and may_have(token for token in tokens if token.isalpha()):
                more.append(
                    template._replace(
                        tokens=tokens,
                        base=template.base - _COST - _COST * is_far,
                        taken=frozenset(loans[slot].slot for slot in template.taken if slot in loans),
                        after=frozenset(_rename_token(token, loans) for token in template.after),
                    )
                )
        if more:
            ranked = sorted((*own.get(new_key, ()), *more), key=lambda template: (-template.base, template.tokens))
            own[new_key] = tuple(ranked[:_KEPT])


def _rename_element(element: str, loans: _Loans) -> str:
    slot, equals, flag = element.partition("=")
    return loans[slot].slot + equals + flag


def _rename_token(token: str, loans: _Loans) -> str:
    if not (is_placeholder(token) or is_flag_mark(token)) or slot_of(element_in(token)) not in loans:
        return token
    return token[0] + _rename_element(element_in(token), loans) + token[-1]


@lru_cache(maxsize=_REMEMBERED)
def plain_templates(element: str, is_flag: bool = False) -> tuple[Template, tuple[Template, ...]]:
    """Plain sentences that say one element: one to open with, others to go on with.

    `is_flag`: the slot is answered with yes or no, so that no preference is not one for any of many.
    """
    slot, _, flag = element.partition("=")
    form = _plain_form(slot, flag)
    templates = []
    for sentence in lists()["plain"][f"flag_{form}" if is_flag and form == "dontcare" else form]:
        text = sentence.replace("NOUN", slot_noun(slot)).replace("VALUE", f"[{slot}]")
        tokens = tokens_of(f"{{{element}}} {text}" if flag else text)
        templates.append(Template(tuple(tokens), 0.0, (0.0,) * len(ACT_KINDS)))
    return templates[0], tuple(templates[1:])


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


def _plain_form(slot: str, flag: str) -> str:
    """Which of the plain sentences of `words.toml` go with a slot, and with its flag if it has one."""
    named = name_words(slot)
    if flag == "dontcare":
        return flag
    if flag:
        if named[-1] == "allowed":
            return f"allowed_{flag}"
        is_adjective = named[0] == "is" or (len(named) == 1 and named[0].endswith(("able", "ed")))
        return f"is_{flag}" if is_adjective else flag
    if named[-1] == "name" and (len(named) == 1 or kind_of(slot)):
        return "name"
    if "price" in bare_name(slot):
        return "price"
    if named[-1] == "area":
        return "area"
    noun = slot_noun(slot)
    if not _is_counted(noun):
        return "value"
    return "things" if noun in lists()["counting"]["things"] else "counted"
