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
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from dstress.alignment.errors import TurnErrors
from dstress.conventions import conventions
from dstress.dialogue import Dialogue, Edit, State, Stress, Turn
from dstress.errors import CorpusError
from dstress.predictions.base import Prediction
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.schema_names import map_names
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


class Packet(NamedTuple):
    """One packed part of the explorer's data."""

    variant: str
    data: str
    examples: int
    left_out: int


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
    said: str = ""


def explore(run: RunFolder, errors: Mapping[str, TurnErrors], budget: int = BUDGET) -> Explored:
    """Read a whole run with what its answers have wrong, and pack what fits the budget."""
    reader = _Reader(run, errors)
    original = reader.original()
    stressed = {variant: reader.stressed(variant) for variant in run.variants if variant != ORIGINAL}
    wrong = sum(not side.right for sides in reader.sides for side in sides)
    heads = {variant: reading.head for variant, reading in reader.read.items()}
    first = Packet(ORIGINAL, pack(heads[ORIGINAL] | {"dialogues": original}), wrong, 0)
    rest = _packed(stressed, heads, budget - len(first.data))
    # Wrong turns that a stressor leaves as they are need no entry of their own, but are examples where all have room.
    rest = [
        packet if packet.left_out else packet._replace(examples=packet.examples + reader.read[packet.variant].untouched)
        for packet in rest
    ]
    failures = {variant: reading.failures for variant, reading in reader.read.items() if reading.failures}
    slots = list(reader.read[ORIGINAL].numbers)
    confusions = {variant: reading.named_confusions(slots) for variant, reading in reader.read.items()}
    return Explored([first, *rest], failures, confusions, len(original), sum(map(len, reader.sides)))


class _Variant:
    """One variant's answers with their errors, and its slots as numbers."""

    def __init__(self, reader: _Reader, variant: str, numbers: dict[str, int]) -> None:
        run = reader.run
        self.numbers, self.errors, self.convention = numbers, reader.errors[variant], reader.convention
        self.schema = run.schema(variant)
        # With more services than the original has, places no longer tell which slot is which.
        is_paired = len(self.schema.slots) == len(reader.schema.slots)
        self.slot_changes = changed_slots(reader.schema, self.schema) if is_paired else []
        self.failed: dict[tuple[str, int], str] = {}
        self.said: dict[tuple[str, int], str] = {}
        for answer in run.journal(variant):
            place = (answer.dialogue, answer.turn)
            self.failed[place] = answer.failed
            if said := _said(answer):
                self.said[place] = said
        self.failures: Counter[str] = Counter()
        self.confusions: Counter[tuple[int, str, str]] = Counter()
        self.untouched = 0

    def side(self, dialogue: Dialogue, number: int) -> _Side:
        """What became of a turn."""
        place = (dialogue.id, number)
        gold, found = dialogue.turns[number].state, self.errors.get(place, [])
        flat: Flat = []
        for error in found:
            flat += [self._number(error.slot), error.kind, error.value]
            if not error.is_right:
                self.confusions[flat[-3], _shown(gold.get(error.slot, ())), error.value] += 1
        if failed := self.failed.get(place, NO_ANSWER):
            self.failures[failed] += 1
            return _Side(flat, failed)
        return _Side(flat, "", all(error.is_right for error in found), self.said.get(place, ""))

    def named_confusions(self, slots: Sequence[str]) -> Confusions:
        """The confusions by the names of slots that the original gives; one that it has not keeps its own."""
        own = [*slots, *sorted(self.numbers, key=self.numbers.__getitem__)[len(slots) :]]
        return Counter({(own[slot], gold, value): times for (slot, gold, value), times in self.confusions.items()})

    def label(self, turn: Turn) -> State:
        """The part of a turn's label that the convention looks at."""
        services = {frame.service for frame in turn.frames}
        considers, slots = self.convention.considers, self.schema.slots
        return {slot: forms for slot, forms in turn.state.items() if considers(slot, services, slots)}

    def gold(self, before: State, after: State) -> Flat:
        """The way from one label to another."""
        if before == after:
            return []
        flat: Flat = []
        for slot, forms in after.items():
            if before.get(slot) != forms:
                flat += [self._number(slot), _shown(forms)]
        for slot in before:
            if slot not in after:
                flat += [self._number(slot), None]
        return flat

    def _number(self, slot: str) -> int:
        """A slot's number; one that no schema has is given the next."""
        return self.numbers.setdefault(slot, len(self.numbers))

    @property
    def head(self) -> dict[str, Any]:
        """The slots by their numbers, and those that are written otherwise."""
        slots = {"slots": sorted(self.numbers, key=self.numbers.__getitem__)}
        return slots | ({"schema": list(map(msgspec.structs.astuple, self.slot_changes))} if self.slot_changes else {})


