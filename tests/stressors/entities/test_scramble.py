from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.stressors.entities.stressor import in_shape, scramble

words = st.text(st.characters(categories=["Ll"]), min_size=2, max_size=14)


def free(word: str) -> bool:
    return False


@given(words, st.integers())
def test_a_scrambled_word_has_the_same_letters(word: str, seed: int) -> None:
    new = scramble(word, Random(seed), free)
    assert Counter(new) == Counter(word)
    assert new != word or len(set(word.removesuffix("s"))) < 3  # "aab" may come out the same every time
    assert new.endswith("s") == word.endswith("s") or not word.endswith("s")


def test_a_taken_word_is_not_made() -> None:
    made = {scramble("ely", Random(seed), free) for seed in range(50)}
    left = {scramble("ely", Random(seed), lambda word: word == "yle") for seed in range(50)}
    assert "yle" in made and "yle" not in left


def test_scrambled_words_can_mostly_be_said() -> None:
    """Vowels stay where vowels are, so a name never becomes a row of consonants."""
    for seed in range(20):
        assert [letter in "aeiou" for letter in scramble("cambridge", Random(seed), free)] == [
            letter in "aeiou" for letter in "cambridge"
        ]


@pytest.mark.parametrize(
    ("letters", "shown", "made"),
    [
        ("soras", "Rosa 's", "Sora 's"),
        ("soras", "ROSAS", "SORAS"),
        ("soras", "rosa’s", "sora’s"),
        ("lenahc", "McHale", "LeNahc"),
    ],
)
def test_capitals_and_marks_stay_in_place(letters: str, shown: str, made: str) -> None:
    assert in_shape(letters, shown) == made
