"""Dialogues under another schema's names: the same services, slots and intents, matched by their positions.

SGD-X publishes only its variant schemas, and its generator matches them with the originals by position. Every stressor
of the scope "schema" does the same, so the names of a dialogue are rewritten here, once for all; its words stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from dstress.dialogue import Act, Dialogue, Frame, Schema, Span, State, Stress, Turn, slot_id
from dstress.errors import CorpusError

INTENT_ACTS = frozenset({"OFFER_INTENT", "INFORM_INTENT"})
"""The acts whose slot `intent` stands for an intent's name; in all others it is a slot of that name (SGD's Homes)."""


class Names(msgspec.Struct, frozen=True):
    """Original names -> a variant's. Slots and intents are mapped within their service."""

    services: dict[str, str]
    slots: dict[str, dict[str, str]]
    intents: dict[str, dict[str, str]]

    def slot_id(self, slot: str) -> str:
        """A slot id under the variant's names; one that is not mapped stays."""
        service, hyphen, bare = slot.partition("-")
        if not hyphen:
            return slot
        return slot_id(self.services.get(service, service), self.slots.get(service, {}).get(bare, bare))

    def reversed(self) -> Names:
        """A variant's names -> the original ones."""
        return Names(
            _reversed(self.services),
            {self.services[service]: _reversed(slots) for service, slots in self.slots.items()},
            {self.services[service]: _reversed(intents) for service, intents in self.intents.items()},
        )


SAME_NAMES = Names({}, {}, {})
"""Everything keeps its name."""


def _reversed(names: dict[str, str]) -> dict[str, str]:
    return {after: before for before, after in names.items()}


def map_names(pairs: Iterable[tuple[Schema, Schema]]) -> Names:
    """Map by position, split after split; a service that two splits share is mapped by the first that has it."""
    names = Names({}, {}, {})
    for original, variant in pairs:
        if len(original.services) != len(variant.services):
            raise CorpusError(
                f"the variant schema has {len(variant.services)} services, the original {len(original.services)}",
                fix="variants are matched by position: use the schemas of the same SGD release",
            )
        for before, after in zip(original.services, variant.services, strict=True):
            if before.name in names.services:
                continue
            if len(before.slots) != len(after.slots) or len(before.intents) != len(after.intents):
                raise CorpusError(f"{after.name!r} does not have as many slots and intents as {before.name!r}")
            names.services[before.name] = after.name
            names.slots[before.name] = {a.name: b.name for a, b in zip(before.slots, after.slots, strict=True)}
            names.intents[before.name] = {a.name: b.name for a, b in zip(before.intents, after.intents, strict=True)}
    return names


def names_back(original: Schema, variant: Schema) -> Names:
    """A variant's names -> the original ones; where it is not the original under other names, all names stay."""
    try:
        return SAME_NAMES if original == variant else map_names([(original, variant)]).reversed()
    except CorpusError:
        return SAME_NAMES


def seen_by_variant(seen: Collection[str] | None, original: Schema, variant: Schema) -> frozenset[str] | None:
    """The services that training shows, by a variant's names: a service is no stranger for being called otherwise."""
    if seen is None:
        return None
    back = names_back(original, variant).services
    return frozenset(service for service in variant.by_name if back.get(service, service) in seen)


def rename_dialogue(dialogue: Dialogue, names: Names) -> Dialogue:
    """The dialogue with the variant's names in its services, frames, acts, states and goal; the words stay."""
    goal = dialogue.goal
    if goal is not None:
        goal = msgspec.structs.replace(
            goal,
            inform=_rename_state(goal.inform, names),
            fallback=_rename_state(goal.fallback, names),
            request=tuple(names.slot_id(slot) for slot in goal.request),
        )
    return msgspec.structs.replace(
        dialogue,
        turns=tuple(_rename_turn(turn, names) for turn in dialogue.turns),
        services=tuple(names.services.get(service, service) for service in dialogue.services),
        goal=goal,
        closing_frames=tuple(_rename_frame(frame, names) for frame in dialogue.closing_frames),
    )


def _rename_turn(turn: Turn, names: Names) -> Turn:
    return msgspec.structs.replace(
        turn,
        state=_rename_state(turn.state, names),
        frames=tuple(_rename_frame(frame, names) for frame in turn.frames),
        system_frames=tuple(_rename_frame(frame, names) for frame in turn.system_frames),
        booked=tuple(names.services.get(service, service) for service in turn.booked),
        coreferences=tuple(
            msgspec.structs.replace(coreference, slot=names.slot_id(coreference.slot))
            for coreference in turn.coreferences
        ),
        stress=_rename_stress(turn.stress, names) if turn.stress else None,
    )


def _rename_stress(stress: Stress, names: Names) -> Stress:
    """The turns that a stressed turn keeps speak the same names as the turn, so that the two can be compared."""
    base = _rename_turn(stress.base, names) if stress.base else None
    return msgspec.structs.replace(stress, original=_rename_turn(stress.original, names), base=base)


def _rename_state(state: State, names: Names) -> State:
    return {names.slot_id(slot): values for slot, values in state.items()}


def _rename_frame(frame: Frame, names: Names) -> Frame:
    slots = names.slots.get(frame.service, {})
    intents = names.intents.get(frame.service, {})
    return Frame(
        names.services.get(frame.service, frame.service),
        intents.get(frame.intent, frame.intent),
        tuple(slots.get(slot, slot) for slot in frame.requested),
        tuple(Span(slots.get(span.slot, span.slot), span.start, span.end) for span in frame.spans),
        tuple(_rename_act(act, slots, intents) for act in frame.acts),
    )


def _rename_act(act: Act, slots: dict[str, str], intents: dict[str, str]) -> Act:
    if act.slot == "intent" and act.act in INTENT_ACTS:
        values = tuple(intents.get(value, value) for value in act.values)
        return Act(act.act, act.slot, values, tuple(intents.get(value, value) for value in act.canonical))
    return Act(act.act, slots.get(act.slot, act.slot), act.values, act.canonical)
