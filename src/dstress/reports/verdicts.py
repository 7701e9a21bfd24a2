"""Right or wrong, slot by slot, under the run's convention: what the example explorer shows of an answer.

The reports room knows no other room, so whoever writes a report hands it the convention, as a `Judge`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from dstress.alignment.columns import INFORMED
from dstress.dialogue import Schema, Slot, State, Turn, service_of

RIGHT, MISSED, EXTRA, WRONG, REWORDED = range(5)
"""What an answer says of a slot; `REWORDED` is right too, but not in a form that the gold lists."""

_NO_SLOT = Slot("")

_Cell = tuple[str, tuple[str, ...] | None, str | None]
"""A slot, its gold forms and what was said of it; None where a side has nothing."""


class Answer(Protocol):
    """A tracker's answer: its state, and the slots that it says it took over from the system's words."""

    @property
    def state(self) -> Mapping[str, str]: ...

    @property
    def informed(self) -> Collection[str]: ...


class Judge(Protocol):
    """What counts as the same value. Every `dstress.conventions.base.Convention` is one."""

    @property
    def unit(self) -> str: ...

    @property
    def within_schema(self) -> bool: ...

    @property
    def reads_informed(self) -> bool: ...

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]: ...

    def predicted(self, slot: str, value: str) -> str | None: ...

    def similarity(self, slot: str, accepted: tuple[str, ...], predicted: str, kind: Slot = ...) -> float: ...

    def ignores(self, slot: str, gold: Collection[str]) -> bool: ...


class Error(NamedTuple):
    """One slot of an answer that is not plainly right: its kind, and what the tracker said, if anything."""

    slot: str
    kind: int
    said: str


class Verdicts:
    """Judges answers; what was judged once is remembered, since values come again and again."""

    def __init__(self, judge: Judge, schema: Schema) -> None:
        self.judge, self.schema = judge, schema
        self._by_frame = judge.within_schema or judge.unit == "frame"
        self._known = _Known(judge, schema)

    def errors(self, turn: Turn, answer: Answer) -> list[Error]:
        """Every slot that is wrong or said in other words, gold's first. A failed answer has no slots to speak of."""
        gold, state = self.gold(turn), answer.state
        if answer.informed and self.judge.reads_informed:
            state = {slot: INFORMED + said if slot in answer.informed else said for slot, said in state.items()}
        cells: list[_Cell] = [(slot, forms, state.get(slot)) for slot, forms in gold.items()]
        if not state.keys() <= gold.keys():
            services = {frame.service for frame in turn.frames}
            extra = [slot for slot in state if slot not in gold and self._looks_at(slot, services)]
            cells += [(slot, None, state[slot]) for slot in extra if not self.judge.ignores(slot, gold)]
        kinds = [self._known[cell] for cell in cells]
        if not any(kinds):
            return []
        return [
            Error(slot, kind, (said or "").removeprefix(INFORMED))
            for (slot, _, said), kind in zip(cells, kinds, strict=True)
            if kind
        ]

    def gold(self, turn: Turn) -> State:
        """The part of a turn's label that the convention looks at."""
        if not self._by_frame:
            return turn.state
        services = {frame.service for frame in turn.frames}
        return {slot: forms for slot, forms in turn.state.items() if self._looks_at(slot, services)}

    def _looks_at(self, slot: str, services: Collection[str]) -> bool:
        """Some conventions look only at slots of the schema, and of services with a frame in the turn."""
        if self._by_frame and service_of(slot) not in services:
            return False
        return not self.judge.within_schema or slot in self.schema.slots


class _Known(dict[_Cell, int]):
    """The kinds of cells that were judged so far."""

    def __init__(self, judge: Judge, schema: Schema) -> None:
        self.judge, self.schema = judge, schema

    def __missing__(self, cell: _Cell) -> int:
        self[cell] = kind = self._kind(*cell)
        return kind

    def _kind(self, slot: str, forms: tuple[str, ...] | None, said: str | None) -> int:
        accepted = self.judge.gold(slot, forms) if forms is not None else ()
        compared = self.judge.predicted(slot, said) if said is not None else None
        if compared is None:
            return MISSED if accepted else RIGHT
        if not accepted:
            return EXTRA
        if self.judge.similarity(slot, accepted, compared, self.schema.slots.get(slot, _NO_SLOT)) < 1.0:
            return WRONG
        return RIGHT if forms is not None and said in forms else REWORDED


def is_right(errors: Iterable[Error]) -> bool:
    """Whether every slot of an answer is right."""
    return all(error.kind == REWORDED for error in errors)
