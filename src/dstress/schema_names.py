"""Dialogues under another schema's names: the same services, slots and intents, matched by their positions.

SGD-X publishes only its variant schemas, and its generator matches them with the originals by position. Every stressor
of the scope "schema" does the same, so the names of a dialogue are rewritten here, once for all; its words stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import msgspec

from dstress.dialogue import Act, Dialogue, Frame, Schema, Span, State, Turn, slot_id
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
        slots, intents = (
            {
                self.services[service]: {after: before for before, after in table.items()}
                for service, table in part.items()
            }
            for part in (self.slots, self.intents)
        )
        return Names({after: before for before, after in self.services.items()}, slots, intents)


SAME_NAMES = Names({}, {}, {})
"""Everything keeps its name."""


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
    return map_labels(
        dialogue,
        service=lambda service: names.services.get(service, service),
        slot=names.slot_id,
        frame=lambda frame: _rename_frame(frame, names),
    )


def map_labels(
    dialogue: Dialogue,
    service: Callable[[str], str],
    slot: Callable[[str], str],
    frame: Callable[[Frame], Frame | None],
) -> Dialogue:
    """The dialogue with every label as these functions give it, or without it where they give nothing."""
    replace = msgspec.structs.replace

    def state(labels: State) -> State:
        return {new: values for old, values in labels.items() if (new := slot(old))}

    def frames(old: tuple[Frame, ...]) -> tuple[Frame, ...]:
        return tuple(filter(None, map(frame, old)))

    def turn(old: Turn) -> Turn:
        stress = old.stress
        if stress:  # the turns that it keeps have the same labels, so that they can be compared
            stress = replace(stress, original=turn(stress.original), base=stress.base and turn(stress.base))
        return replace(
            old,
            state=state(old.state),
            frames=frames(old.frames),
            system_frames=frames(old.system_frames),
            booked=tuple(filter(None, map(service, old.booked))),
            coreferences=tuple(replace(each, slot=new) for each in old.coreferences if (new := slot(each.slot))),
            stress=stress,
        )

    goal = dialogue.goal
    if goal is not None:
        request = tuple(filter(None, map(slot, goal.request)))
        goal = replace(goal, inform=state(goal.inform), fallback=state(goal.fallback), request=request)
    return replace(
        dialogue,
        turns=tuple(map(turn, dialogue.turns)),
        services=tuple(filter(None, map(service, dialogue.services))),
        goal=goal,
        closing_frames=frames(dialogue.closing_frames),
    )


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
