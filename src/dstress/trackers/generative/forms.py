"""What a generative tracker reads and writes: prompts out of contexts, texts out of states, and states out of texts.

A form is how one paper puts it. `state` writes the whole state (SimpleTOD, SOLOIST, BART-DST) or what changed in it,
`slots` answers for one slot after the other (T5DST). A `state` form that has learned responses then reads its own state
and what the database has for it, and goes on with the system's answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Literal

import msgspec

from dstress.conventions.venues import Venues, constraints_of
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue
from dstress.learning.lessons import Lesson
from dstress.learning.recipe import Natural, Share
from dstress.predictions.base import Prediction
from dstress.trackers.base import Answer, Context
from dstress.trackers.learned import LabelledTurn

_NONE = "none"
_YES, _NO = "yes", "no"
_FEW = 5
"""Rows of the database up to which their number is told; more are `many`."""
Objective = Literal["state", "response", "intent", "ood", "contrast"]


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
    """SOLOIST learns three: the state, the system's answer, and which states and answers belong together. RADDLE's last
    two tasks need the user's intent, and whether an utterance is out of domain."""
    negatives: Share = 1.0
    """`slots`: the share of the slots without a value that are learned from."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if self.writes == "change" and not self.previous:
            raise ValueError("writes = 'change' needs previous = true: a change is one of the state before")
        if self.form == "slots" and (self.previous or self.objectives != ("state",)):
            raise ValueError("form = 'slots' reads no state before and has one objective")
        if self.form == "state" and "state" not in self.objectives:
            raise ValueError("objectives lack 'state', which every tracker needs")


class Form(ABC):
    """Prompts and answers."""

    def __init__(self, options: FormOptions) -> None:
        self.options = options
        self.responds = "response" in options.objectives
        self._venues: Venues | None = None

    def connect(self, corpus: Iterable[Dialogue]) -> None:
        """Open the database of a corpus, if it has one and responses are based on it."""
        database = corpus.database if self.responds and isinstance(corpus, Corpus) else None
        self._venues = Venues(database) if database else None

    def teach_all(self, turns: Sequence[LabelledTurn], random: Random) -> Iterator[Lesson]:
        """What turns have to teach; what does not belong together is put together from two of them."""
        is_contrasted = "contrast" in self.options.objectives
        for turn in turns:
            yield from self.teach(turn, random, random.choice(turns) if is_contrasted else turn)

    @abstractmethod
    def teach(self, turn: LabelledTurn, random: Random, other: LabelledTurn) -> Iterator[Lesson]:
        """What a turn has to teach; `other` is any turn, the state and answer of which are wrong here."""

    @abstractmethod
    def ask(self, context: Context) -> Sequence[str]:
        """The prompts whose answers tell the state."""

    @abstractmethod
    def read(self, context: Context, answers: Sequence[str]) -> Answer:
        """The state, and whatever else the answers to `ask` tell; slots that no schema knows are left out."""

    def ask_response(self, context: Context, state: Mapping[str, str]) -> str:
        """The prompt that the system's answer follows on, of a form that `responds`; the state is the tracker's own."""
        raise NotImplementedError

    def _words(self, context: Context) -> str:
        return "".join(
            (f"\nsystem: {system}" if system else "") + f"\nuser: {user}"
            for system, user in context.exchanges[-self.options.exchanges :]
        ).lstrip("\n")


class WholeState(Form):
    """The state, or its change, in one line: ` hotel area = north ; hotel stars = 4 ; end`."""

    def teach(self, turn: LabelledTurn, random: Random, other: LabelledTurn) -> Iterator[Lesson]:
        """The state; where asked for the answer, intent, and whether the turn is foreign; and what belongs together."""
        before, state, words = dict(turn.context.previous or {}), turn.state, self._words(turn.context)
        if self.options.previous and random.random() < self.options.forget:
            before, state = _forget(before, state, words, random)
        yield Lesson(turn.name, self._prompt(before, words), self._answer(before, state))
        gold = turn.context.gold
        intent = next((frame.intent for frame in gold.frames if frame.intent), _NONE)
        told = {"intent": intent, "ood": _YES if gold.ood else _NO}
        for question, prompt in self._questions(turn.context).items():
            yield Lesson(turn.name, prompt, f" {told[question]}")
        if self.responds and turn.reply:
            yield Lesson(turn.name, self._response_prompt(before, words, state), f" {turn.reply}")
        if "contrast" in self.options.objectives and turn.reply and state:
            shown, reply = state, turn.reply
            is_right = random.random() < 1 / 2
            if not is_right:
                spoils = random.choice(("state", "response", "both"))
                if spoils != "response":
                    shown = other.state if other.state not in ({}, state) else _spoil(state, random)
                if spoils != "state":
                    reply = other.reply
            if is_right or (reply and (shown, reply) != (state, turn.reply)):
                prompt = f"{self._response_prompt(before, words, shown)} {reply}\nright:"
                yield Lesson(turn.name, prompt, f" {_YES if is_right else _NO}")

    def ask(self, context: Context) -> Sequence[str]:
        """One prompt for the state, and one for each other question."""
        return [self._prompt(context.previous or {}, self._words(context)), *self._questions(context).values()]

    def ask_response(self, context: Context, state: Mapping[str, str]) -> str:
        """The words, the state, and what the database has for it."""
        return self._response_prompt(context.previous or {}, self._words(context), state)

    def read(self, context: Context, answers: Sequence[str]) -> Answer:
        """The slots of a line, up to its end or to where it breaks off; and the answers to the other questions."""
        state = self._read_state(context, answers[0])
        if set(self.options.objectives) <= {"state", "contrast"}:
            return state
        told = {name: answer.strip() for name, answer in zip(self._questions(context), answers[1:], strict=True)}
        intent = told.get("intent")
        return Prediction(
            context.dialogue,
            context.turn,
            state,
            intent="" if intent == _NONE else intent,
            ood=told["ood"] == _YES if "ood" in told else None,
        )

    def _questions(self, context: Context) -> dict[str, str]:
        """What is asked beside the state, by the objective."""
        asked = {"intent": "intent:", "ood": "out of domain:"}
        words = self._words(context)
        return {name: f"{words}\n{text}" for name, text in asked.items() if name in self.options.objectives}

    def _response_prompt(self, before: Mapping[str, str], words: str, state: Mapping[str, str]) -> str:
        prompt = f"{self._prompt(before, words)}{self._answer(before, state)}"
        return f"{prompt}{self._look_up(state)}\nsystem:"

    def _look_up(self, state: Mapping[str, str]) -> str:
        """How many rows of the database fit the state, by service; nothing without a database."""
        if self._venues is None:
            return ""
        line = ""
        for service, constraints in sorted(constraints_of(state).items()):
            if self._venues.placeholder(service):
                rows = len(self._venues.find(service, constraints))
                line += f" {service} {rows if rows <= _FEW else 'many'} ;"
        return f"\ndatabase:{line} end"

    def _read_state(self, context: Context, line: str) -> dict[str, str]:
        state = dict(context.previous or {}) if self.options.writes == "change" else {}
        slots = {_name(slot): slot for slot in context.schema.slots}
        for part in line.split(" ;"):
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

    def teach(self, turn: LabelledTurn, random: Random, other: LabelledTurn) -> Iterator[Lesson]:
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
