"""A dialogue under other names: both sides' words, states, goal, acts, spans and coreferences alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from dstress.dialogue import Act, Dialogue, Edit, Frame, Goal, Span, State, Turn, slot_id
from dstress.stressors.entities.names import Spans, marked_spans
from dstress.text.edits import apply, move

FindEdits = Callable[[str, Spans], list[Edit]]
"""The edits that rename what a text says, given the places that are marked as names."""

Forms = tuple[str, ...]

_replace = msgspec.structs.replace


class DialogueRenamer:
    """Renames all parts of a dialogue: texts by `find_edits`, a named entity as a state writes it by `rename_value`."""

    def __init__(
        self, find_edits: FindEdits, rename_value: Callable[[str], str], entity_slots: Collection[str]
    ) -> None:
        self._find_edits, self._rename_value, self._entity_slots = find_edits, rename_value, entity_slots
        self._texts: dict[str, str] = {}
        self._acts: dict[tuple[str, str, Forms, Forms], tuple[Forms, Forms]] = {}
        self._states: dict[tuple[str, Forms], Forms] = {}

    def rename(self, dialogue: Dialogue) -> Dialogue:
        """The dialogue under its new names."""
        turns = tuple(self._turn(turn) for turn in dialogue.turns)
        return _replace(dialogue, turns=turns, goal=self._goal(dialogue.goal) if dialogue.goal is not None else None)

    def _turn(self, turn: Turn) -> Turn:
        user, system = self._edits(turn.user, turn.frames), self._edits(turn.system, turn.system_frames)
        return _replace(
            turn,
            user=apply(turn.user, user),
            system=apply(turn.system, system),
            state=self._state(turn.state),
            frames=tuple(self._frame(frame, user) for frame in turn.frames),
            system_frames=tuple(self._frame(frame, system) for frame in turn.system_frames),
            coreferences=tuple(
                _replace(reference, expression=self._text(reference.expression), value=self._text(reference.value))
                for reference in turn.coreferences
            ),
        )

    def _edits(self, text: str, frames: Sequence[Frame]) -> list[Edit]:
        return self._find_edits(text, marked_spans(frames, self._entity_slots)) if text else []

    def _text(self, text: str) -> str:
        """A text by itself, such as the value of a slot for other things than names."""
        if text not in self._texts:
            self._texts[text] = apply(text, self._find_edits(text, ()))
        return self._texts[text]

    def _state(self, state: State) -> State:
        """A state; other slots than those for names may hold one too, as a reminder's text does."""
        return {slot: self._forms(slot, forms) for slot, forms in state.items()}

    def _forms(self, slot: str, forms: Forms) -> Forms:
        known = self._states.get((slot, forms))
        if known is None:
            rename = self._rename_value if slot in self._entity_slots else self._text
            known = self._states[slot, forms] = tuple(dict.fromkeys(map(rename, forms)))
        return known

    def _frame(self, frame: Frame, edits: list[Edit]) -> Frame:
        acts = tuple(self._act(frame.service, act) for act in frame.acts)
        spans = frame.spans
        if edits:
            spans = tuple(Span(span.slot, *move(span.start, span.end, edits)) for span in spans)
        return frame if acts == frame.acts and spans == frame.spans else _replace(frame, acts=acts, spans=spans)

    def _act(self, service: str, act: Act) -> Act:
        if not act.values and not act.canonical:
            return act
        key = service, act.slot, act.values, act.canonical
        if key not in self._acts:
            rename = self._rename_value if slot_id(service, act.slot) in self._entity_slots else self._text
            self._acts[key] = tuple(map(rename, act.values)), tuple(map(rename, act.canonical))
        values, canonical = self._acts[key]
        return act if values == act.values and canonical == act.canonical else Act(act.act, act.slot, values, canonical)

    def _goal(self, goal: Goal) -> Goal:
        description = apply(goal.description, self._find_edits(goal.description, ()))
        inform, fallback = self._state(goal.inform), self._state(goal.fallback)
        return _replace(goal, description=description, inform=inform, fallback=fallback)
