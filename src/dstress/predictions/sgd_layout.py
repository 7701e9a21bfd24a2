"""The parts of an SGD dialogue file that predictions need, and how predictions become such a file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dstress.errors import PredictionError, place
from dstress.predictions.base import FramePrediction, Prediction


class _Part(msgspec.Struct, gc=False):
    """One piece of a dialogue file. The decoder skips whatever is not named here, at the speed of reading."""


class Slot(_Part):
    """Where a value is said. MultiWOZ 2.2 has entries without a place, copied from another slot."""

    slot: str
    start: int = -1
    exclusive_end: int = -1


class State(_Part):
    """A frame's part of the state: slot -> list of values."""

    slot_values: dict[str, list[object]]
    active_intent: str | None = None
    requested_slots: list[str] | None = None


class Frame(_Part, omit_defaults=True):
    """What a turn says of one service."""

    service: str
    state: State | None = None
    slots: list[Slot] | None = None


class Turn(_Part):
    """One utterance."""

    speaker: str
    utterance: str = ""
    frames: list[Frame] = []


class Dialogue(_Part):
    """One dialogue."""

    dialogue_id: str
    turns: list[Turn]
    services: list[str] = []


class Body(_Part):
    """One dialogue in an object of dialogues, where the key is its id."""

    turns: list[Turn]


def written(name: str, predictions: list[Prediction], path: Path) -> Dialogue:
    """A whole dialogue. A turn has frames for the services it speaks of, and for those whose state it changes."""
    if [prediction.turn for prediction in predictions] != list(range(len(predictions))):
        raise PredictionError(
            "SGD files number turns by their order, and these are not in order from 0",
            where=place(path, name),
            fix="predict every turn of a dialogue in order, or write dstress",
        )
    turns: list[Turn] = []
    before: dict[str, dict[str, list[object]]] = {}
    for prediction in predictions:
        states: dict[str, dict[str, list[object]]] = {service: {} for service in before}
        for slot, value in prediction.state.items():
            service, _, bare = slot.partition("-")
            states.setdefault(service, {})[bare] = [value]
        framed = {frame.service: frame for frame in prediction.frames}
        changed = [service for service, part in states.items() if service not in framed and before.get(service) != part]
        frames = [_frame(frame, states.get(frame.service, {})) for frame in prediction.frames]
        frames += [_frame(FramePrediction(service), states[service]) for service in changed]
        turns.append(Turn("USER", prediction.utterance or "", frames))
        turns.append(Turn("SYSTEM", prediction.response or ""))
        before = states
    return Dialogue(name, turns, list(before))


def _frame(frame: FramePrediction, values: dict[str, list[object]]) -> Frame:
    spans = None if frame.spans is None else [Slot(span.slot, span.start, span.end) for span in frame.spans]
    return Frame(frame.service, State(values, frame.intent or "NONE", list(frame.requested or ())), spans)
