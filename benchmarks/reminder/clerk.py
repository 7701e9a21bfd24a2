"""The desk's words: each move becomes sentences with marked values, and the acts that they carry out."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from benchmarks.reminder.desk import Move
from benchmarks.reminder.draft import Draft, fill, mark_value, polish
from benchmarks.reminder.phraser import Phraser
from benchmarks.reminder.specs import ServiceSpec, words
from benchmarks.reminder.values import SYSTEM_VOICE
from dstress.dialogue import Act, Frame, Span, slot_id

MARK_ACTS = {"offer": "INFORM", "confirm": "CONFIRM", "booked": "INFORM", "answer": "INFORM"}
PLAIN_ACTS = {
    "booked": "NOTIFY_SUCCESS",
    "full": "NOTIFY_FAILURE",
    "denied": "NOTIFY_FAILURE",
    "nothing": "NOTIFY_FAILURE",
}


class SystemTurn(NamedTuple):
    """What the desk says, before the user's utterance that completes the turn."""

    text: str = ""
    frames: tuple[Frame, ...] = ()


class Clerk:
    """Speaks for the desk."""

    def __init__(self, split: str, rng: Random) -> None:
        self.rng = rng
        self.phraser = Phraser(split, rng)

    def line(self, key: str) -> Draft:
        """A courtesy that needs no values."""
        return Draft(self.phraser.pick(words().system[key]))

    def speak(
        self, service: ServiceSpec, move: Move, state_value: str = "", before: Sequence[Draft] = ()
    ) -> SystemTurn:
        """The turn for a move; `before` holds what comes first, such as an apology."""
        body = self._body(service, move, state_value)
        after = [self.line("more")] if move.kind == "booked" else []
        draft = polish([*before, *body, *after], SYSTEM_VOICE)
        acts = self._acts(service, move, draft)
        if after:
            acts.append(Act("REQ_MORE"))
        spans = tuple(Span(mark.slot.partition("-")[2], mark.start, mark.end) for mark in draft.marks)
        return SystemTurn(draft.text, (Frame(service.name, spans=spans, acts=tuple(acts)),))

    def courtesy(self, service: ServiceSpec, key: str, act: str, before: Sequence[Draft] = ()) -> SystemTurn:
        """A turn without values."""
        draft = polish([*before, self.line(key)], SYSTEM_VOICE)
        return SystemTurn(draft.text, (Frame(service.name, acts=(Act(act),)),))

    def _body(self, service: ServiceSpec, move: Move, state_value: str) -> list[Draft]:
        if move.kind == "request":
            return [Draft(self.phraser.pick(service.slot(name).ask)) for name in move.slots]
        if move.kind == "confirm":
            summary = self.phraser.summary(service, move.values)
            return [fill(self.phraser.pick(words().system["confirm"]), lambda _: summary)]
        if move.kind == "answer":
            marks = {name: mark_value(value, slot_id(service.name, name), value) for name, value in move.values.items()}
            return [
                fill(self.phraser.pick(service.slot(name).inform), {"v": marks[name]}.__getitem__)
                for name in move.slots
            ]
        if move.kind == "nothing":
            return [self.line("nothing")]
        if move.kind == "denied":
            slot = service.slot(move.slots[0])
            texts = slot.denied_no if slot.denied_no and state_value == "no" else slot.denied
            values = {"v": state_value, "alternative": move.values[slot.name]}
            return [fill(self.phraser.pick(texts), lambda key: self.phraser.value(service, slot, values[key]))]
        texts = {"offer": service.offer, "booked": service.success, "full": service.failure}[move.kind]
        again = [self.line("again")] if move.slots == ("again",) else []
        return [*again, fill(self.phraser.pick(texts), lambda key: self._value(service, key, move))]

    def _value(self, service: ServiceSpec, key: str, move: Move) -> Draft:
        """What fills a blank: a slot's value, or under any other key that of the slot that is limited."""
        if key == "reference":
            return Draft(move.values[key])
        names = [slot.name for slot in service.slots]
        slot = service.slot(key if key in names else service.limited)
        return self.phraser.value(service, slot, move.values[key if key in move.values else slot.name])

    def _acts(self, service: ServiceSpec, move: Move, draft: Draft) -> list[Act]:
        acts = [Act("REQUEST", name) for name in move.slots] if move.kind == "request" else []
        if move.kind in PLAIN_ACTS:
            acts.append(Act(PLAIN_ACTS[move.kind]))
        for mark in draft.marks:
            name = mark.slot.partition("-")[2]
            offered = {"offer": "name", "full": "alternative", "denied": name}.get(move.kind, "")
            act = "OFFER" if mark.value == move.values.get(offered) else MARK_ACTS.get(move.kind, "INFORM")
            acts.append(Act(act, name, (draft.text[mark.start : mark.end],), (mark.value,)))
        if move.kind == "denied" and not draft.marks:
            acts.append(Act("OFFER", move.slots[0], (move.values[move.slots[0]],), (move.values[move.slots[0]],)))
        return acts
