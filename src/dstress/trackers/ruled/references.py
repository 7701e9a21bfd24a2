"""Values that the user only points at: `the same day`, `from the hotel`, `near the restaurant`."""

from __future__ import annotations

from dstress.coreference import Kind, bare_name, patterns
from dstress.dialogue import DONTCARE
from dstress.trackers.ruled.situation import Situation

_POINTERS = frozenset(
    {"same", "that", "this", "there", "here", "the", "my", "our", "between", "everyone", "everybody", "all", "in", "one"}
)


def referred(at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """Slots of the services at hand that an expression fills from another slot of the state."""
    if not at.state or _POINTERS.isdisjoint(at.user.words.words):
        return {}
    row = " ".join(at.user.words.words)
    services = set(at.named) or {at.focus}
    found: dict[str, str] = {}
    for slot, profile in at.slots.items():
        kind = patterns().kind_of(slot) if profile.service in services else None
        if kind is None or slot in filled:
            continue
        value = _value(kind, slot, row, at, found)
        if value and (profile.kind != "listed" or value in profile.values):
            found[slot] = value
    return found


def _value(kind: Kind, slot: str, row: str, at: Situation, found: dict[str, str]) -> str:
    for pattern in kind.expressions:
        match = pattern.search(row)
        if match:
            return _antecedent(kind, slot, match[0], at, found)
    return ""


def _antecedent(kind: Kind, slot: str, expression: str, at: Situation, found: dict[str, str]) -> str:
    """The value that is meant: of the service that the expression names, else the last one given."""
    service = at.slots[slot].service
    named = _services_in(expression, at)
    options = [
        (other, value)
        for other, value in at.state.items()
        if other != slot
        and other.partition("-")[0] != service
        and value != DONTCARE
        and kind.antecedents.fullmatch(bare_name(other))
        and value not in found.values()
        and other in at.slots
        and at.slots[other].kind == at.slots[slot].kind
    ]
    if named:
        options = [(other, value) for other, value in options if other.partition("-")[0] in named]
    return options[-1][1] if options else ""


def _services_in(expression: str, at: Situation) -> set[str]:
    words = set(expression.split())
    row = at.user.words.words
    return {cue.name for cue in at.user.services if set(row[cue.first : cue.last]) <= words}
