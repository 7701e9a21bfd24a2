"""Where two copies of a corpus disagree: dialogues, turns, and labels by slot. MultiWOZ has many copies."""

from __future__ import annotations

from collections import Counter

import msgspec

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue


class LabelDifference(msgspec.Struct, frozen=True):
    """`slot` has `first` in one corpus and `second` in the other, in `turns` turns; None is no label."""

    slot: str
    first: str | None
    second: str | None
    turns: int
    example: str


class Difference(msgspec.Struct, frozen=True):
    """What two corpora share and where they part."""

    dialogues: int
    turns: int
    turns_that_differ: int
    only_first: list[str]
    only_second: list[str]
    other_length: list[str]
    labels: list[LabelDifference]


def difference(first: Corpus, second: Corpus) -> Difference:
    """Compare the states of two corpora, turn by turn; ids match whatever their case."""
    mine = {dialogue.id.casefold(): dialogue for dialogue in first}
    labels: Counter[tuple[str, str | None, str | None]] = Counter()
    examples: dict[tuple[str, str | None, str | None], str] = {}
    shared, only_second, other_length = set(), [], []
    turns = differing = 0
    for theirs in second:
        ours = mine.get(theirs.id.casefold())
        if ours is None:
            only_second.append(theirs.id)
            continue
        shared.add(theirs.id.casefold())
        if len(ours.turns) != len(theirs.turns):
            other_length.append(theirs.id)
            continue
        turns += len(ours.turns)
        for index, found in enumerate(_turns(ours, theirs)):
            differing += bool(found)
            labels.update(found)
            for key in found:
                examples.setdefault(key, f"{ours.id} turn {index}")
    only_first = [dialogue.id for key, dialogue in mine.items() if key not in shared]
    rows = [LabelDifference(*key, count, examples[key]) for key, count in labels.most_common()]
    return Difference(len(shared), turns, differing, only_first, only_second, other_length, rows)


def _turns(ours: Dialogue, theirs: Dialogue) -> list[list[tuple[str, str | None, str | None]]]:
    found = []
    for a, b in zip(ours.turns, theirs.turns, strict=True):
        slots = [slot for slot in a.state | b.state if a.state.get(slot) != b.state.get(slot)]
        found.append([(slot, _text(a.state.get(slot)), _text(b.state.get(slot))) for slot in slots])
    return found


def _text(forms: tuple[str, ...] | None) -> str | None:
    return "|".join(forms) if forms is not None else None
