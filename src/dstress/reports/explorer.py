"""The example explorer's data: dialogues, what changed in them, and answers on both sides, packed into the page.

The original's dialogues are one packet; each stressor's is another, which says only what is different: edits of texts,
changed labels, and slots that are wrong; a turn without an entry is as on the original. A browser unpacks a packet when
somebody looks at it. Where all would be too much for one page, turns that change between right and wrong are kept
first; the page says how many were left out.

    original   {"slots": [id], "dialogues": [[id, [turn]]]}        turn  = [system, user, gold, errors, failed,
                                                                           said]
    stressor   {"slots": [id], "turns": [entry], "left_out": n,    entry = [dialogue, turn, edits, system edits, gold,
                "schema": [slot]}                                           errors, tags, history, failed, said]

Gold is flat: slot, value, slot, value ... that are new since the turn before (original), or other than the original's
(stressor); null is "no longer there". Errors are flat too: slot, kind, value ...; null is "as on the original".
Edits: start, length, new text ... `schema` has the slots that the stressor writes otherwise: id and description, before
and after. `history` is how later turns see this one: 0 as it is, 1 as it was, or its words. `said` is what the answer
has beside the state: the response, the intent, whether it is out of domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from dstress.conventions import conventions
from dstress.conventions.base import Convention
from dstress.dialogue import Dialogue, Schema, State, Stress, Turn
from dstress.errors import CorpusError
from dstress.reports.packets import (
    BUDGET,
    Entry,
    Flat,
    Packet,
    Part,
    SlotNumbers,
    encode,
    flat_edits,
    pack,
    pack_within,
    shorten,
    shown,
)
from dstress.runs.folder import ORIGINAL, RunFolder, Variant
from dstress.schema_names import map_names
from dstress.scoring.alignment.errors import TurnErrors
from dstress.text.schema_distance import changed_slots

NO_ANSWER = "no answer"
_FIRST, _CHANGED_ERRORS, _SAME_ERRORS, _BOTH_RIGHT = range(4)

Confusions = Counter[tuple[str, str, str]]
"""How often a slot, by the original's name, has a gold value and another answer; empty is "nothing"."""


class Explored(NamedTuple):
    """The packets, the original's first; by variant, why turns failed and what was taken for what; and how much there
    is."""

    packets: list[Packet]
    failures: dict[str, Counter[str]]
    confusions: dict[str, Confusions]
    dialogues: int
    turns: int


class _Side(NamedTuple):
    """An answer as it was judged."""

    errors: Flat
    failed: str
    right: bool = False
    beside: str = ""
    """What the answer has beside the state, in words."""


def explore(run: RunFolder, errors: Mapping[str, TurnErrors], budget: int = BUDGET) -> Explored:
    """Read a whole run with what its answers have wrong, and pack what fits the budget."""
    convention, schema = conventions.create(run.scores.convention), run.variant(ORIGINAL).schema
    numbers = {slot: number for number, slot in enumerate(schema.slots)}
    original = _Answers(run.variant(ORIGINAL), errors[ORIGINAL], convention, schema, numbers)
    dialogues: list[Flat] = []
    places: dict[str, int] = {}
    sides: list[list[_Side]] = []
    for dialogue in run.variant(ORIGINAL).dialogues():
        places[dialogue.id] = len(places)
        sides.append([original.side(dialogue, number) for number in range(len(dialogue.turns))])
        turns: list[Flat] = []
        before: State = {}
        for turn, side in zip(dialogue.turns, sides[-1], strict=True):
            after = original.label(turn)
            gold, before = original.slots.changes(before, after), after
            turns.append(shorten([turn.system, turn.user, gold, side.errors, side.failed, side.beside]))
        dialogues.append([dialogue.id, turns])
    wrong = sum(not side.right for of_dialogue in sides for side in of_dialogue)
    first = Packet(ORIGINAL, pack(original.head | {"dialogues": dialogues}), wrong, 0)

    read, parts = {ORIGINAL: original}, list[Part]()
    for variant in run.variants[1:]:
        renamed = dict(numbers)
        with suppress(CorpusError):  # a paraphrase of the schema renames slots in place
            names = map_names([(schema, run.variant(variant).schema)])
            renamed = {names.slot_id(slot): number for slot, number in numbers.items()}
        answers = read[variant] = _Answers(run.variant(variant), errors[variant], convention, schema, renamed)
        entries = list(answers.entries(places, sides))
        parts.append(Part(answers.variant.spec, answers.head, entries, answers.untouched))

    failures = {variant: answers.failures for variant, answers in read.items() if answers.failures}
    slots = list(original.slots.numbers)
    confusions = {variant: answers.named_confusions(slots) for variant, answers in read.items()}
    return Explored(pack_within(first, parts, budget), failures, confusions, len(dialogues), sum(map(len, sides)))


