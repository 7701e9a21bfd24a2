"""Edits: how one text became another, word by word.

Stressors only say the new text. What changed is read off here, the same way for all of them, so that every edit is
recorded and the original can be restored from the edits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from rapidfuzz.distance import LCSseq, Levenshtein, Postfix, Prefix

from dstress.dialogue import Edit
from dstress.text.tokens import words_in
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
        # All that lies between the common beginning and the common end.
        head = Prefix.similarity(old, new)
        tail = Postfix.similarity(old[head:], new[head:])
        changes = [(head, len(old) - tail, head, len(new) - tail)]
    else:
        # Neighbours are one change: to a reader an insertion before a replacement is.
        blocks = groupby(Levenshtein.opcodes(old, new), key=lambda block: block.tag == "equal")
        groups = (list(group) for is_equal, group in blocks if not is_equal)
        changes = [(g[0].src_start, g[-1].src_end, g[0].dest_start, g[-1].dest_end) for g in groups]
    edits = []
    at = done = 0
    for first, last, new_first, new_last in changes:
        at += sum(map(len, old[done:first]))
        done = first
        was, now = "".join(old[first:last]), "".join(new[new_first:new_last])
        shared = was[: Prefix.similarity(was, now)]
        blanks = len(shared) - len(shared.lstrip())  # that both begin with
        edits.append(Edit(at + blanks, was[blanks:], now[blanks:]))
    return tuple(edits)


def differing_words(before: str, after: str) -> tuple[int, int]:
    """How many words of two texts differ, and out of how many: those of the longer one.

    Words are the same that the longest common row of words holds. Case, marks and contractions make no difference.
    """
    old, new = (words_in(write(text, _PLAIN))[:_LONGEST] for text in (before, after))
    longer = max(len(old), len(new))
    return longer - int(LCSseq.similarity(old, new)), longer


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The edited text."""
    return replace_places(text, ((edit.start, edit.start + len(edit.before), edit.after) for edit in edits))


def replace_places(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """The text with other words from one character to another (exclusive), for changes in order that lie apart."""
    parts: list[str] = []
    done = 0
    for start, end, new in changes:
        parts += text[done:start], new
        done = end
    return "".join(parts) + text[done:]


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
