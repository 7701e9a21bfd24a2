"""Edits: how one text became another, word by word.

Stressors only say the new text. What changed is read off here, the same way for all of them, so that every edit is
recorded and the original can be restored from the edits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rapidfuzz.distance import LCSseq, Levenshtein

from dstress.dialogue import Edit
from dstress.text.ngrams import words_in
from dstress.text.writing_style import WritingStyle, write

_TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
"""Words and marks with the blanks before them: half as many as with the blanks apart."""
_LONGEST = 4_000
"""Beyond so many tokens two texts are compared only at their ends: an alignment costs the product of both lengths."""

_PLAIN = WritingStyle(cased=False, spaced=False, apostrophes=False)


def edits_between(before: str, after: str) -> tuple[Edit, ...]:
    """The changes that make `after` of `before`, in order, none touching the next."""
    if before == after:
        return ()
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if len(old) > _LONGEST or len(new) > _LONGEST:
        return (_one_edit(old, new),)
    return tuple(_joined(_differences(old, new)))


def differing_words(before: str, after: str) -> tuple[int, int]:
    """How many words of two texts differ, and out of how many: those of the longer one.

    Words are the same that the longest common row of words holds. Case, marks and contractions make no difference.
    """
    old, new = (words_in(write(text, _PLAIN))[:_LONGEST] for text in (before, after))
    longer = max(len(old), len(new))
    return longer - int(LCSseq.similarity(old, new)), longer


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The edited text."""
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += text[done : edit.start], edit.after
        done = edit.start + len(edit.before)
    return "".join(parts) + text[done:]


def undo(text: str, edits: Iterable[Edit]) -> str:
    """The original of an edited text."""
    moved, back = 0, []
    for edit in edits:
        back.append(Edit(edit.start + moved, edit.after, edit.before))
        moved += len(edit.after) - len(edit.before)
    return apply(text, back)


def move(start: int, end: int, edits: Iterable[Edit]) -> tuple[int, int]:
    """Where a stretch of the original stands in the edited text, widened to the whole of each edit that touches it."""
    low, high, grown_before, grown_inside = start, end, 0, 0
    for edit in edits:
        stop, grown = edit.start + len(edit.before), len(edit.after) - len(edit.before)
        if stop <= start:
            grown_before += grown
        elif edit.start >= end:
            break
        else:
            low, high, grown_inside = min(low, edit.start), max(high, stop), grown_inside + grown
    return low + grown_before, high + grown_before + grown_inside


def _one_edit(old: list[str], new: list[str]) -> Edit:
    """All that lies between the common beginning and the common end."""
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    start = sum(map(len, old[:head]))
    return Edit(start, "".join(old[head : len(old) - tail]), "".join(new[head : len(new) - tail]))


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return number
    return min(len(old), len(new))


def _differences(old: list[str], new: list[str]) -> Iterator[tuple[int, str, str]]:
    at = done = 0
    for block in Levenshtein.opcodes(old, new):
        if block.tag != "equal":
            at += sum(map(len, old[done : block.src_start]))
            done = block.src_start
            yield at, "".join(old[done : block.src_end]), "".join(new[block.dest_start : block.dest_end])


def _joined(steps: Iterator[tuple[int, str, str]]) -> Iterator[Edit]:
    """Neighbours become one edit: an insertion before a replacement is one change to a reader."""
    start, before, after = -1, "", ""
    for at, was, now in steps:
        if start >= 0 and start + len(before) == at:
            before, after = before + was, after + now
            continue
        if start >= 0:
            yield _trimmed(start, before, after)
        start, before, after = at, was, now
    if start >= 0:
        yield _trimmed(start, before, after)


def _trimmed(start: int, before: str, after: str) -> Edit:
    """Without the blank that both begin with."""
    shared = 0
    while shared < len(before) and shared < len(after) and before[shared] == after[shared] and before[shared].isspace():
        shared += 1
    return Edit(start + shared, before[shared:], after[shared:])
