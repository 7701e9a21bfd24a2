"""What a stressor did to a turn, written into the turn: original, edits, and annotations that fit the new words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from dstress.dialogue import Act, Dialogue, Edit, Frame, Span, State, Stress, Turn, service_of
from dstress.text.edits import edits_between, move

_replace = msgspec.structs.replace


def changed_alone(turn: Turn, user: str, state: State, ood: bool, tags: tuple[str, ...]) -> Turn:
    """A turn that was changed by itself: what comes later in the dialogue follows on the turn as it was."""
    edits = edits_between(turn.user, user)
    if turn.stress is None:
        stress = Stress(turn, edits, (), True, None, tags)
    else:
        # Edits always lead from the very original, also where one stressor follows another.
        original, base = turn.stress.original, _replace(turn.remembered, stress=None)
        stress = _replace(
            turn.stress,
            edits=edits_between(original.user, user),
            alone=True,
            base=None if base == original else base,
            tags=(*turn.stress.tags, *tags),
        )
    frames = tuple([_moved(frame, turn, user, edits, state) for frame in turn.frames])
    return Turn(user, turn.system, state, frames, turn.system_frames, turn.coreferences, ood, stress)


def kept(turn: Turn, reason: str) -> Turn:
    """A turn that stays as it was although the stressor tried."""
    before = turn.stress or Stress(turn)
    return _replace(turn, stress=_replace(before, fallbacks=(*before.fallbacks, reason)))


def counted(turn: Turn, counts: Mapping[str, int]) -> Turn:
    """The turn, with what its stressor counted."""
    if not counts or turn.stress is None:
        return turn
    together = Counter(turn.stress.counts) + Counter(counts)
    return _replace(turn, stress=_replace(turn.stress, counts=dict(together)))


def changed_together(before: Dialogue, after: Dialogue) -> Dialogue:
    """A dialogue that was changed as a whole; turns that are the same stay the same objects."""
    turns = tuple(
        old if old == new else _replace(new, stress=_recorded(old, new))
        for old, new in zip(before.turns, after.turns, strict=True)
    )
    return _replace(after, turns=turns)


def _recorded(turn: Turn, after: Turn) -> Stress:
    earlier = turn.stress or Stress(turn)
    return _replace(
        earlier,
        edits=edits_between(earlier.original.user, after.user),
        system_edits=edits_between(earlier.original.system, after.system),
    )


def _moved(frame: Frame, turn: Turn, text: str, edits: Sequence[Edit], state: State) -> Frame:
    """The frame on the new words: spans moved, acts with the new values where the state has some."""
    if not frame.spans and not frame.acts:
        return frame
    renewed = _renewed_slots(frame.service, turn.state, state) if state is not turn.state else {}
    spans = [_moved_span(span, turn.user, text, edits, span.slot in renewed) for span in frame.spans]
    acts = frame.acts
    if renewed:
        acts = tuple(_renewed(act, renewed[act.slot]) if act.slot in renewed else act for act in acts)
    kept = tuple([span for span in spans if span is not None])
    return Frame(frame.service, frame.intent, frame.requested, kept, acts)


def _renewed_slots(service: str, before: State, after: State) -> State:
    """The bare names of a service's slots whose values are new."""
    changed = (slot for slot, values in after.items() if before.get(slot) != values)
    return {slot.partition("-")[2]: after[slot] for slot in changed if service_of(slot) == service}


def _moved_span(span: Span, before: str, after: str, edits: Sequence[Edit], renewed: bool) -> Span | None:
    """The span in the new text; where its words are gone without a new value to say, there is none."""
    start, end = move(span.start, span.end, edits)
    said = before[span.start : span.end]
    if renewed or after[start:end] == said:
        return Span(span.slot, start, end) if start < end else None
    found = after.casefold().find(said.casefold())
    # Casefolding may change lengths; only a place that truly says the words counts.
    if found >= 0 and after[found : found + len(said)].casefold() == said.casefold():
        return Span(span.slot, found, found + len(said))
    return None


def _renewed(act: Act, values: tuple[str, ...]) -> Act:
    if not act.values or act.values[0] == "?":
        return act
    return Act(act.act, act.slot, values[:1], values[:1] if act.canonical else ())
