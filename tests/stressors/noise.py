"""What the tests of typos, word_noise, verbosity and simplification share: texts, laws, and examples of their pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st

from benchmarks import reminder
from dstress.dialogue import Dialogue
from dstress.resources import Resources
from dstress.stressors import create
from tests.paths import DOCS
from tests.stressors.samples import in_memory

PAGES = DOCS / "stressors"
Rewrite = Callable[[str, list[tuple[int, int]], Random], str]

ODD = [
    "",
    " ",
    "?",
    "\x00\x1b[31m \u200b\ufeff",
    "I need a 🚆 to Ely 🙂👩‍👩‍👧 please .",
    "أريد قطارًا إلى كامبريدج من فضلك",
    "אני צריך רכבת please",
    "İSTANBUL please , I need İZMİR .",
    "the ꙮ and the ꙮ please",
    "find me (a.b*)+[c]\\d ^$ {2} | please .",
    "straße Straße ß ŉ ﬁnd me ﬂats",
    "e\u0301te\u0301 nai\u0308ve cafe\u0301",
    "\n\n I need \t a train \r\n",
]
"""Texts that nobody tried the rules on."""

_WORDS = ["i", "need", "a", "the", "train", "to", "Ely", "please", "thanks", "Yes", ",", ".", "?", "do", "n't", "not"]
_WORDS += ["I 'd", "like", "can you", "Can", "looking", "for", "north", "18:15", "is", "What", "that", "book", "it"]
texts = st.one_of(
    st.lists(st.sampled_from(_WORDS), max_size=14).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.sampled_from(ODD),
)


@st.composite
def protected_texts(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """A text with sorted ranges, apart from each other, that must stay."""
    text = draw(texts)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    ranges = [(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False) if start < end]
    return text, ranges


def keeps_protected(rewrite: Rewrite, text: str, ranges: list[tuple[int, int]], seed: int) -> None:
    """Protected words come out as they went in, in their order; the same chance gives the same text."""
    after = rewrite(text, ranges, Random(seed))
    assert after == rewrite(text, ranges, Random(seed))
    at = 0
    for start, end in ranges:
        at = after.index(text[start:end], at) + end - start


class Example(NamedTuple):
    spec: str
    dialogue: str
    turn: int
    before: str
    after: str


_EXAMPLE = re.compile(r"^(\S+) (reminder-test-\d+) turn (\d+)\n- (.*)\n\+ (.*)$", re.MULTILINE)


def examples(page: str) -> list[Example]:
    """The examples on a stressor's page that come from `reminder`."""
    found = _EXAMPLE.findall((PAGES / f"{page}.md").read_text(encoding="utf-8"))
    return [Example(spec, dialogue, int(turn), before, after) for spec, dialogue, turn, before, after in found]


def stressed(spec: str, said: list[Dialogue], seed: int = 0) -> list[Dialogue]:
    """Dialogues of `reminder`, stressed."""
    stressor = create(spec)
    corpus = in_memory(said, reminder.schema("test"))
    stressor.prepare(Resources(corpus.schema, corpus, lambda name: corpus, Path()))
    return stressor.stress(said, seed)


def check_page(page: str, least: int = 3) -> None:
    """Every `reminder` example on a page is what comes out."""
    shown = examples(page)
    assert len(shown) >= least
    for example in shown:
        number = int(example.dialogue.rpartition("-")[2])
        [dialogue] = [one for one in islice(reminder.generate("test"), number + 1) if one.id == example.dialogue]
        assert dialogue.turns[example.turn].user == example.before
        assert stressed(example.spec, [dialogue])[0].turns[example.turn].user == example.after


def simulated_dialogues(count: int = 40) -> list[Dialogue]:
    return list(islice(reminder.generate("test"), count))
