"""Near spellings: "gonvile and caius" still names Gonville and Caius.

A name of n letters may be off by one letter from 6 letters on, by two from 12, by three from 18; its first letter must
be right, so that "inexpensive" is never a misspelled "expensive". Among k + 1 pieces of a name with k errors one is
untouched (two for swapped neighbours, hence one piece more): most texts hold no piece and cost next to nothing.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from rapidfuzz.distance import OSA

from dstress.text.letters import LetteredText, Place

_SHORTEST = 6
_SHORTEST_PIECE = 3


def errors_allowed(letters: str) -> int:
    """How many letters of a name may be wrong."""
    size = len(letters)
    return 0 if size < _SHORTEST else 1 if size < 12 else 2 if size < 18 else 3


@lru_cache(maxsize=16_384)
def pieces(letters: str) -> tuple[tuple[int, str], ...]:
    """Parts of a name with their offsets, one of which every near spelling has; none if no letter may be wrong."""
    allowed = errors_allowed(letters)
    if not allowed:
        return ()
    count = min(allowed + 2, len(letters) // _SHORTEST_PIECE)
    cuts = [len(letters) * number // count for number in range(count + 1)]
    return tuple((start, letters[start:end]) for start, end in pairwise(cuts))


def find_near(text: LetteredText, letters: str) -> list[Place]:
    """Where a text has words that nearly spell `letters`."""
    allowed = errors_allowed(letters)
    places: list[Place] = []
    tried: set[int] = set()
    for offset, piece in pieces(letters):
        at = text.letters.find(piece)
        while at >= 0:
            for start in range(max(0, at - offset - allowed), at - offset + allowed + 1):
                if start not in tried and text.letters.startswith(letters[0], start):
                    tried.add(start)
                    end = _nearest_end(text, letters, start, allowed) if text.is_edge(start) else 0
                    if end:
                        places.append((text.positions[start], text.positions[end - 1] + 1))
            at = text.letters.find(piece, at + 1)
    return places


def _nearest_end(text: LetteredText, letters: str, start: int, allowed: int) -> int:
    """Where the words end that start here and are nearest to `letters`; 0 if none are near."""
    low, high = start + len(letters) - allowed, start + len(letters) + allowed
    runs = [
        (_errors(letters, text.letters[start:end], allowed), end) for end in range(low, high + 1) if text.is_edge(end)
    ]
    errors, end = min(runs, default=(allowed + 1, 0))
    return end if errors <= allowed else 0


@lru_cache(maxsize=4096)  # the same few words come near the same names again and again
def _errors(letters: str, run: str, allowed: int) -> int:
    """How many letters of a run of words are wrong; `allowed` + 1 if more."""
    # Nobody misspells a digit: restaurant 17 is not restaurant 12.
    if list(filter(str.isdigit, letters)) != list(filter(str.isdigit, run)):
        return allowed + 1
    return OSA.distance(letters, run, score_cutoff=allowed)


def is_within(one: str, other: str, errors: int) -> bool:
    """Whether so many letters inserted, dropped, changed or swapped with their neighbours make one word the other."""
    return OSA.distance(one, other, score_cutoff=errors) <= errors
