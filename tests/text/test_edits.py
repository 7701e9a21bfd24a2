from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.dialogue import Edit
from dstress.text.edits import apply, differing_words, edits_between, move
from tests.stressors.samples import undo

words = st.lists(st.sampled_from(["i", "want", "a", "cheap", "hotel", ",", "no", "مطعم", "🙂", "don't", " ", "  "]))
texts = st.one_of(words.map(" ".join), st.text(max_size=60))


@given(texts, texts)
def test_edits_lead_there_and_back(before: str, after: str) -> None:
    edits = edits_between(before, after)
    assert apply(before, edits) == after
    assert undo(after, edits) == before


@given(texts, texts)
def test_edits_are_in_order_and_apart(before: str, after: str) -> None:
    edits = edits_between(before, after)
    for one, other in itertools.pairwise(edits):
        assert one.start + len(one.before) < other.start
    assert all(edit.before != edit.after for edit in edits)


def test_an_edit_is_whole_words() -> None:
    assert edits_between("a cheap hotel", "a chaep hotel , please") == (
        Edit(2, "cheap", "chaep"),
        Edit(13, "", " , please"),
    )


def test_very_long_texts_become_one_edit() -> None:
    before = "word " * 5_000
    after = "start " + before.replace("word word", "word or word", 1) + "end"
    (edit,) = edits_between(before, after)
    assert apply(before, [edit]) == after


def test_a_stretch_moves_with_its_words() -> None:
    before, after = "to Pizza Hut by 5 pm", "to um the Pizza Hut , by 6 pm"
    edits = edits_between(before, after)
    start, end = move(3, 12, edits)
    assert after[start:end] == "Pizza Hut"
    start, end = move(16, 20, edits)
    assert after[start:end] == "6 pm"


@given(texts, texts, texts)
def test_a_stretch_that_no_edit_touches_keeps_its_words(head: str, kept: str, tail: str) -> None:
    before = f"{head}|{kept}|{tail}"
    edits = (Edit(0, head, "new start"), Edit(len(head) + len(kept) + 2, tail, ""))
    start, end = move(len(head) + 1, len(head) + 1 + len(kept), edits)
    assert apply(before, edits)[start:end] == kept


@pytest.mark.parametrize(
    ("before", "after", "differing"),
    [
        ("I need a taxi.", "i need a taxi !", (0, 4)),
        ("I'm here", "I am here", (0, 3)),
        ("a train to Ely", "to Ely by train", (2, 4)),
        ("", "yes", (1, 1)),
        ("", "", (0, 0)),
    ],
)
def test_words_differ_outside_the_longest_common_row(before: str, after: str, differing: tuple[int, int]) -> None:
    assert differing_words(before, after) == differing
