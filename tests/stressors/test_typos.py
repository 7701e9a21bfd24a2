"""Typing errors: one slip a word, in the given share of words, never in values unless asked."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import DamerauLevenshtein

from dstress.dialogue import Dialogue, Turn
from dstress.errors import SpecError
from dstress.stressors import stressors
from dstress.stressors.typos import Kind, Typos, misspell
from tests.stressors.noise import ODD, check_page, keeps_protected, protected_texts, stressed

SENTENCE = "I am looking for a moderately priced restaurant somewhere around here tomorrow evening"


@pytest.mark.parametrize(
    ("kind", "outcomes"),
    [
        ("swap", {"tarin", "trian", "trani", "rtain"}),
        ("drop", {"tain", "trin", "tran", "trai", "rain"}),
        ("double", {"ttrain", "trrain", "traain", "traiin", "trainn"}),
    ],
)
def test_each_kind_slips_in_its_own_way(kind: Kind, outcomes: set[str]) -> None:
    assert {misspell("train", [kind], Random(seed)) for seed in range(300)} == outcomes


def test_a_neighbour_is_a_key_beside() -> None:
    found = {misspell("train", ["neighbour"], Random(seed)) for seed in range(400)}
    assert {"ttain", "trsin", "trauN".lower()} & found
    assert all(len(word) == 5 and sum(a != b for a, b in zip("train", word, strict=True)) == 1 for word in found)
    assert "trpin" not in found


def test_the_first_letter_is_mostly_right() -> None:
    first = Counter(misspell("restaurant", ["neighbour"], Random(seed))[0] == "r" for seed in range(4000))
    assert 0.03 < first[False] / 4000 < 0.07


@pytest.mark.parametrize(("word", "pattern"), [("Hello", "Ullll"), ("HELLO", "UUUUU"), ("hello", "lllll")])
def test_case_goes_with_the_place(word: str, pattern: str) -> None:
    for seed in range(200):
        slipped = misspell(word, ["swap", "neighbour"], Random(seed))
        assert "".join("U" if letter.isupper() else "l" for letter in slipped) == pattern


def test_the_rate_is_the_share_of_words() -> None:
    words = SENTENCE.split()
    for rate in (0.05, 0.1, 0.3):
        typos, hit = Typos(rate=rate), 0
        for seed in range(1000):
            after = typos.rewrite(SENTENCE, [], Random(seed)).split()
            hit += sum(a != b for a, b in zip(words, after, strict=True))
        assert hit / 1000 / len(words) == pytest.approx(rate, rel=0.1)


def test_every_word_is_one_slip_away() -> None:
    after = Typos(rate=1).rewrite(SENTENCE, [], Random(3))
    for before, slipped in zip(SENTENCE.split(), after.split(), strict=True):
        assert DamerauLevenshtein.distance(before, slipped) == (len(before) > 2)


def test_negations_and_short_words_stay() -> None:
    text = "no , not to me , I do n't , without 18:15 or dont"
    assert Typos(rate=1).rewrite(text, [], Random(1)) == text


def test_values_are_hit_only_if_asked() -> None:
    turn = Turn("leicester", "Where to?", {"train-destination": ("leicester",)})
    dialogues = [Dialogue("d", (turn,))]
    assert all(stressed("typos(rate=1)", dialogues, seed)[0].turns[0].user == "leicester" for seed in range(20))
    [after] = stressed("typos(rate=1,values=true)", dialogues)
    assert after.turns[0].user != "leicester"
    assert after.turns[0].state == turn.state
    assert (Typos().guarded, Typos(values=True).guarded) == (True, False)


@given(protected_texts(), st.integers(0, 9), st.sampled_from([0.1, 1.0]))
def test_protected_words_stay(case: tuple[str, list[tuple[int, int]]], seed: int, rate: float) -> None:
    keeps_protected(Typos(rate=rate).rewrite, *case, seed)


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_keep_what_is_no_word(text: str) -> None:
    after = Typos(rate=1).rewrite(text, [], Random(0))
    assert [c for c in after if not c.isalpha()] == [c for c in text if not c.isalpha()]


def test_a_very_long_utterance() -> None:
    after = Typos().rewrite("train " * 10_000, [(6 * n, 6 * n + 5) for n in range(0, 10_000, 2)], Random(0)).split()
    assert 800 < sum(word != "train" for word in after) < 1200
    assert set(after[::2]) == {"train"}


@pytest.mark.parametrize("spec", ["typos(rate=0)", "typos(rate=1.5)", "typos(kinds=[])", "typos(kinds=[slip])"])
def test_bad_arguments(spec: str) -> None:
    with pytest.raises(SpecError):
        stressors.create(spec)


def test_the_page_shows_what_comes_out() -> None:
    check_page("typos")
