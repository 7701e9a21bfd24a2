"""The example explorer's data: dialogues, what changed in them, and answers on both sides, packed into the page.

The original's dialogues are one packet; each stressor's is another, which says only what is different: edits of texts,
changed labels, and slots that are wrong. A browser unpacks a packet when somebody looks at it. Where all would be too
much for one page, turns that change between right and wrong are kept first; the page says how many were left out.

    original   {"slots": [id], "dialogues": [[id, [turn]]]}        turn  = [system, user, gold, errors, failed]
    stressor   {"slots": [id], "turns": [entry], "left_out": n}    entry = [dialogue, turn, edits, system edits, gold,
                                                                            errors, tags, history, failed]

Gold is flat: slot, value, slot, value ... that are new since the turn before (original), or other than the original's
(stressor); null is "no longer there". Errors are flat too: slot, kind, said ...; null is "the same as on the original".
Edits: start, length, new text ... `history` is how later turns see this one: 0 as it is, 1 as it was, or its words.
"""

from __future__ import annotations

import base64
import gzip
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import Dialogue, Edit, State, Turn
from dstress.errors import CorpusError
from dstress.predictions.base import Prediction
from dstress.renaming import name_map
from dstress.reports.verdicts import Error, Judge, Verdicts, is_right
from dstress.runs import ORIGINAL, RunFolder

BUDGET = 8_000_000
"""Bytes of packed examples in a page at most: the page stays under 10 MB."""

NO_ANSWER = "no answer"
_SHOWN_FORMS = 3
_LEAST_SHARE = 0.02
_FIRST, _CHANGED_ERRORS, _SAME_ERRORS, _BOTH_RIGHT = range(4)

Flat = list[Any]


class Packet(NamedTuple):
    """One packed part of the explorer's data."""

    variant: str
    data: str
    examples: int
    left_out: int


class Explored(NamedTuple):
    """The packets, the original's first, and why turns failed, by variant."""

    packets: list[Packet]
    failures: dict[str, Counter[str]]


class _Entry(NamedTuple):
    """A turn of a stressed dialogue; entries of one group are kept or left out together."""

    content: Flat
    group: tuple[int, int]
    rank: int


class _Side(NamedTuple):
    """An answer as it was judged."""

    errors: list[Error]
    failed: str

    @property
    def right(self) -> bool:
        return not self.failed and is_right(self.errors)


def explore(run: RunFolder, judge: Judge, budget: int = BUDGET) -> Explored:
    """Read a whole run, judge its answers, and pack what fits the budget."""
    reader = _Reader(run, judge)
    original = reader.original()
    stressed = {variant: reader.stressed(variant) for variant in run.variants if variant != ORIGINAL}
    wrong = sum(not side.right for sides in reader.sides for side in sides)
    first = Packet(ORIGINAL, _pack({"slots": reader.slots_of[ORIGINAL], "dialogues": original}), wrong, 0)
    rest = _packed(stressed, reader.slots_of, budget - len(first.data))
    return Explored([first, *rest], reader.failures)