class _Reader:
    """Turns a run's files into the explorer's lists."""

    def __init__(self, run: RunFolder, errors: Mapping[str, TurnErrors]) -> None:
        self.run, self.errors = run, errors
        self.convention = conventions.create(run.scores.convention)
        self.schema = run.schema(ORIGINAL)
        self.places: dict[str, int] = {}
        self.sides: list[list[_Side]] = []
        self.read: dict[str, _Variant] = {}

    def original(self) -> list[Flat]:
        """Every dialogue, as it was."""
        numbers = {slot: number for number, slot in enumerate(self.schema.slots)}
        reading = self.read[ORIGINAL] = _Variant(self, ORIGINAL, numbers)
        dialogues = []
        for place, dialogue in enumerate(self.run.dialogues(ORIGINAL)):
            self.places[dialogue.id] = place
            sides = [reading.side(dialogue, number) for number in range(len(dialogue.turns))]
            self.sides.append(sides)
            turns: list[Flat] = []
            before: State = {}
            for turn, side in zip(dialogue.turns, sides, strict=True):
                after = reading.label(turn)
                gold, before = reading.gold(before, after), after
                turns.append(_short([turn.system, turn.user, gold, side.errors, side.failed, side.said]))
            dialogues.append([dialogue.id, turns])
        return dialogues

    def stressed(self, variant: str) -> list[_Entry]:
        """What is different under a stressor."""
        reading = self.read[variant] = _Variant(self, variant, self._numbers(variant))
        entries = []
        for dialogue in self.run.dialogues(variant):
            place = self.places[dialogue.id]
            for number, turn in enumerate(dialogue.turns):
                side, before = reading.side(dialogue, number), self.sides[place][number]
                if turn.changed or (side.errors, side.failed) != (before.errors, before.failed):
                    gold = reading.gold(reading.label(turn.original), reading.label(turn))
                    entries.append(_entry((place, number), turn, gold, (before, side)))
                else:
                    reading.untouched += not side.right
        return entries

    def _numbers(self, variant: str) -> dict[str, int]:
        """The original's numbers under the variant's names: a paraphrase of the schema renames slots in place."""
        original = self.read[ORIGINAL].numbers
        try:
            names = map_names([(self.schema, self.run.schema(variant))])
        except CorpusError:
            return dict(original)
        return {names.slot_id(slot): number for slot, number in original.items()}


def _entry(place: tuple[int, int], turn: Turn, gold: Flat, sides: tuple[_Side, _Side]) -> _Entry:
    before, after = sides
    same = before.errors == after.errors
    stress = turn.stress or Stress(turn)
    history = int(stress.alone) if stress.base is None else [stress.base.system, stress.base.user]
    edits = _edits(stress.edits), _edits(stress.system_edits)
    errors = None if same else after.errors
    content: Flat = [*place, *edits, gold, errors, list(stress.tags), history, after.failed, after.said]
    if after.failed or after.right != before.right:
        rank = _FIRST
    elif after.right:
        rank = _BOTH_RIGHT
    else:
        rank = _SAME_ERRORS if same else _CHANGED_ERRORS
    return _Entry(msgspec.Raw(_ENCODER.encode(_short(content))), place if stress.alone else (place[0], -1), rank)


def _said(answer: Prediction) -> str:
    """What an answer has beside the state, in words."""
    labels = [f"intent {answer.intent}" if answer.intent else "", "out of domain" if answer.ood else ""]
    quoted = "" if answer.response is None else f"“{answer.response}”"
    return " · ".join(filter(None, (quoted, *labels)))


def _shown(forms: Sequence[str]) -> str:
    return " | ".join(forms[:_SHOWN_FORMS])


def _edits(edits: Iterable[Edit]) -> Flat:
    return [part for edit in edits for part in (edit.start, len(edit.before), edit.after)]


def _short(content: Flat) -> Flat:
    """Without the empty places at the end, but for the first two; a null says something, so it stays."""
    end = len(content)
    while end > _ALWAYS and content[end - 1] is not None and not content[end - 1]:
        end -= 1
    return content[:end]


def _packed(stressed: dict[str, list[_Entry]], heads: dict[str, dict[str, Any]], room: int) -> list[Packet]:
    """A packet for each stressor; all of them smaller in the same measure where they do not fit."""
    packets = [_stressed(variant, heads[variant], entries, 0) for variant, entries in stressed.items()]
    size = sum(len(packet.data) for packet in packets)
    if size <= room:
        return packets
    share = max(_LEAST_SHARE, room / size)
    chosen = {variant: _kept(entries, share) for variant, entries in stressed.items()}
    return [
        _stressed(variant, heads[variant], kept, len(stressed[variant]) - len(kept)) for variant, kept in chosen.items()
    ]


def _kept(entries: Sequence[_Entry], share: float) -> list[_Entry]:
    """As many groups as make up a share of the whole, the telling ones first, else evenly strewn over the corpus."""
    sizes: Counter[tuple[int, int]] = Counter()
    ranks: dict[tuple[int, int], int] = {}
    for entry in entries:
        sizes[entry.group] += len(bytes(entry.content))
        ranks[entry.group] = min(entry.rank, ranks.get(entry.group, _BOTH_RIGHT))
    left = share * sum(sizes.values())
    kept = set()
    for group in sorted(sizes, key=lambda group: (ranks[group], _strewn(group))):
        left -= sizes[group]
        if left < 0:
            break
        kept.add(group)
    return [entry for entry in entries if entry.group in kept]


def _strewn(group: tuple[int, int]) -> bytes:
    return blake2b(b"%d/%d" % group, digest_size=8).digest()


def _stressed(variant: str, head: dict[str, Any], entries: Sequence[_Entry], left_out: int) -> Packet:
    content = head | {"turns": [entry.content for entry in entries], "left_out": left_out}
    return Packet(variant, pack(content), len(entries), left_out)


def pack(content: Any) -> str:
    """Content as a page holds it until somebody looks: JSON, gzip, base64."""
    # No time stamp: the same run gives the same page.
    return base64.b64encode(gzip.compress(msgspec.json.encode(content), _LEVEL, mtime=0)).decode()
