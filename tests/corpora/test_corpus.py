"""A corpus is counted, indexed and cut like a list, and read like a stream: never twice where once is enough."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dstress
from dstress.corpora.base import Corpus
from dstress.errors import DstressError

SIZE = 9
DIALOGUES = [dstress.Dialogue(f"d{number}", (dstress.Turn("hello"),)) for number in range(SIZE)]


class Watched:
    """A corpus that says how often it was read from the start, and how far."""

    def __init__(self) -> None:
        self.readings = self.dialogues = 0
        self.corpus = Corpus("watched", "test", dstress.Schema(), self.read)

    def read(self) -> Iterator[dstress.Dialogue]:
        self.readings += 1
        for dialogue in DIALOGUES:
            self.dialogues += 1
            yield dialogue


def test_places_and_cuts_are_those_of_a_list() -> None:
    corpus = Watched().corpus
    assert len(corpus) == SIZE and [corpus[place] for place in (0, 3, -1, -SIZE)] == [
        DIALOGUES[place] for place in (0, 3, -1, -SIZE)
    ]
    for cut in (slice(4), slice(2, 5), slice(5, None), slice(-3, None), slice(None, -2), slice(1, 8, 3), slice(None)):
        part = corpus[cut]
        assert list(part) == DIALOGUES[cut] and len(part) == len(DIALOGUES[cut])
        assert isinstance(part, Corpus) and list(part) == DIALOGUES[cut]
    for place in (SIZE, -SIZE - 1):
        with pytest.raises(IndexError, match=f"watched.test has no dialogue {place}"):
            corpus[place]
    with pytest.raises(DstressError, match="read forwards"):
        corpus[::-1]


@pytest.mark.parametrize("known", [True, False])
def test_one_reading_is_enough(known: bool) -> None:
    """`list` asks for the length before it reads."""
    for collect in (list, tuple, sorted_ids, set_of_ids):
        watched = Watched()
        watched.corpus.size = SIZE if known else None
        assert len(collect(watched.corpus)) == SIZE and watched.readings == 1
        assert len(watched.corpus) == SIZE and watched.readings == 1


def sorted_ids(corpus: Corpus) -> list[str]:
    return [dialogue.id for dialogue in sorted(corpus, key=lambda dialogue: dialogue.id)]


def set_of_ids(corpus: Corpus) -> set[str]:
    return {dialogue.id for dialogue in list(corpus)}


def test_an_iterator_that_waits_still_gives_everything() -> None:
    corpus = Watched().corpus
    waiting = iter(corpus)
    assert len(corpus) == SIZE and list(waiting) == DIALOGUES == list(corpus)


def test_streams_stay_streams() -> None:
    watched = Watched()
    assert watched.corpus[1] == DIALOGUES[1] and watched.dialogues == 2
    assert next(iter(watched.corpus[:5])) == DIALOGUES[0] and watched.dialogues == 3
    watched.corpus[2:7].take(2)
    assert watched.corpus and watched.dialogues == 3, "neither a part nor the truth reads anything"


def test_a_part_says_that_it_is_one() -> None:
    corpus = Watched().corpus
    names = [corpus[:5].signature, corpus[2:5].signature, corpus[:8:2].signature, corpus[:5][1:].signature]
    expected = ["first5", "2to5", "0to8by2", "first5.1toend"]
    assert names == [f"watched.test.{name}" for name in expected]
    assert corpus[:5][1:].whole is corpus and corpus.take(5).signature == corpus[:5].signature


def test_load_takes_a_part() -> None:
    whole = dstress.load("reminder:test")
    assert [dialogue.id for dialogue in dstress.load("reminder:test", limit=3)] == [one.id for one in whole[:3]]
    drawn = dstress.load("reminder:test", draw=3, seed=2)
    assert list(drawn) == list(whole.take(draw=3, seed=2)) and drawn.part == "draw3" and len(drawn) == 3
    with pytest.raises(DstressError, match="exclude each other"):
        dstress.load("reminder:test", limit=3, draw=3)
    with pytest.raises(DstressError, match="-1 dialogues cannot be"):
        dstress.load("reminder:test", limit=-1)
