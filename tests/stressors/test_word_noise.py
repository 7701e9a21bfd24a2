"""Noise on words: EDA's four operations, and what none of them may touch."""

from __future__ import annotations

import re
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.errors import SpecError
from dstress.stressors import stressors
from dstress.stressors.word_noise import Kind, WordNoise
from dstress.text.tables import read_table
from tests.stressors.noise import ODD, check_page, keeps_protected, protected_texts

TABLE = read_table("dstress.stressors", "data/word_noise.toml")
FRAGILE = set(
    re.findall(
        r"\S+",
        """no not n't never without from to before after at by until between or 5 five what where when how why which who
        same that one other first last any either cheap expensive north monday yes""",
    )
)


def outcomes(text: str, kind: Kind, ranges: list[tuple[int, int]] | None = None) -> set[str]:
    return {WordNoise(kinds=(kind,)).rewrite(text, ranges or [], Random(seed)) for seed in range(60)}


def test_replaced_by_a_synonym() -> None:
    assert outcomes("I am looking for it", "replace") == {
        f"I am {other} it" for other in ("searching for", "hunting for", "seeking")
    }
    assert outcomes("Thanks .", "replace") == {"Thank you ."}


@pytest.mark.parametrize(
    "text",
    [
        "we check in on Monday",
        "Pick me up at the hotel",
        "you can pick up the key",
        "I 'll find out",
        "leave it out",
        "something to think about",
        "please provide me with it",
        "let me know",
        "do you know it",
    ],
)
def test_verbs_that_mean_something_else_with_their_particle_stay(text: str) -> None:
    assert outcomes(text, "replace") == {text}


def test_a_synonym_fits_what_follows() -> None:
    assert outcomes("going to Ely", "replace") == {"heading to Ely", "travelling to Ely"}
    assert outcomes("arrive by 5", "replace") == {"get there by 5"}


def test_the_article_before_a_synonym_still_fits() -> None:
    assert outcomes("an eatery or a booking", "replace") == {"an eatery or a reservation"}
    assert outcomes("an option", "replace") == {"an option"}


def test_a_word_that_says_nothing_is_inserted() -> None:
    assert outcomes("I need it", "insert") == {f"I {o} need it" for o in ("just", "really", "actually")}
    assert outcomes("find a train", "insert") == {"find a train"}
    assert outcomes("that s all I need", "insert") == {"that s all I need"}


def test_swapped_with_its_neighbour() -> None:
    assert outcomes("I would also like Ely", "swap") == {"I also would like Ely"}
    assert outcomes("Also I need it", "swap") == {"I also need it"}


def test_deleted_with_its_blank() -> None:
    assert outcomes("I need the address .", "delete") == {"Need the address .", "I need address ."}
    assert outcomes("give me a room", "delete") == {"give a room", "give me room"}
    assert outcomes("all I need", "delete") == {"all I need"}


@pytest.mark.parametrize(
    "text",
    [
        "could you give me their address ?",
        "does it have internet ?",
        "reference number please",
        "i need it",
        "yes , by the way .",
        "thanks a lot .",
    ],
)
def test_sentences_stay_whole(text: str) -> None:
    for after in outcomes(text, "swap") | outcomes(text, "delete"):
        assert after in (text, text.removeprefix("i "), text.replace("give me", "give")), after


@pytest.mark.parametrize("kind", get_args(Kind))
def test_a_word_is_not_parted_from_its_ending(kind: Kind) -> None:
    text = "are there any good place -s , restaurant -s or moderate -ly priced ones ?"
    for after in outcomes(text, kind):
        assert all(f" {word} " in after for word in ("place -s", "restaurant -s", "moderate -ly")), after


@pytest.mark.parametrize("text", ["Do n't ask .", "No , not that one .", "from Ely to Norwich after 18:15", "how much"])
def test_nothing_to_delete_or_swap(text: str) -> None:
    assert outcomes(text, "delete") | outcomes(text, "swap") == {text}


def test_no_list_has_a_word_that_carries_a_label() -> None:
    pairs = [*TABLE["swapped"]["pairs"], *TABLE["deleted"]["second"], *TABLE["deleted"]["opening"]]
    moved = {word for pair in pairs for words in pair.split() for word in words.split("/")} - {"that"}
    assert not FRAGILE & {
        *TABLE["deleted"]["words"],
        *moved,
        *(w for group in TABLE["inserted"] for w in group["words"]),
    }
    for phrase, others in TABLE["synonyms"].items():
        prepositions = {"to", "at"}
        assert not (FRAGILE - prepositions) & set(phrase.split()), phrase
        kept = prepositions & set(phrase.split())
        for other in others:
            assert not (FRAGILE - prepositions) & set(other.split()), other
            assert kept <= set(other.split()) or other == "must", f"{phrase} -> {other}"


def test_rate_times_the_words_are_changed() -> None:
    text = "I need a taxi and I want a restaurant and also a reservation please tell me all details about it now okay"
    for rate, most in [(0.05, 1), (0.2, 4)]:
        after = WordNoise(rate=rate, kinds=("replace",)).rewrite(text, [], Random(1))
        kept = set(text.split()) & set(after.split())
        assert 0 < len(set(text.split()) - kept) <= 2 * most


@given(protected_texts(), st.integers(0, 9), st.sampled_from([0.1, 1.0]))
def test_protected_words_stay(case: tuple[str, list[tuple[int, int]]], seed: int, rate: float) -> None:
    keeps_protected(WordNoise(rate=rate).rewrite, *case, seed)


@given(protected_texts(), st.integers(0, 9))
def test_fragile_words_stay(case: tuple[str, list[tuple[int, int]]], seed: int) -> None:
    def fragile_words(text: str) -> list[str]:
        return re.findall(r"(?<!\w)(?:not|n't|no|18:15|ely|north)(?!\w)", text.lower())

    assert fragile_words(WordNoise(rate=1).rewrite(case[0], [], Random(seed))) == fragile_words(case[0])


@pytest.mark.parametrize("text", ODD)
def test_odd_texts(text: str) -> None:
    after = WordNoise(rate=1).rewrite(text, [], Random(0))
    assert bool(after.strip()) == bool(text.strip())


def test_a_very_long_utterance() -> None:
    after = WordNoise().rewrite("I need a train . " * 2_500, [], Random(0))
    assert 8_000 < len(after.split()) < 13_500 and after != "I need a train . " * 2_500


@pytest.mark.parametrize("spec", ["word_noise(rate=0)", "word_noise(rate=2)", "word_noise(kinds=[])"])
def test_bad_arguments(spec: str) -> None:
    with pytest.raises(SpecError):
        stressors.create(spec)


def test_the_page_shows_what_comes_out() -> None:
    check_page("word_noise")
