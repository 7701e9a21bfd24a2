"""Near spellings, against the textbook distance."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from dstress.text.letters import letter_text
from dstress.text.near_spelling import errors_allowed, find_near, is_within, pieces

WORDS = st.text("abc", max_size=7)


def distance(one: str, other: str) -> int:
    """Insertions, deletions, changes and swaps of neighbours, each letter touched once."""
    rows = {(i, 0): i for i in range(len(one) + 1)} | {(0, j): j for j in range(len(other) + 1)}
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            rows[i, j] = min(rows[i - 1, j] + 1, rows[i, j - 1] + 1, rows[i - 1, j - 1] + (one[i - 1] != other[j - 1]))
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                rows[i, j] = min(rows[i, j], rows[i - 2, j - 2] + 1)
    return rows[len(one), len(other)]


@given(WORDS, WORDS, st.integers(0, 3))
def test_within_is_the_distance(one: str, other: str, errors: int) -> None:
    assert is_within(one, other, errors) == (distance(one, other) <= errors)


@given(st.text(string.ascii_lowercase, min_size=9, max_size=25), st.data())
def test_a_dropped_letter_is_found(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(name) - 1))
    text = f"to {name[:at]}{name[at + 1 :]} please"
    assert find_near(letter_text(text), name), (text, pieces(name))


def test_short_names_and_first_letters_must_be_right() -> None:
    assert errors_allowed("ely") == errors_allowed("north") == 0
    assert find_near(letter_text("inexpensive"), "expensive") == []
    assert find_near(letter_text("restaurant 12 please"), "restaurant17") == []
