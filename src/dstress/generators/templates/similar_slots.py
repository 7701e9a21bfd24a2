"""Templates for slots that the training corpus does not have: those of the slots that are most like them.

SGD's splits have different services. A slot of another restaurant service is said as the known one says it. A slot of
the same name or kind elsewhere lends only the templates that name no service.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dstress.dialogue import Schema, service_of
from dstress.generators.templates.library import Key, Library, Template
from dstress.generators.templates.tokens import bare, is_mark, is_placeholder, noun_of, slot_of
from dstress.generators.templates.vocabulary import Vocabulary
from dstress.text.slot_kinds import kind_of

_COST = 0.5
"""What a borrowed template loses."""
_KEPT = 30
_LENDERS = 6
_POOR = 4
"""A known slot with fewer further sentences borrows some."""


class _Loan(NamedTuple):
    """Whose templates may be used for a slot; `free`: only those that name no service."""

    lender: str
    free: bool


def with_kin(library: Library, schema: Schema, vocabulary: Vocabulary) -> Library:
    """The library with templates for the schema's slots that it has none for."""
    known = sorted({slot_of(part) for key in library.wholes for part in key})
    if not known:
        return library
    unknown = [slot for slot in schema.slots if slot not in set(known)]
    poor = [slot for slot in known if len(library.follow.get(frozenset((slot,)), ())) < _POOR]
    wholes, follow, added = dict(library.wholes), dict(library.follow), dict(library.added)
    for renamed in _renamings(unknown, known):
        for own, lent in ((wholes, library.wholes), (follow, library.follow), (added, library.added)):
            _borrow(own, lent, renamed, vocabulary)
    for renamed in _renamings(poor, known):
        _borrow(follow, library.follow, renamed, vocabulary)
    return library._replace(wholes=wholes, follow=follow, added=added)


def _loans(slot: str, known: Sequence[str], mine: Sequence[str]) -> list[_Loan]:
    """The slots most like one: of the same kind of service before others, of the same name before the same kind.

    A kind tells enough only where both services have one slot of it: a flight's dates are two.
    """
    noun, name, kind = noun_of(service_of(slot)), bare(slot), kind_of(slot)
    others = [other for other in known if other != slot]
    alike = [other for other in others if bare(other) == name]
    if not alike and kind and _is_only(slot, mine):
        alike = [other for other in others if kind_of(other) == kind and _is_only(other, known)]
    ranked = sorted((noun_of(service_of(other)) != noun, other) for other in alike)
    return [_Loan(other, far) for far, other in ranked[:_LENDERS]]


def _is_only(slot: str, slots: Sequence[str]) -> bool:
    """Whether a service has one slot of a kind."""
    kind, service = kind_of(slot), service_of(slot)
    return sum(service_of(other) == service and kind_of(other) == kind for other in slots) == 1


def _can_lend(template: Template, free: bool, vocabulary: Vocabulary) -> bool:
    words = [token for token in template.tokens if token.isalpha()]
    if free:
        return vocabulary.general.issuperset(words)
    return vocabulary.particular.isdisjoint(words)


def _renamings(slots: Sequence[str], known: Sequence[str]) -> list[dict[str, tuple[str, bool]]]:
    """Ways to rename the slots of lenders to these: one service and one lender service at a time."""
    found: dict[tuple[str, str], dict[str, tuple[str, bool]]] = {}
    for slot in slots:
        for lender, free in _loans(slot, known, slots):
            pair = service_of(slot), service_of(lender)
            found.setdefault(pair, {}).setdefault(lender, (slot, free))
    return [found[pair] for pair in sorted(found)]


def _borrow(
    own: dict[Key, tuple[Template, ...]],
    lent: Mapping[Key, tuple[Template, ...]],
    renamed: Mapping[str, tuple[str, bool]],
    vocabulary: Vocabulary,
) -> None:
    for key in sorted(lent, key=sorted):
        if not all(slot_of(part) in renamed for part in key):
            continue
        free = any(renamed[slot_of(part)][1] for part in key)
        new = frozenset(_renamed_part(part, renamed) for part in key)
        if len(new) < len(key):
            continue
        templates = [
            template._replace(
                tokens=tuple(_renamed(token, renamed) for token in template.tokens),
                base=template.base - _COST - _COST * free,
                taken=frozenset(renamed[slot][0] for slot in template.taken if slot in renamed),
                after=frozenset(_renamed(token, renamed) for token in template.after),
            )
            for template in lent[key]
            if _can_lend(template, free, vocabulary)
        ]
        if templates:
            there = {one.tokens for one in own.get(new, ())}
            more = [one for one in templates if one.tokens not in there]
            own[new] = tuple(sorted((*own.get(new, ()), *more), key=lambda one: (-one.base, one.tokens))[:_KEPT])


def _renamed_part(part: str, renamed: Mapping[str, tuple[str, bool]]) -> str:
    slot, equals, flag = part.partition("=")
    return renamed[slot][0] + equals + flag


def _renamed(token: str, renamed: Mapping[str, tuple[str, bool]]) -> str:
    if not (is_placeholder(token) or is_mark(token)) or slot_of(token[1:-1]) not in renamed:
        return token
    return token[0] + _renamed_part(token[1:-1], renamed) + token[-1]
