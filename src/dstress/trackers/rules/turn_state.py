"""The tracker at work on one set of services: a turn in, its state out."""

from __future__ import annotations

from functools import lru_cache

from dstress.dialogue import Schema
from dstress.trackers.base import Context
from dstress.trackers.rules.agreement import accepted, confirmed, dropped, proposed
from dstress.trackers.rules.answers import flags, left_open, named_alone
from dstress.trackers.rules.evidence import Reader
from dstress.trackers.rules.focus import Situation, asked_service, focus_of, offer_of, requests
from dstress.trackers.rules.lexicon import Counts, build, evening_services
from dstress.trackers.rules.references import referred
from dstress.trackers.rules.slot_choice import chosen
from dstress.trackers.rules.slot_profiles import Style, profiles

_REMEMBERED = 4096


class Desk:
    """Candidates -> slots -> update -> state, for one schema."""

    def __init__(self, schema: Schema, counts: Counts, style: Style) -> None:
        self.slots, self.style = profiles(schema), style
        lexicon = build(schema, self.slots, counts)
        reader = Reader(lexicon, self.slots, evening_services(schema), style)
        # A turn's words are read again as the history of the turns after it.
        self.read = lru_cache(maxsize=_REMEMBERED)(reader.read)

    def situation(self, context: Context) -> Situation:
        """What the turn is about."""
        user, system, history = self.read(context.user), self.read(context.system), context.history
        focus = focus_of(system, history, self.read)
        focus = asked_service(system, self.slots, focus)
        asked = requests(system, self.slots, focus)
        offer = offer_of(system, history, self.read)
        return Situation(user, system, context.previous or {}, self.slots, focus, asked, offer, self.style)

    def state(self, context: Context) -> dict[str, str]:
        """The state after the turn: the state before it, with what the user has changed."""
        at = self.situation(context)
        update = self.update(at)
        gone = dropped(at, update)
        return {slot: value for slot, value in at.state.items() if slot not in gone} | update

    def update(self, at: Situation) -> dict[str, str]:
        """What the user fills: by value, yes or no, pointing, naming, not caring, agreeing; the plainest first."""
        found = chosen(at) | flags(at)
        for rule in (referred, named_alone, left_open, proposed, accepted, confirmed):
            found |= rule(at, found)
        return found


def desk_for(schema: Schema, services: tuple[str, ...], counts: Counts) -> Desk:
    """A desk for some of a schema's services."""
    chosen_services = tuple(schema.by_name[name] for name in services if name in schema.by_name)
    return Desk(Schema(chosen_services), counts, Style.of(schema))