class _Answers:
    """One variant's answers with their errors, and its slots as numbers."""

    def __init__(
        self, variant: Variant, errors: TurnErrors, convention: Convention, original: Schema, numbers: dict[str, int]
    ) -> None:
        self.variant, self.errors, self.convention = variant, errors, convention
        self.slots = SlotNumbers(numbers)
        # With more services than the original has, places no longer tell which slot is which.
        is_paired = len(variant.schema.slots) == len(original.slots)
        self.slot_changes = changed_slots(original, variant.schema) if is_paired else []
        self.failures: Counter[str] = Counter()
        self.confusions: Counter[tuple[int, str, str]] = Counter()
        self.untouched = 0
        """Wrong turns that the stressor leaves as they are need no entry, but are examples where all have room."""
        self.failed: dict[tuple[str, int], str] = {}
        self.beside: dict[tuple[str, int], str] = {}
        for answer in variant.journal():
            quoted = "" if answer.response is None else f"“{answer.response}”"
            labels = f"intent {answer.intent}" if answer.intent else "", "out of domain" if answer.ood else ""
            self.failed[answer.dialogue, answer.turn] = answer.failed
            self.beside[answer.dialogue, answer.turn] = " · ".join(filter(None, (quoted, *labels)))

    def side(self, dialogue: Dialogue, number: int) -> _Side:
        """What became of a turn."""
        place = (dialogue.id, number)
        gold, errors = dialogue.turns[number].state, self.errors.get(place, [])
        flat: Flat = []
        for error in errors:
            flat += [self.slots.number(error.slot), error.kind, error.value]
            if not error.is_right:
                self.confusions[flat[-3], shown(gold.get(error.slot, ())), error.value] += 1
        if failed := self.failed.get(place, NO_ANSWER):
            self.failures[failed] += 1
            return _Side(flat, failed)
        return _Side(flat, "", all(error.is_right for error in errors), self.beside.get(place, ""))

    def entries(self, places: Mapping[str, int], sides: Sequence[Sequence[_Side]]) -> Iterator[Entry]:
        """What is different under a stressor from the original's dialogues, by their places, and answers."""
        for dialogue in self.variant.dialogues():
            place = places[dialogue.id]
            for number, turn in enumerate(dialogue.turns):
                before, after = sides[place][number], self.side(dialogue, number)
                same = before.errors == after.errors
                if not turn.changed and same and before.failed == after.failed:
                    self.untouched += not after.right
                    continue
                stress = turn.stress or Stress(turn)
                edits = flat_edits(stress.edits), flat_edits(stress.system_edits)
                gold = self.slots.changes(self.label(turn.original), self.label(turn))
                history = int(stress.alone) if stress.base is None else [stress.base.system, stress.base.user]
                answer: Flat = [None if same else after.errors, list(stress.tags), history, after.failed, after.beside]
                rank = _BOTH_RIGHT if after.right else _SAME_ERRORS if same else _CHANGED_ERRORS
                rank = _FIRST if after.failed or after.right != before.right else rank
                group = (place, number) if stress.alone else (place, -1)
                yield Entry(encode([place, number, *edits, gold, *answer]), group, rank)

    def named_confusions(self, slots: Sequence[str]) -> Confusions:
        """The confusions by the names of slots that the original gives; one that it has not keeps its own."""
        own = [*slots, *self.slots.names[len(slots) :]]
        return Counter({(own[slot], gold, value): times for (slot, gold, value), times in self.confusions.items()})

    def label(self, turn: Turn) -> State:
        """The part of a turn's label that the convention looks at."""
        services = {frame.service for frame in turn.frames}
        considers, slots = self.convention.considers, self.variant.schema.slots
        return {slot: forms for slot, forms in turn.state.items() if considers(slot, services, slots)}

    @property
    def head(self) -> dict[str, Any]:
        """The slots by their numbers, and those that are written otherwise."""
        slots = {"slots": self.slots.names}
        return slots | ({"schema": list(map(msgspec.structs.astuple, self.slot_changes))} if self.slot_changes else {})
