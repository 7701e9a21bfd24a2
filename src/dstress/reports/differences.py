"""Where runs differ: turns that some have right and others wrong, with what the wrong ones say.

Of the checkpoints of a training that is what it unlearns. Of several runs in one page the turns are packed into it:

    {"systems": [name], "variants": [name], "slots": [id], "turns": [turn]}

    turn = [variant, dialogue, turn, system words, user words, gold, wrong]

Gold is flat (slot, value, ...), wrong too, with a list a system: system, [slot, value, ...] ...; numbers point into the
lists of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import permutations, product
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import first_forms
from dstress.reports.packets import pack
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.runs.scores import find_errors

_MOST_TURNS = 20_000
"""A page holds so many at most, drawn evenly: the counts are of all."""


class Disagreement(msgspec.Struct, frozen=True):
    """A turn on which runs disagree. `wrong` has, of each run that is wrong, what it says of the slots that it has
    wrong; empty: nothing."""

    variant: str
    dialogue: str
    turn: int
    system: str
    user: str
    gold: dict[str, str]
    wrong: dict[str, dict[str, str]]


def find_disagreements(runs: Mapping[str, RunFolder], variants: Sequence[str]) -> Iterator[Disagreement]:
    """The turns that one of the runs has right and another wrong, by variant.

    Of a stressed variant only turns that the stressor changed, since the others are those of the original.
    """
    errors = {name: find_errors(run) for name, run in runs.items()}
    first = next(iter(runs.values()))
    for variant in variants:
        for dialogue in first.variant(variant).dialogues():
            for number, turn in enumerate(dialogue.turns):
                if variant != ORIGINAL and not turn.changed:
                    continue
                judged = {name: own[variant].wrong(dialogue.id, number) for name, own in errors.items()}
                wrong = {name: {error.slot: error.value for error in own} for name, own in judged.items() if own}
                if 0 < len(wrong) < len(runs):
                    words = turn.system, turn.user
                    yield Disagreement(variant, dialogue.id, number, *words, first_forms(turn.state), wrong)


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
    for turn in find_disagreements(by_name, runs[-1].variants):
        right_at = tuple(name for name in earlier if name not in turn.wrong)
        if last in turn.wrong and right_at:
            words = turn.variant, turn.dialogue, turn.turn, turn.system, turn.user
            forgotten.append(ForgottenTurn(*words, right_at, turn.gold, turn.wrong[last]))
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


def gather_differences(runs: Mapping[str, RunFolder], variants: Sequence[str]) -> Differences:
    """Every turn on which two of the runs differ."""
    names = list(runs)
    counts = {pair: dict.fromkeys(variants, 0) for pair in permutations(names, 2)}
    differing = list(find_disagreements(runs, variants))
    for turn in differing:
        for right, wrong in product(names, turn.wrong):
            if right not in turn.wrong:
                counts[right, wrong][turn.variant] += 1
    kept = differing
    if len(differing) > _MOST_TURNS:  # evenly strewn, and the same at every call
        places = {f"{turn.variant}/{turn.dialogue}/{turn.turn}": turn for turn in differing}
        strewn = sorted(places, key=lambda place: blake2b(place.encode(), digest_size=8).digest())
        kept = [places[place] for place in strewn[:_MOST_TURNS]]
    return Differences(counts, pack(_content(names, variants, kept)), len(kept), len(differing) - len(kept))


def _content(names: list[str], variants: Sequence[str], disagreements: Iterable[Disagreement]) -> dict[str, Any]:
    slots: dict[str, int] = {}

    def flat(values: Mapping[str, str]) -> list[Any]:
        return [part for slot, value in values.items() for part in (slots.setdefault(slot, len(slots)), value)]

    turns = []
    for turn in disagreements:
        shown = {slot for answer in turn.wrong.values() for slot in answer}
        gold = {slot: value for slot, value in turn.gold.items() if slot in shown}
        wrong = [part for name, answer in turn.wrong.items() for part in (names.index(name), flat(answer))]
        place = (variants.index(turn.variant), turn.dialogue, turn.turn + 1)
        turns.append([*place, turn.system, turn.user, flat(gold), wrong])
    return {"systems": names, "variants": list(variants), "original": ORIGINAL, "slots": list(slots), "turns": turns}
