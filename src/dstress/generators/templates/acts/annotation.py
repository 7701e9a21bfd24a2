"""What the acts of a turn tell: what its user does, and what the system's turn wants."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from dstress.dialogue import Dialogue, Frame, Turn, slot_id

GIVES, SELECTS, OPENS, ASKS = "INFORM", "SELECT", "INFORM_INTENT", "REQUEST"
TAKING = frozenset({SELECTS, "AFFIRM", "AFFIRM_INTENT"})
"""What a user does who takes up an offer."""
_GLANCED = 50
"""Dialogues that tell whether a corpus has such acts."""


class Doing(NamedTuple):
    """What a user does in a turn: the service, the intent that it opens, further acts, the elements that it gives."""

    service: str
    intent: str
    acts: frozenset[str]
    elements: frozenset[str]


def has_acts(dialogues: Iterable[Dialogue]) -> bool:
    """Whether users' acts tell as much as SGD's, by the first dialogues: which intent a turn opens or agrees to."""
    glanced = islice(iter(dialogues), _GLANCED)
    return {OPENS, "AFFIRM_INTENT"} <= {act for each in glanced for turn in each.turns for act in acts_of(turn.frames)}


def acts_of(frames: Iterable[Frame]) -> frozenset[str]:
    """The names of all acts."""
    return frozenset(act.act for frame in frames for act in frame.acts)


def replied_to(turn: Turn) -> frozenset[str]:
    """What the system's acts want a reply to; a question that proposes a value wants a yes or a no."""
    acts = [act for frame in turn.system_frames for act in frame.acts]
    return frozenset(f"{act.act}?" if act.act == ASKS and act.values else act.act for act in acts)


def requested_in(turn: Turn) -> frozenset[str]:
    """The slot ids that the system asks for."""
    return frozenset(
        slot_id(frame.service, act.slot) for frame in turn.system_frames for act in frame.acts if act.act == ASKS
    )


def named_by_system(turn: Turn, slot: str) -> list[str]:
    """The values of a slot that the system's acts name."""
    service, _, bare = slot.partition("-")
    frames = (frame for frame in turn.system_frames if frame.service == service)
    return [value for frame in frames for act in frame.acts if act.slot == bare for value in act.values]


def takes_offer(turn: Turn, service: str) -> bool:
    """Whether the user takes up an offer of a service."""
    return any(frame.service == service and TAKING & acts_of((frame,)) for frame in turn.frames)


def doing_of(turn: Turn, service: str, elements: frozenset[str]) -> Doing:
    """What the user of a turn does, giving these elements."""
    acts = [(frame.service, act) for frame in turn.frames for act in frame.acts]
    intents = (act.values[0] for name, act in acts if name == service and act.act == OPENS and act.values)
    # Who takes an offer by its name gives a value.
    others = frozenset(act.act for _, act in acts if not (act.act == SELECTS and act.slot)) - {GIVES, OPENS, ASKS}
    return Doing(service, next(intents, ""), others, elements)
