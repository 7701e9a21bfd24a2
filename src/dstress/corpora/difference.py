"""Where two copies of a corpus disagree: dialogues, turns, and labels by slot. MultiWOZ has many copies."""

from __future__ import annotations

from collections import Counter

import msgspec

from dstress.corpora.base import Corpus


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


def compare_corpora(first: Corpus, second: Corpus) -> Difference:
    """Compare the states of two corpora, turn by turn; ids match whatever their case."""
    mine = {dialogue.id.casefold(): dialogue for dialogue in first}
    labels: Counter[tuple[str, str | None, str | None]] = Counter()  # a slot, and what it is in each corpus
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
        for index, (our_turn, their_turn) in enumerate(zip(ours.turns, theirs.turns, strict=True)):
            differing += our_turn.state != their_turn.state
            for slot in our_turn.state | their_turn.state:
                forms = our_turn.state.get(slot), their_turn.state.get(slot)
                if forms[0] != forms[1]:
                    before, after = (None if values is None else "|".join(values) for values in forms)
                    labels[slot, before, after] += 1
                    examples.setdefault((slot, before, after), f"{ours.id} turn {index}")
    only_first = [dialogue.id for key, dialogue in mine.items() if key not in shared]
    rows = [LabelDifference(*label, count, examples[label]) for label, count in labels.most_common()]
    return Difference(len(shared), turns, differing, only_first, only_second, other_length, rows)
