"""The value finder on MultiWOZ 2.1 test: recall, precision and failures beside the annotated spans, and its speed.

The spans are not used for finding. An annotated span counts when the same frame has an act with a value for its slot;
`find_value` is asked for that value in the whole utterance. Recall: spans that overlap a place it gives. Precision:
places that overlap a span of the slot. "Exact" asks for the same characters.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from benchmarks.timing import best_of, report, shared
from dstress import corpora
from dstress.dialogue import Dialogue, State, Turn, slot_id
from dstress.text.mentions import find_mentions, find_value, protected_spans

LIMIT = 20.0
_WORD = re.compile(r"\w+")
_REFERENCE = re.compile(r"\bsame\b", re.IGNORECASE)


class Case(NamedTuple):
    """One slot of one utterance: the values its acts give, where annotators saw them, where `find_value` does."""

    text: str
    slot: str
    values: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    found: tuple[tuple[int, int], ...]

    def missed(self) -> list[tuple[int, int]]:
        return [span for span in self.spans if not _touching(span, self.found)]

    def astray(self) -> list[tuple[int, int]]:
        return [place for place in self.found if not _touching(place, self.spans)]


class Figures(NamedTuple):
    """Counts over all cases."""

    spans: int
    found: int
    recalled: int
    precise: int
    same: int

    @property
    def recall(self) -> float:
        return self.recalled / self.spans

    @property
    def precision(self) -> float:
        return self.precise / self.found

    def __str__(self) -> str:
        return (
            f"recall {self.recall:.2%} of {self.spans} spans, precision {self.precision:.2%} of {self.found} places; "
            f"exact boundaries: {self.same / self.spans:.2%} and {self.same / self.found:.2%}"
        )


def cases(dialogues: Iterable[Dialogue]) -> Iterator[Case]:
    """Every slot that has both spans and act values in an utterance."""
    for dialogue in dialogues:
        for turn in dialogue.turns:
            yield from _of(turn)


def _of(turn: Turn) -> Iterator[Case]:
    for frame in turn.frames:
        spans: dict[str, list[tuple[int, int]]] = {}
        for span in frame.spans:
            spans.setdefault(span.slot, []).append((span.start, span.end))
        for slot, places in spans.items():
            values = tuple(dict.fromkeys(value for act in frame.acts if act.slot == slot for value in act.values))
            if values:
                slot = slot_id(frame.service, slot)
                found = tuple((mention.start, mention.end) for mention in find_value(turn.user, slot, values))
                yield Case(turn.user, slot, values, tuple(dict.fromkeys(places)), found)


def figures(measured: Iterable[Case]) -> Figures:
    totals = Counter[str]()
    for case in measured:
        totals["spans"] += len(case.spans)
        totals["found"] += len(case.found)
        totals["recalled"] += len(case.spans) - len(case.missed())
        totals["precise"] += len(case.found) - len(case.astray())
        totals["same"] += len(set(case.spans) & set(case.found))
    return Figures(*(totals[field] for field in Figures._fields))


def _touching(place: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    return any(start < place[1] and place[0] < end for start, end in others)


def failures(measured: Iterable[Case]) -> Counter[str]:
    """Missed spans and stray places by kind."""
    kinds = Counter[str]()
    for case in measured:
        kinds.update(_kind_of_missed(case, case.text[start:end]) for start, end in case.missed())
        again = len(case.missed()) < len(case.spans)
        stray = (
            "found: said again, where annotators marked it once" if again else "found: not where annotators marked it"
        )
        kinds.update({stray: len(case.astray())} if case.astray() else {})
    return kinds


def _kind_of_missed(case: Case, marked: str) -> str:
    if _REFERENCE.search(marked):
        return "missed: refers to a value, does not say it"
    if find_value(marked, case.slot, case.values):
        return "missed: marked at words that belong to another slot"
    return "missed: marked at words that say something else"


def find_all(dialogues: Iterable[Dialogue]) -> int:
    """`find_mentions` and `protected_spans` of every turn; how many turns there are."""
    turns = 0
    for dialogue in dialogues:
        before: State = {}
        for turn in dialogue.turns:
            find_mentions(turn, before)
            protected_spans(turn, before)
            before = turn.state
            turns += 1
    return turns


def _tokenise(dialogues: Iterable[Dialogue]) -> None:
    for dialogue in dialogues:
        for turn in dialogue.turns:
            _WORD.findall(turn.user.lower())


def run() -> None:
    source = shared("data/multiwoz21-raw")
    if source is None:
        return
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["DSTRESS_HOME"] = scratch
        corpora.add("multiwoz21", source)
        test = list(corpora.load("multiwoz21:test"))
    measured = list(cases(test))
    print(f"finding values in MultiWOZ 2.1 test: {figures(measured)}")
    by_slot: dict[str, list[Case]] = {}
    for case in measured:
        by_slot.setdefault(case.slot, []).append(case)
    for slot in sorted(by_slot):
        print(f"  {slot:<24} {figures(by_slot[slot])}")
    for kind, count in failures(measured).most_common():
        print(f"  {count:>4} {kind}")
    if "DSTRESS_SHOW" in os.environ:
        _failures(measured)
    turns = find_all(test)
    seconds, reference = best_of(5, lambda: find_all(test)), best_of(5, lambda: _tokenise(test))
    report("mentions and protected, MultiWOZ 2.1 test", seconds, "splitting into words", reference, at_most=LIMIT)
    print(f"{'':<56} {seconds / turns * 1e6:6.1f} us a turn")


def _failures(measured: Iterable[Case]) -> None:
    for case in measured:
        for start, end in case.missed():
            print(f"MISSED\t{case.slot}\t{case.values}\t{case.text[start:end]!r}\t{case.text}")
        for start, end in case.astray():
            print(f"ASTRAY\t{case.slot}\t{case.values}\t{case.text[start:end]!r}\t{case.text}")
