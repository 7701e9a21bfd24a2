"""Texts as words."""

from __future__ import annotations

from dstress.learning.vocabulary import SPECIAL, Vocabulary, find_words, split_words


def test_words_are_split_and_found_again() -> None:
    text = "Not Saint John's, the 5:30pm at Café Jello (no. 2)."
    assert split_words(text) == [
        "not",
        "saint",
        "john",
        "'s",
        ",",
        "the",
        "5:30",
        "pm",
        "at",
        "café",
        "jello",
        "(",
        "no",
        ".",
        "2",
        ")",
        ".",
    ]
    assert find_words(text, ["saint", "john", "'s"]) == "Saint John's"
    assert find_words(text, ["café", "jello"]) == "Café Jello"
    assert find_words(text, ["jello", "café"]) == ""


def test_a_vocabulary_has_the_special_words_then_the_first_then_the_frequent() -> None:
    vocabulary = Vocabulary.learn([["a", "b", "a"], ["c", "b", "a", "d"]], ["d"], least=2)
    assert vocabulary.words == [*SPECIAL, "d", "a", "b"]
