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

import base64
import gzip
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from dstress.conventions import conventions
from dstress.conventions.base import Convention
from dstress.dialogue import Dialogue, Schema, State, Stress, Turn
from dstress.errors import CorpusError
from dstress.runs.folder import ORIGINAL, RunFolder, Variant
from dstress.schema_names import map_names
from dstress.scoring.alignment.errors import TurnErrors
from dstress.text.schema_distance import changed_slots

BUDGET = 8_000_000
"""Bytes of packed examples in a page at most: the page stays under 10 MB."""

NO_ANSWER = "no answer"
_SHOWN_FORMS = 3
_LEAST_SHARE = 0.02
_LEVEL = 6
_ALWAYS = 2
_ENCODER = msgspec.json.Encoder()
_FIRST, _CHANGED_ERRORS, _SAME_ERRORS, _BOTH_RIGHT = range(4)

Flat = list[Any]


Confusions = Counter[tuple[str, str, str]]
"""How often a slot, by the original's name, has a gold value and another answer; empty is "nothing"."""


class Packet(NamedTuple):
    """One packed part of the explorer's data."""

    variant: str
    data: str
    examples: int
    left_out: int


class Explored(NamedTuple):
    """The packets, the original's first; by variant, why turns failed and what was taken for what; and how much there
    is."""

    packets: list[Packet]
    failures: dict[str, Counter[str]]
    confusions: dict[str, Confusions]
    dialogues: int
    turns: int


class _Entry(NamedTuple):
    """A turn of a stressed dialogue; entries of one group are kept or left out together."""

    content: msgspec.Raw
    group: tuple[int, int]
    rank: int


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
            gold, before = original.gold(before, after), after
            turns.append(_short([turn.system, turn.user, gold, side.errors, side.failed, side.beside]))
        dialogues.append([dialogue.id, turns])
    wrong = sum(not side.right for of_dialogue in sides for side in of_dialogue)
    first = Packet(ORIGINAL, pack(original.head | {"dialogues": dialogues}), wrong, 0)

    read, entries = {ORIGINAL: original}, dict[str, list[_Entry]]()
    for variant in run.variants[1:]:
        renamed = dict(numbers)
        with suppress(CorpusError):  # a paraphrase of the schema renames slots in place
            names = map_names([(schema, run.variant(variant).schema)])
            renamed = {names.slot_id(slot): number for slot, number in numbers.items()}
        read[variant] = _Answers(run.variant(variant), errors[variant], convention, schema, renamed)
        entries[variant] = list(read[variant].entries(places, sides))

    packets = [_pack_entries(read[variant], own, 0) for variant, own in entries.items()]
    room, size = budget - len(first.data), sum(len(packet.data) for packet in packets)
    if size > room:  # all of them become smaller in the same measure
        share = max(_LEAST_SHARE, room / size)
        chosen = {variant: _kept(own, share) for variant, own in entries.items()}
        packets = [_pack_entries(read[name], own, len(entries[name]) - len(own)) for name, own in chosen.items()]
    failures = {variant: answers.failures for variant, answers in read.items() if answers.failures}
    slots = list(original.numbers)
    confusions = {variant: answers.named_confusions(slots) for variant, answers in read.items()}
    return Explored([first, *packets], failures, confusions, len(dialogues), sum(map(len, sides)))


