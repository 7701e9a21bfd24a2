"""Where runs differ: turns that some have right and others wrong, with what the wrong ones say.

Of the checkpoints of a training that is what it unlearns. Of several runs in one page the dialogues are packed into it:

    {"systems": [name], "variants": [name], "slots": [id], "dialogues": [[id, [[variant, [turn]]]]]}

    turn = [system words, user words, gold, wrong, differs]

Gold is flat: slot, value, slot, value ... that are new since the turn before; null is "no longer there". Wrong is flat
too, with a list a system: system, [slot, value, ...] ...; an empty value is none. `differs` is 1 where some have the
turn right, others wrong, and the stressor changed it. Numbers point into the lists of names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby, permutations, product
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import Turn, first_forms
from dstress.reports.packets import pack
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.runs.scores import find_errors
from dstress.scoring.alignment.errors import TurnErrors

_MOST_TURNS = 20_000
"""A page holds the dialogues of so many at most, drawn evenly: the counts are of all."""


class JudgedTurn(NamedTuple):
    """A turn as several runs answered it. `wrong` has, of each run that is wrong, what it says of the slots that it has
    wrong; empty: nothing."""

    variant: str
    dialogue: str
    number: int
    turn: Turn
    wrong: dict[str, dict[str, str]]
    differs: bool
    """Some runs have it right and others wrong.

    Of a stressed variant only turns that the stressor changed differ: the others are those of the original.
    """


def judge_turns(
    runs: Mapping[str, RunFolder], variants: Sequence[str], errors: Iterable[Mapping[str, TurnErrors]] | None = None
) -> Iterator[JudgedTurn]:
    """Every turn of some variants; `errors` are what each run's answers have wrong, where that is known already."""
    known = dict(zip(runs, errors or map(find_errors, runs.values()), strict=True))
    first = next(iter(runs.values()))
    for variant in variants:
        for dialogue in first.variant(variant).dialogues():
            for number, turn in enumerate(dialogue.turns):
                judged = {name: own[variant].wrong(dialogue.id, number) for name, own in known.items()}
                wrong = {name: {error.slot: error.value for error in own} for name, own in judged.items() if own}
                differs = 0 < len(wrong) < len(runs) and (variant == ORIGINAL or turn.changed)
                yield JudgedTurn(variant, dialogue.id, number, turn, wrong, differs)


class ForgottenTurn(msgspec.Struct, frozen=True):
    """A turn that was right once. `wrong` has what the last run says of each slot that it has wrong; empty: nothing."""

    variant: str
    dialogue: str
    turn: int
    system: str
    user: str
    right_at: tuple[str, ...]
    """The earlier runs that have it right, by their folders."""
    gold: dict[str, str]
    wrong: dict[str, str]


def find_forgotten(runs: Sequence[RunFolder]) -> list[ForgottenTurn]:
    """The turns that the last of these runs has wrong and an earlier one right: first those that most had right.

    Of a stressed variant only turns that the stressor changed, since the others are those of the original.
    """
    by_name = {run.path.name: run for run in runs}
    *earlier, last = by_name
    forgotten = []
    for variant, dialogue, number, turn, wrong, differs in judge_turns(by_name, runs[-1].variants):
        right_at = tuple(name for name in earlier if name not in wrong)
        if differs and last in wrong and right_at:
            words, gold = (turn.system, turn.user), first_forms(turn.state)
            forgotten.append(ForgottenTurn(variant, dialogue, number, *words, right_at, gold, wrong[last]))
    return sorted(forgotten, key=lambda turn: -len(turn.right_at))


class Differences(NamedTuple):
    """How many turns the first of a pair has right and the second wrong, by variant; and the turns."""

    counts: dict[tuple[str, str], dict[str, int]]
    packet: str
    turns: int
    left_out: int

    def total(self, right: str, wrong: str) -> int:
        """Over all variants: turns of the original, and those that a stressor changed."""
        return sum(self.counts[right, wrong].values())


def gather_differences(
    runs: Mapping[str, RunFolder], variants: Sequence[str], errors: Iterable[Mapping[str, TurnErrors]] | None = None
) -> Differences:
    """Every turn on which two of the runs differ, and the dialogues of these turns."""
    names, slots = list(runs), dict[str, int]()
    counts = {pair: dict.fromkeys(variants, 0) for pair in permutations(names, 2)}

    def flat(values: Mapping[str, str | None]) -> list[Any]:
        return [part for slot, value in values.items() for part in (slots.setdefault(slot, len(slots)), value)]

    packed: dict[str, list[list[Any]]] = {}  # a dialogue's variants stand side by side, which packs best
    differing: Counter[str] = Counter()
    for (variant, dialogue), turns in groupby(judge_turns(runs, variants, errors), itemgetter(0, 1)):
        content, before, any_differs = [], dict[str, str](), False
        for _, _, _, turn, wrong, differs in turns:
            after = first_forms(turn.state)
            gold: dict[str, str | None] = {slot: value for slot, value in after.items() if before.get(slot) != value}
            gold |= dict.fromkeys(slot for slot in before if slot not in after)
            said = [part for name, answer in wrong.items() for part in (names.index(name), flat(answer))]
            content.append([turn.system, turn.user, flat(gold), said, int(differs)])
            before, any_differs = after, any_differs or differs
            differing[dialogue] += differs
            for right, other in product(names, wrong if differs else ()):
                if right not in wrong:
                    counts[right, other][variant] += 1
        if any_differs:
            packed.setdefault(dialogue, []).append([variants.index(variant), content])
    kept, room = list[str](), _MOST_TURNS
    for name in sorted(packed, key=lambda name: blake2b(name.encode(), digest_size=8).digest()):  # evenly drawn
        if (room := room - sum(len(turns) for _, turns in packed[name])) < 0 and kept:
            break
        kept.append(name)
    dialogues = [[name, own] for name, own in packed.items() if name in {*kept}]
    head = {"systems": names, "variants": list(variants), "original": ORIGINAL, "slots": list(slots)}
    shown = sum(differing[name] for name in kept)
    return Differences(counts, pack(head | {"dialogues": dialogues}), shown, differing.total() - shown)
