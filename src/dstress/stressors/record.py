"""What a stressor did to a turn, recorded in the turn: original, edits, and annotations that fit the new words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from dstress.dialogue import Act, Dialogue, Edit, Frame, Span, State, Stress, Turn, service_of
from dstress.text.edits import edits_between, move

_replace = msgspec.structs.replace


def record_turn(turn: Turn, user: str, state: State, ood: bool, tags: tuple[str, ...], *, alone: bool = True) -> Turn:
    """A turn with other words; if `alone`, what comes later in the dialogue follows on the turn as it was."""
    edits = edits_between(turn.user, user)
    if turn.stress is None:
        stress = Stress(turn, edits, (), alone, None, tags)
    else:
        # Edits always lead from the very original, also where one stressor follows another.
        original, base = turn.stress.original, _replace(turn.remembered, stress=None)
        stress = _replace(
            turn.stress,
            edits=edits_between(original.user, user),
            alone=alone,
            base=base if alone and base != original else None,
            tags=(*turn.stress.tags, *tags),
        )
    frames = tuple([_moved_frame(frame, turn, user, edits, state) for frame in turn.frames])
    return _replace(turn, user=user, state=state, frames=frames, ood=ood, stress=stress)


def record_dialogue(before: Dialogue, after: Dialogue) -> Dialogue:
    """A dialogue that was changed as a whole; turns that are the same stay the same objects, tags are kept."""
    # As they are written: objects are equal in any order of their members, which `tools(change=order)` changes.
    reworked = msgspec.json.encode(before.tools) != msgspec.json.encode(after.tools)
    turns = []
    for old, new in zip(before.turns, after.turns, strict=True):
        tools = reworked and new.calls is not None
        if old == new and not tools:
            turns.append(old)
            continue
        earlier = new.stress or old.stress or Stress(old)
        edits = edits_between(earlier.original.user, new.user)
        system_edits = edits_between(earlier.original.system, new.system)
        stress = _replace(earlier, edits=edits, system_edits=system_edits, tools=tools or earlier.tools)
        turns.append(_replace(new, stress=stress))
    return _replace(after, turns=tuple(turns))


def record_fallback(turn: Turn, reason: str) -> Turn:
    """A turn that stays as it was although the stressor tried."""
    earlier = turn.stress or Stress(turn)
    return _replace(turn, stress=_replace(earlier, fallbacks=(*earlier.fallbacks, reason)))


def record_counts(turn: Turn, counts: Mapping[str, int]) -> Turn:
    """The turn, with what its stressor counted."""
    if not counts or turn.stress is None:
        return turn
    together = Counter(turn.stress.counts) + Counter(counts)
    return _replace(turn, stress=_replace(turn.stress, counts=dict(together)))


def _moved_frame(frame: Frame, turn: Turn, text: str, edits: Sequence[Edit], state: State) -> Frame:
    """The frame on the new words: spans moved, acts with the new values where the state has some."""
    if not frame.spans and not frame.acts:
        return frame
    renewed: State = {}  # by their bare names, the slots of the frame's service whose values are new
    if state is not turn.state:
        changed = (slot for slot, values in state.items() if turn.state.get(slot) != values)
        renewed = {slot.partition("-")[2]: state[slot] for slot in changed if service_of(slot) == frame.service}
    spans = [_moved_span(span, turn.user, text, edits, span.slot in renewed) for span in frame.spans]
    acts = []
    for act in frame.acts:
        if act.slot in renewed and act.values and act.values[0] != "?":
            value = renewed[act.slot][:1]
            act = Act(act.act, act.slot, value, value if act.canonical else ())
        acts.append(act)
    kept = tuple([span for span in spans if span is not None])
    return Frame(frame.service, frame.intent, frame.requested, kept, tuple(acts))


def _moved_span(span: Span, before: str, after: str, edits: Sequence[Edit], renewed: bool) -> Span | None:
    """The span in the new text; where its words are gone without a new value to say, there is none."""
    start, end = move(span.start, span.end, edits)
    words = before[span.start : span.end]
    if renewed or after[start:end] == words:
        return Span(span.slot, start, end) if start < end else None
    start = after.casefold().find(words.casefold())
    end = start + len(words)
    # Casefolding may change lengths; only a place that truly says the words counts.
    return Span(span.slot, start, end) if start >= 0 and after[start:end].casefold() == words.casefold() else None
