"""What every corpus must hold, whatever its layout, checked as its dialogues stream by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dstress.corpora.base import Split
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn, service_of, split_values
from dstress.errors import CorpusError, place, unknown

_MOST_VALUES = 200


def read_checked(split: Split) -> Iterator[Dialogue]:
    """The split's dialogues, each checked. Raises a CorpusError at the first that is wrong; never an empty split."""
    _check_schema(split.schema, split.name)
    seen: set[int] = set()  # hashes: the ids of a long stream would be most of the memory
    for file, dialogue in split.dialogues():
        if hash(dialogue.id) in seen:
            raise CorpusError(
                "the dialogue is there twice", where=place(file, dialogue.id), fix="remove or rename one of the two"
            )
        seen.add(hash(dialogue.id))
        if not dialogue.id or not dialogue.turns:
            problem = "has no user turns" if dialogue.id else "has no id"
            raise CorpusError(f"the dialogue {problem}", where=place(file, dialogue.id))
        for index, turn in enumerate(dialogue.turns):
            _check_turn(turn, split.schema, place(file, dialogue.id, index))
        yield dialogue
    if not seen:
        raise CorpusError(f"the split {split.name!r} has no dialogues", fix="leave it out, or check the source's files")


def _check_schema(schema: Schema, split: str) -> None:
    """Unique names, and none that would make a slot id ambiguous."""
    for service in schema.services:
        if not service.name or "-" in service.name:
            raise CorpusError(
                f"the service {service.name!r} of split {split!r} needs a name without a hyphen",
                fix="a slot id is `service-slot`, parted at its first hyphen: rename the service, with _ for instance",
            )
    names = [service.name for service in schema.services]
    slots = [f"{service.name}-{slot.name}" for service in schema.services for slot in service.slots]
    for kind, listed in (("service", names), ("slot", slots)):
        if len(set(listed)) < len(listed):
            doubled = next(name for name in listed if listed.count(name) > 1)
            raise CorpusError(f"the schema of split {split!r} has the {kind} {doubled!r} twice")


def _check_turn(turn: Turn, schema: Schema, where: str) -> None:
    if not turn.user.strip():
        raise CorpusError(
            "the turn has no user utterance",
            where=where,
            fix="every turn needs the user's words; remove the turn, or the dialogue",
        )
    for slot, values in turn.state.items():
        if slot not in schema.slots:
            service = service_of(slot)
            if service in schema.by_name:
                hint = unknown("slot", slot, [other for other in schema.slots if service_of(other) == service])
            else:
                hint = unknown("service", service, schema.by_name)
            raise CorpusError(
                f"the state names {slot!r}, which the schema does not have: {hint.problem}",
                where=where,
                fix="correct the name, or add the slot to the schema",
            )
        if not values or not all(values):
            raise CorpusError(f"the slot {slot!r} has an empty value", where=where)
    for text, frames in ((turn.user, turn.frames), (turn.system, turn.system_frames)):
        for frame in frames:
            for span in frame.spans:
                if not 0 <= span.start < span.end <= len(text):
                    raise CorpusError(
                        f"the span of {frame.service}-{span.slot} ({span.start} to {span.end}) is outside its "
                        f"utterance of {len(text)} characters",
                        where=where,
                    )


def derive_schema(dialogues: Iterable[Dialogue]) -> Schema:
    """A schema for a corpus that has none: the services and slots that its states use, with the values seen."""
    values_of: dict[str, dict[str, dict[str, None]]] = {}
    for dialogue in dialogues:
        for name in dialogue.services:
            values_of.setdefault(name, {})
        for turn in dialogue.turns:
            for slot, values in turn.state.items():
                service, _, bare = slot.partition("-")
                values_of.setdefault(service, {}).setdefault(bare, {}).update(
                    dict.fromkeys(value for form in values for value in split_values(form))
                )
    return Schema(
        tuple(
            Service(name, slots=tuple(Slot(slot, values=tuple(seen)[:_MOST_VALUES]) for slot, seen in slots.items()))
            for name, slots in values_of.items()
        )
    )