class _Reader:
    """Turns a run's files into the explorer's lists."""

    def __init__(self, run: RunFolder, judge: Judge) -> None:
        self.run, self.judge = run, judge
        self.schema = run.schema(ORIGINAL)
        self.numbers = {slot: number for number, slot in enumerate(self.schema.slots)}
        self.places: dict[str, int] = {}
        self.sides: list[list[_Side]] = []
        self.slots_of: dict[str, list[str]] = {ORIGINAL: list(self.numbers)}
        self.failures: dict[str, Counter[str]] = {}

    def original(self) -> list[Flat]:
        answers, verdicts = self._answers(ORIGINAL), Verdicts(self.judge, self.schema)
        dialogues = []
        for place, dialogue in enumerate(self.run.dialogues(ORIGINAL)):
            self.places[dialogue.id] = place
            sides = [self._side(ORIGINAL, dialogue, n, answers, verdicts) for n in range(len(dialogue.turns))]
            self.sides.append(sides)
            turns: list[Flat] = []
            before: State = {}
            for turn, side in zip(dialogue.turns, sides, strict=True):
                gold = self._gold(before, state := verdicts.gold(turn), self.numbers)
                turns.append(_short([turn.system, turn.user, gold, self._flat(side.errors), side.failed]))
                before = state
            dialogues.append([dialogue.id, turns])
        self.slots_of[ORIGINAL] = list(self.numbers)
        return dialogues

    def stressed(self, variant: str) -> list[_Entry]:
        numbers = self._variant_numbers(variant)
        answers, verdicts = self._answers(variant), Verdicts(self.judge, self.run.schema(variant))
        entries = []
        for dialogue in self.run.dialogues(variant):
            place = self.places[dialogue.id]
            for number, turn in enumerate(dialogue.turns):
                side = self._side(variant, dialogue, number, answers, verdicts)
                entry = self._entry((place, number), turn, side, numbers)
                if entry:
                    entries.append(entry)
        self.slots_of[variant] = _names(numbers)
        return entries

    def _variant_numbers(self, variant: str) -> dict[str, int]:
        """Slots of the original's numbers under the variant's names: a schema's paraphrase renames them in place."""
        if variant == ORIGINAL:
            return self.numbers
        try:
            names = name_map([(self.schema, self.run.schema(variant))])
        except CorpusError:
            return dict(self.numbers)
        return {names.slot_id(slot): number for slot, number in self.numbers.items()}

    def _answers(self, variant: str) -> dict[tuple[str, int], Prediction]:
        return {(answer.dialogue, answer.turn): answer for answer in self.run.journal(variant)}

    def _side(
        self,
        variant: str,
        dialogue: Dialogue,
        number: int,
        answers: dict[tuple[str, int], Prediction],
        verdicts: Verdicts,
    ) -> _Side:
        answer = answers.get((dialogue.id, number))
        failed = NO_ANSWER if answer is None else answer.failed
        if answer is None or failed:
            self.failures.setdefault(variant, Counter())[failed] += 1
            return _Side([], failed)
        return _Side(verdicts.errors(dialogue.turns[number], answer), "")

    def _entry(self, place: tuple[int, int], turn: Turn, side: _Side, numbers: dict[str, int]) -> _Entry | None:
        before = self.sides[place[0]][place[1]]
        errors, old = self._flat(side.errors, numbers), self._flat(before.errors)
        if not turn.changed and errors == old and side.failed == before.failed:
            return None
        stress, original = turn.stress, turn.original
        gold = self._gold(verdicts.gold(original), verdicts.gold(turn), numbers)
        content: Flat = [*place, *([], [], gold), None if errors == old else errors, [], 0, side.failed]
        alone = False
        if stress is not None:
            content[2], content[3] = _edits(stress.edits), _edits(stress.system_edits)
            content[6], alone = list(stress.tags), stress.alone
            content[7] = int(alone) if stress.base is None else [stress.base.system, stress.base.user]
        if side.failed or side.right != before.right:
            rank = _FIRST
        elif not side.right:
            rank = _SAME_ERRORS if errors == old else _CHANGED_ERRORS
        else:
            rank = _BOTH_RIGHT
        return _Entry(_short(content), place if alone else (place[0], -1), rank)

    def _gold(self, before: State, after: State, numbers: dict[str, int]) -> Flat:
        flat: Flat = []
        for slot, forms in after.items():
            if before.get(slot) != forms:
                flat += [_number(slot, numbers), " | ".join(forms[:_SHOWN_FORMS])]
        for slot in before:
            if slot not in after:
                flat += [_number(slot, numbers), None]
        return flat

    def _flat(self, errors: Iterable[Error], numbers: dict[str, int] | None = None) -> Flat:
        flat: Flat = []
        for slot, kind, said in errors:
            flat += [_number(slot, self.numbers if numbers is None else numbers), kind, said]
        return flat


def _number(slot: str, numbers: dict[str, int]) -> int:
    """A slot's number; one that no schema has is given the next."""
    return numbers.setdefault(slot, len(numbers))


def _names(numbers: dict[str, int]) -> list[str]:
    return sorted(numbers, key=numbers.__getitem__)


def _edits(edits: Iterable[Edit]) -> Flat:
    return [part for edit in edits for part in (edit.start, len(edit.before), edit.after)]


def _short(content: Flat) -> Flat:
    """Without the empty places at the end; a null says something, so it stays."""
    end = len(content)
    while end and content[end - 1] is not None and not content[end - 1]:
        end -= 1
    return content[:end]


def _packed(stressed: dict[str, list[_Entry]], slots: dict[str, list[str]], room: int) -> list[Packet]:
    """A packet for each stressor; all of them smaller in the same measure where they do not fit."""
    packets = [_stressed(variant, slots[variant], entries, 0) for variant, entries in stressed.items()]
    size = sum(len(packet.data) for packet in packets)
    if size <= room:
        return packets
    share = max(_LEAST_SHARE, room / size)
    chosen = {variant: _kept(entries, share) for variant, entries in stressed.items()}
    return [
        _stressed(variant, slots[variant], kept, len(stressed[variant]) - len(kept)) for variant, kept in chosen.items()
    ]


def _kept(entries: Sequence[_Entry], share: float) -> list[_Entry]:
    """As many groups as make up a share of the whole, the telling ones first, else evenly strewn over the corpus."""
    sizes: Counter[tuple[int, int]] = Counter()
    ranks: dict[tuple[int, int], int] = {}
    for entry in entries:
        sizes[entry.group] += len(msgspec.json.encode(entry.content))
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


def _stressed(variant: str, slots: list[str], entries: Sequence[_Entry], left_out: int) -> Packet:
    content = {"slots": slots, "turns": [entry.content for entry in entries], "left_out": left_out}
    return Packet(variant, _pack(content), len(entries), left_out)


def _pack(content: Any) -> str:
    # No time stamp: the same run gives the same page.
    return base64.b64encode(gzip.compress(msgspec.json.encode(content), 9, mtime=0)).decode()
