"""Values that the user only points at: `the same day`, `from the hotel`, `near the restaurant`.

The expressions are those of `dstress.text.coreference`; here the value they stand for has to be found.
"""

from __future__ import annotations

import re

from dstress.dialogue import DONTCARE, service_of
from dstress.text.coreference import Kind, bare_name, patterns
from dstress.trackers.rules.turn_evidence import TurnEvidence
from dstress.trackers.rules.words import word_set

_AFTER = 5
"""Words after an expression that may say which service it means: `the day` of the taxi ride."""


def resolve_references(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """Slots of the services at hand that an expression fills from another slot of the state."""
    if not turn.state or word_set("pointers").isdisjoint(turn.user.words.words):
        return {}
    services = set(turn.user.about) or {turn.focus}
    filled = {**turn.state, **filled}
    resolved: dict[str, str] = {}
    for slot, profile in turn.slots.items():
        kind = patterns().kind_of(slot) if profile.service in services and slot not in filled else None
        if kind:
            matches = (pattern.search(turn.user.text) for pattern in kind.expressions)
            match = next(filter(None, matches), None)
            if match and (value := _antecedent(kind, slot, match, turn, resolved)):
                resolved[slot] = value
    return resolved


def _antecedent(kind: Kind, slot: str, match: re.Match[str], turn: TurnEvidence, resolved: dict[str, str]) -> str:
    """The value that is meant: of the service that the expression names, else the last one given."""
    own = turn.slots[slot]
    named = _services_at(match, turn)
    options = [
        value
        for other, value in turn.state.items()
        if (profile := turn.slots.get(other))
        and profile.service != own.service
        and profile.kind == own.kind
        and kind.antecedents.fullmatch(bare_name(other))
        and value != DONTCARE
        and value not in resolved.values()
        and (not named or service_of(other) in named)
        and (own.kind != "listed" or value in own.values)
    ]
    return options[-1] if options else ""


def _services_at(match: re.Match[str], turn: TurnEvidence) -> set[str]:
    text = turn.user.text
    first = text.count(" ", 0, match.start())
    last = text.count(" ", 0, match.end()) + 1
    inside = {cue.name for cue in turn.user.services if first <= cue.first < last}
    return inside or {cue.name for cue in turn.user.services if cue.is_reference and last <= cue.first < last + _AFTER}