class _Answers:
    """One variant's answers with their errors, and its slots as numbers."""

    def __init__(
        self, variant: Variant, errors: TurnErrors, convention: Convention, original: Schema, numbers: dict[str, int]
    ) -> None:
        self.variant, self.errors, self.convention, self.numbers = variant, errors, convention, numbers
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
            flat += [self._number(error.slot), error.kind, error.value]
            if not error.is_right:
                self.confusions[flat[-3], _shown(gold.get(error.slot, ())), error.value] += 1
        if failed := self.failed.get(place, NO_ANSWER):
            self.failures[failed] += 1
            return _Side(flat, failed)
        return _Side(flat, "", all(error.is_right for error in errors), self.beside.get(place, ""))

    def entries(self, places: Mapping[str, int], sides: Sequence[Sequence[_Side]]) -> Iterator[_Entry]:
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
                edits = (
                    [part for edit in edits for part in (edit.start, len(edit.before), edit.after)]
                    for edits in (stress.edits, stress.system_edits)
                )
                gold = self.gold(self.label(turn.original), self.label(turn))
                history = int(stress.alone) if stress.base is None else [stress.base.system, stress.base.user]
                answer: Flat = [None if same else after.errors, list(stress.tags), history, after.failed, after.beside]
                rank = _BOTH_RIGHT if after.right else _SAME_ERRORS if same else _CHANGED_ERRORS
                rank = _FIRST if after.failed or after.right != before.right else rank
                content = _ENCODER.encode(_short([place, number, *edits, gold, *answer]))
                group = (place, number) if stress.alone else (place, -1)
                yield _Entry(msgspec.Raw(content), group, rank)

    def named_confusions(self, slots: Sequence[str]) -> Confusions:
        """The confusions by the names of slots that the original gives; one that it has not keeps its own."""
        own = [*slots, *sorted(self.numbers, key=self.numbers.__getitem__)[len(slots) :]]
        return Counter({(own[slot], gold, value): times for (slot, gold, value), times in self.confusions.items()})

    def label(self, turn: Turn) -> State:
        """The part of a turn's label that the convention looks at."""
        services = {frame.service for frame in turn.frames}
        considers, slots = self.convention.considers, self.variant.schema.slots
        return {slot: forms for slot, forms in turn.state.items() if considers(slot, services, slots)}

    def gold(self, before: State, after: State) -> Flat:
        """The way from one label to another."""
        flat: Flat = []
        if before != after:
            for slot, forms in after.items():
                flat += [self._number(slot), _shown(forms)] if before.get(slot) != forms else []
            for slot in before:
                flat += [self._number(slot), None] if slot not in after else []
        return flat

    def _number(self, slot: str) -> int:
        """A slot's number; one that no schema has is given the next."""
        return self.numbers.setdefault(slot, len(self.numbers))

    @property
    def head(self) -> dict[str, Any]:
        """The slots by their numbers, and those that are written otherwise."""
        slots = {"slots": sorted(self.numbers, key=self.numbers.__getitem__)}
        return slots | ({"schema": list(map(msgspec.structs.astuple, self.slot_changes))} if self.slot_changes else {})


def _shown(forms: Sequence[str]) -> str:
    return " | ".join(forms[:_SHOWN_FORMS])


def _short(content: Flat) -> Flat:
    """Without the empty places at the end, but for the first two; a null says something, so it stays."""
    end = len(content)
    while end > _ALWAYS and content[end - 1] is not None and not content[end - 1]:
        end -= 1
    return content[:end]


def _kept(entries: Sequence[_Entry], share: float) -> list[_Entry]:
    """As many groups as make up a share of the whole, the telling ones first, else evenly strewn over the corpus."""
    sizes: Counter[tuple[int, int]] = Counter()
    ranks: dict[tuple[int, int], int] = {}
    for entry in entries:
        sizes[entry.group] += len(bytes(entry.content))
        ranks[entry.group] = min(entry.rank, ranks.get(entry.group, _BOTH_RIGHT))
    left = share * sum(sizes.values())
    kept = set()
    for group in sorted(sizes, key=lambda group: (ranks[group], blake2b(b"%d/%d" % group, digest_size=8).digest())):
        left -= sizes[group]
        if left < 0:
            break
        kept.add(group)
    return [entry for entry in entries if entry.group in kept]


def _pack_entries(answers: _Answers, entries: Sequence[_Entry], left_out: int) -> Packet:
    content = answers.head | {"turns": [entry.content for entry in entries], "left_out": left_out}
    examples = len(entries) + (0 if left_out else answers.untouched)
    return Packet(answers.variant.spec, pack(content), examples, left_out)


def pack(content: Any) -> str:
    """Content as a page holds it until somebody looks: JSON, gzip, base64."""
    # No time stamp: the same run gives the same page.
    return base64.b64encode(gzip.compress(msgspec.json.encode(content), _LEVEL, mtime=0)).decode()
