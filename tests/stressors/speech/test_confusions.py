"""Counting the channel's confusions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fit_confusions import Region, fit, pack_words, regions
from dstress.stressors.speech.confusions import LONGEST, Level, Vocabulary, blend
from dstress.stressors.speech.sounds import SoundAlikes, sound_of

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=15)


def test_regions_are_maximal() -> None:
    said = ["a", "cheap", "guesthouse", "in", "the", "east", "of", "town"]
    heard = ["a", "cheap", "guest", "house", "in", "the", "least", "of", "town", "please"]
    assert list(regions(said, heard)) == [
        Region(2, ("guesthouse",), ("guest", "house")),
        Region(5, ("east",), ("least",)),
        Region(8, (), ("please",)),
    ]


@given(WORDS, WORDS)
def test_regions_lead_from_said_to_heard(said: list[str], heard: list[str]) -> None:
    rebuilt: list[str] = []
    at = 0
    for region in regions(said, heard):
        assert max(len(region.spoken), len(region.heard)) <= LONGEST
        rebuilt += said[at : region.start]
        assert tuple(said[region.start : region.start + len(region.spoken)]) == region.spoken
        rebuilt += region.heard
        at = region.start + len(region.spoken)
    assert rebuilt + said[at:] == heard


def test_a_fit_counts_words_stretches_and_shapes() -> None:
    right, wrong = (["to", "stay"], ["to", "stay"]), (["to", "stay"], ["today"])
    found = fit({"white": [[right], [right, wrong]]})
    assert found.words["to"] == (3, 1)
    assert found.words["stay"] == (2, 0)
    assert found.regions == {"to stay": {"today": 1}}
    assert found.heard == {"to": 2, "stay": 2, "today": 1}
    assert found.levels["white"] == [Level(0.0, (0.0, 0.0, 0.0), {}), Level(0.5, (0.5, 0.5, 0.0), {"2>1": 1})]


LEVELS = [Level(0.1, (1.0, 0.0, 0.0), {"1>1": 10}), Level(0.3, (0.5, 0.5, 0.0), {"1>1": 5, "1>0": 5})]


@pytest.mark.parametrize(("wer", "deleted"), [(0.05, 0.0), (0.1, 0.0), (0.2, 0.25), (0.3, 0.5), (0.8, 0.5)])
def test_between_levels_errors_are_a_blend(wer: float, deleted: float) -> None:
    mixed = blend(LEVELS, wer)
    assert mixed.mix == pytest.approx((1 - deleted, deleted, 0))
    assert mixed.shapes.get("1>0", 0.0) == pytest.approx(deleted)


@pytest.mark.parametrize(
    ("one", "other"), [("their", "there"), ("write", "right"), ("knight", "night"), ("phone", "fone"), ("sea", "see")]
)
def test_words_that_sound_alike_are_near(one: str, other: str) -> None:
    vocabulary = dict.fromkeys([other, "breakfast", "museum", "thursday"], 1)
    [(nearest, weight), *rest] = SoundAlikes(vocabulary).find(one)
    assert nearest == other
    assert all(weight > far for _, far in rest)


@given(st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz'")))
def test_any_word_has_a_sound(word: str) -> None:
    assert len(sound_of(word)) <= 2 * len(word)


def test_a_vocabulary_knows_its_words_and_few_others() -> None:
    words = [f"word{number}" for number in range(2000)]
    known = Vocabulary(pack_words(words))
    assert all(word in known for word in words)
    assert sum(f"other{number}" in known for number in range(2000)) < 100
    assert "anything" in Vocabulary(pack_words([]))


def test_words_that_the_recogniser_does_not_know_are_counted_apart() -> None:
    pairs = [(["to", "brindleford"], ["to", "brand", "lyford"]), (["to", "town"], ["to", "down"])]
    found = fit({"white": [pairs]}, pack_words(["to", "town", "down", "brand", "lyford"]))
    assert found.strange == {"1>2": 1}
