"""What a generative tracker reads and writes: prompts out of contexts, texts out of states, and states out of texts.

A form is how one paper puts it. `state` writes the whole state (SimpleTOD, SOLOIST, BART-DST) or what changed in it,
`slots` answers for one slot after the other (T5DST).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Literal

import msgspec

from dstress.learning.lessons import Lesson
from dstress.learning.recipe import Natural, Share
from dstress.trackers.base import Context
from dstress.trackers.learned import LabelledTurn

_NONE = "none"
Objective = Literal["state", "response", "contrast"]


class FormOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is read and written."""

    form: Literal["state", "slots"] = "state"
    exchanges: Natural = 0
    """Exchanges that are read, the latest; 0: all."""
    previous: bool = False
    """Whether the previous state is read: gold in training, the tracker's own answer afterwards."""
    writes: Literal["state", "change"] = "state"
    """The whole state, or what is not as in the previous state."""
    forget: Share = 0.15
    """The share of training turns whose state before lacks slots, as the tracker's own answers will."""
    objectives: tuple[Objective, ...] = ("state",)
    """SOLOIST learns three: the state, the system's next words, and which states and words belong together."""
    negatives: Share = 1.0
    """`slots`: the share of the slots without a value that are learned from."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if self.writes == "change" and not self.previous:
            raise ValueError("writes = 'change' needs previous = true: a change is one of the state before")
        if self.form == "slots" and (self.previous or self.objectives != ("state",)):
            raise ValueError("form = 'slots' reads no state before and has one objective")


class Form(ABC):
    """Prompts and answers."""

    def __init__(self, options: FormOptions) -> None:
        self.options = options

    @abstractmethod
    def teach(self, turn: LabelledTurn, random: Random) -> Iterator[Lesson]:
        """What a turn has to teach."""

    @abstractmethod
    def ask(self, context: Context) -> Sequence[str]:
        """The prompts whose answers tell the state."""

    @abstractmethod
    def read(self, context: Context, answers: Sequence[str]) -> dict[str, str]:
        """The state that the answers to `ask` tell; what no schema knows is left out."""

    def _words(self, context: Context) -> str:
        return "".join(
            (f"\nsystem: {system}" if system else "") + f"\nuser: {user}"
            for system, user in context.exchanges[-self.options.exchanges :]
        ).lstrip("\n")


class WholeState(Form):
    """The state, or its change, in one line: ` hotel area = north ; hotel stars = 4 ; end`."""

    def teach(self, turn: LabelledTurn, random: Random) -> Iterator[Lesson]:
        """The state; where asked for the system's next words, and whether a state and words belong together."""
        before, state, words = dict(turn.context.previous or {}), turn.state, self._words(turn.context)
        if self.options.previous and random.random() < self.options.forget:
            before, state = _forget(before, state, words, random)
        prompt, answer = self._prompt(before, words), self._answer(before, state)
        if "state" in self.options.objectives:
            yield Lesson(turn.name, prompt, answer)
        if "response" in self.options.objectives and turn.reply:
            yield Lesson(turn.name, f"{prompt}{answer}\nsystem:", f" {turn.reply}")
        if "contrast" in self.options.objectives and turn.reply and state:
            is_right = random.random() < 1 / 2
            shown = answer if is_right else self._answer(before, _spoil(state, random))
            yield Lesson(turn.name, f"{prompt}{shown}\nsystem: {turn.reply}\nright:", " yes" if is_right else " no")

    def ask(self, context: Context) -> Sequence[str]:
        """One prompt."""
        return [self._prompt(context.previous or {}, self._words(context))]

    def read(self, context: Context, answers: Sequence[str]) -> dict[str, str]:
        """The slots of a line, up to its end or to where it breaks off."""
        state = dict(context.previous or {}) if self.options.writes == "change" else {}
        slots = {_name(slot): slot for slot in context.schema.slots}
        for part in answers[0].split(" ;"):
            name, is_pair, value = part.partition(" = ")
            if is_pair and (slot := slots.get(name.strip())) and (value := value.strip()):
                state[slot] = value
        return {slot: value for slot, value in state.items() if value != _NONE}

    def _prompt(self, before: Mapping[str, str], words: str) -> str:
        return (f"before:{_line(before)}\n" if self.options.previous else "") + f"{words}\nstate:"

    def _answer(self, before: Mapping[str, str], state: Mapping[str, str]) -> str:
        if self.options.writes == "state":
            return _line(state)
        change = {slot: value for slot, value in state.items() if before.get(slot) != value}
        return _line(change | {slot: _NONE for slot in before if slot not in state})


class SlotBySlot(Form):
    """A question for each slot, with its description: the value, or `none`."""

    def teach(self, turn: LabelledTurn, random: Random) -> Iterator[Lesson]:
        """Every slot with a value, and a share of the others."""
        for slot, prompt in zip(turn.context.schema.slots, self.ask(turn.context), strict=True):
            if slot in turn.state or random.random() < self.options.negatives:
                yield Lesson(f"{turn.name}, {slot}", prompt, f" {turn.state.get(slot, _NONE)}")

    def ask(self, context: Context) -> Sequence[str]:
        """A prompt for each slot of the schema."""
        words, prompts = self._words(context), []
        for id, slot in context.schema.slots.items():
            question = f"{_name(id)} ({slot.description})" if slot.description else _name(id)
            prompts.append(f"{words}\n{question}:")
        return prompts

    def read(self, context: Context, answers: Sequence[str]) -> dict[str, str]:
        """The slots that are not answered with none."""
        values = zip(context.schema.slots, map(str.strip, answers), strict=True)
        return {slot: value for slot, value in values if value not in ("", _NONE)}


def create_form(options: FormOptions) -> Form:
    """The form that the options name."""
    return SlotBySlot(options) if options.form == "slots" else WholeState(options)


def _line(state: Mapping[str, str]) -> str:
    return "".join(f" {_name(slot)} = {value} ;" for slot, value in sorted(state.items())) + " end"


def _name(slot: str) -> str:
    return slot.replace("-", " ", 1)


def _forget(
    before: Mapping[str, str], state: Mapping[str, str], words: str, random: Random
) -> tuple[dict[str, str], dict[str, str]]:
    """A previous state that lacks slots, and the state that can be told all the same: of what is lost, what is said."""
    kept = {slot: value for slot, value in before.items() if random.random() >= 1 / 4}
    lost = {slot for slot in before if slot not in kept and before[slot].casefold() not in words.casefold()}
    return kept, {slot: value for slot, value in state.items() if slot not in lost or value != before[slot]}


def _spoil(state: Mapping[str, str], random: Random) -> dict[str, str]:
    """A state without one of its slots, or with the value of another in its place."""
    slot = random.choice(sorted(state))
    others = sorted({value for value in state.values() if value != state[slot]})
    if others and random.random() < 1 / 2:
        return {**state, slot: random.choice(others)}
    return {other: value for other, value in state.items() if other != slot}
