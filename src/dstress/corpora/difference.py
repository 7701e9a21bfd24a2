"""Where two copies of a corpus disagree: dialogues, turns, and labels by slot. MultiWOZ has many copies."""

from __future__ import annotations

from collections import Counter

import msgspec

from dstress.corpora.base import Corpus
from dstress.dialogue import State


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


_Label = tuple[str, str | None, str | None]
"""A slot, and what it is in the first and in the second corpus."""


def compare_corpora(first: Corpus, second: Corpus) -> Difference:
    """Compare the states of two corpora, turn by turn; ids match whatever their case."""
    mine = {dialogue.id.casefold(): dialogue for dialogue in first}
    labels: Counter[_Label] = Counter()
    examples: dict[_Label, str] = {}
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
        for index, (our_turn, their_turn) in enumerate(zip(ours.turns, theirs.turns, strict=True)):
            different = _compare_states(our_turn.state, their_turn.state)
            differing += bool(different)
            labels.update(different)
            for label in different:
                examples.setdefault(label, f"{ours.id} turn {index}")
    only_first = [dialogue.id for key, dialogue in mine.items() if key not in shared]
    rows = [LabelDifference(*label, count, examples[label]) for label, count in labels.most_common()]
    return Difference(len(shared), turns, differing, only_first, only_second, other_length, rows)


def _compare_states(first: State, second: State) -> list[_Label]:
    slots = [slot for slot in first | second if first.get(slot) != second.get(slot)]
    return [(slot, _text(first.get(slot)), _text(second.get(slot))) for slot in slots]


def _text(forms: tuple[str, ...] | None) -> str | None:
    return "|".join(forms) if forms is not None else None
