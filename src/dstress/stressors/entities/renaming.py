"""A dialogue under other names: both sides' words, states, goal, acts, spans and coreferences alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from dstress.dialogue import Act, Coreference, Dialogue, Edit, Frame, Goal, Span, State, Turn, slot_id
from dstress.stressors.entities.names import Spans, marked
from dstress.text.edits import apply, move

Finder = Callable[[str, Spans], list[Edit]]
"""The edits that rename what a text says, given the places that are marked as names."""

Forms = tuple[str, ...]

_replace = msgspec.structs.replace


class Renaming:
    """Renames all parts of a dialogue. `edits` renames texts, `value` a named entity as a state writes it."""

    def __init__(self, edits: Finder, value: Callable[[str], str], is_entity_slot: Callable[[str], bool]) -> None:
        self._edits, self._value, self._is_entity_slot = edits, value, is_entity_slot
        self._texts: dict[str, str] = {}
        self._acts: dict[tuple[str, str, Forms, Forms], tuple[Forms, Forms]] = {}
        self._states: dict[tuple[str, Forms], Forms] = {}

    def dialogue(self, dialogue: Dialogue) -> Dialogue:
        """The dialogue under its new names."""
        turns = tuple(self._turn(turn) for turn in dialogue.turns)
        goal = self._goal(dialogue.goal) if dialogue.goal is not None else None
        return _replace(dialogue, turns=turns, goal=goal)

    def _turn(self, turn: Turn) -> Turn:
        user, system = self._said(turn.user, turn.frames), self._said(turn.system, turn.system_frames)
        state = self.state(turn.state)
        frames = self._frames(turn.frames, user)
        system_frames = self._frames(turn.system_frames, system)
        references = tuple(map(self._reference, turn.coreferences)) if turn.coreferences else ()
        if (
            not user
            and not system
            and (state, frames, system_frames, references)
            == (
                turn.state,
                turn.frames,
                turn.system_frames,
                turn.coreferences,
            )
        ):
            return turn
        return _replace(
            turn,
            user=apply(turn.user, user),
            system=apply(turn.system, system),
            state=state,
            frames=frames,
            system_frames=system_frames,
            coreferences=references,
        )

    def _said(self, text: str, frames: Sequence[Frame]) -> list[Edit]:
        return self._edits(text, marked(frames, self._is_entity_slot)) if text else []

    def text(self, text: str) -> str:
        """A text by itself, such as the value of a slot for other things than names."""
        if text not in self._texts:
            self._texts[text] = apply(text, self._edits(text, ()))
        return self._texts[text]

    def state(self, state: State) -> State:
        """A state; other slots than those for names may hold one too, as a reminder's text does."""
        return {slot: self._forms(slot, forms) for slot, forms in state.items()}

    def _forms(self, slot: str, forms: Forms) -> Forms:
        known = self._states.get((slot, forms))
        if known is None:
            rename = self._value if self._is_entity_slot(slot) else self.text
            known = self._states[slot, forms] = tuple(dict.fromkeys(map(rename, forms)))
        return known

    def _frames(self, frames: tuple[Frame, ...], edits: list[Edit]) -> tuple[Frame, ...]:
        return tuple(self._frame(frame, edits) for frame in frames)

    def _frame(self, frame: Frame, edits: list[Edit]) -> Frame:
        acts = tuple(self._act(frame.service, act) for act in frame.acts)
        spans = tuple(Span(one.slot, *move(one.start, one.end, edits)) for one in frame.spans) if edits else frame.spans
        return frame if acts == frame.acts and spans == frame.spans else _replace(frame, acts=acts, spans=spans)

    def _act(self, service: str, act: Act) -> Act:
        if not act.values and not act.canonical:
            return act
        key = service, act.slot, act.values, act.canonical
        if key not in self._acts:
            rename = self._value if self._is_entity_slot(slot_id(service, act.slot)) else self.text
            self._acts[key] = tuple(map(rename, act.values)), tuple(map(rename, act.canonical))
        values, canonical = self._acts[key]
        return act if values == act.values and canonical == act.canonical else Act(act.act, act.slot, values, canonical)

    def _reference(self, reference: Coreference) -> Coreference:
        expression, value = self.text(reference.expression), self.text(reference.value)
        return _replace(reference, expression=expression, value=value)

    def _goal(self, goal: Goal) -> Goal:
        description = apply(goal.description, self._edits(goal.description, ()))
        return _replace(
            goal, description=description, inform=self.state(goal.inform), fallback=self.state(goal.fallback)
        )
