"""The rules in their order, for one set of services: a turn in, its state out."""

from __future__ import annotations

from functools import lru_cache

from dstress.dialogue import Schema
from dstress.trackers.base import Context
from dstress.trackers.rules.agreement import accept_offer, accept_proposal, confirm_values, drop_slots
from dstress.trackers.rules.answers import read_bare_name, read_dontcares, read_flags
from dstress.trackers.rules.evidence import Reader
from dstress.trackers.rules.lexicon import Counts, build_lexicon, evening_services
from dstress.trackers.rules.references import resolve_references
from dstress.trackers.rules.slot_choice import choose_slots
from dstress.trackers.rules.slot_profiles import ValueStyle, profiles
from dstress.trackers.rules.turn_evidence import (
    TurnEvidence,
    find_focus,
    find_offer,
    find_requested_service,
    find_requested_slots,
)

_REMEMBERED = 4096


class StateUpdater:
    """Evidence -> candidates -> slots -> state, for one schema."""

    def __init__(self, schema: Schema, counts: Counts, style: ValueStyle) -> None:
        self.slots, self.style = profiles(schema), style
        lexicon = build_lexicon(schema, self.slots, counts)
        reader = Reader(lexicon, self.slots, evening_services(schema), style)
        # A turn's words are read again as the history of the turns after it.
        self.read = lru_cache(maxsize=_REMEMBERED)(reader.read)

    @classmethod
    def for_services(cls, schema: Schema, services: tuple[str, ...], counts: Counts) -> StateUpdater:
        """For some of a schema's services."""
        known = tuple(schema.by_name[name] for name in services if name in schema.by_name)
        return cls(Schema(known), counts, ValueStyle.of(schema))

    def read_turn(self, context: Context) -> TurnEvidence:
        """All that the turn and those before it say."""
        user, system, history = self.read(context.user), self.read(context.system), context.history
        focus = find_requested_service(system, self.slots, find_focus(system, history, self.read))
        requested = find_requested_slots(system, self.slots, focus)
        offer = find_offer(system, history, self.read)
        return TurnEvidence(user, system, context.previous or {}, self.slots, focus, requested, offer, self.style)

    def track(self, turn: TurnEvidence) -> dict[str, str]:
        """The state after the turn: the state before it, with what the user has changed."""
        # By value, yes or no, pointing, naming, not caring, agreeing: the plainest first.
        update = choose_slots(turn) | read_flags(turn)
        for rule in (resolve_references, read_bare_name, read_dontcares, accept_proposal, accept_offer, confirm_values):
            update |= rule(turn, update)
        dropped = drop_slots(turn, update)
        return {slot: value for slot, value in turn.state.items() if slot not in dropped} | update
