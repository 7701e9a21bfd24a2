"""Turns said anew by a generator: only drafts with all of the user's telling words, and no other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import CorpusError
from dstress.resources import Material, Resources
from dstress.stressors import create
from dstress.stressors.generators import Candidate, Generator, Goal
from tests.stressors.samples import in_memory

SCHEMA = Schema((Service("hotel", slots=(Slot("area"), Slot("stars"))),))
SPEC = f"paraphrase(generator={__name__}:Told())"


class Told(Generator):
    """Says what a test tells it to."""

    texts: ClassVar[Sequence[str]] = ()

    def prepare(self, resources: Resources, train: Material) -> None:
        return

    def generate(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        return [Candidate(text) for text in self.texts]


def said(text: str, drafts: Sequence[str], monkeypatch: pytest.MonkeyPatch, spec: str = SPEC) -> str:
    monkeypatch.setattr(Told, "texts", drafts)
    stressor = create(spec)
    dialogue = Dialogue("d", (Turn(text, state={"hotel-area": ("north",)}),))
    corpus = in_memory([dialogue], SCHEMA)
    stressor.prepare(Resources(SCHEMA, corpus, lambda name: corpus, Path(), train="mine:train"))
    return stressor.stress([dialogue], 1)[0].turns[0].user


def test_a_draft_with_the_same_telling_words_is_taken_where_no_frame_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    before = "Hotel, lovely one, northerly, so north!"
    assert said(before, [], monkeypatch) == before
    drafts = ["I want a hotel in the north.", "So northerly, north, that lovely one hotel!"]
    assert said(before, drafts, monkeypatch) == drafts[1]


@pytest.mark.parametrize("lost", ["Go north.", "Guesthouse go north gribbet.", "Hotel gribbet go south."])
def test_what_is_lost_or_added_is_not_taken(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = "Hotel gribbet going north."
    assert said(before, [lost], monkeypatch) == before


def test_it_reads_its_training_corpus_and_says_when_there_is_none() -> None:
    [part] = create("paraphrase(generator=templates)").parts
    assert part.reads("mine:train") == ("mine:train",) and create("paraphrase").parts[0].reads("mine:train") == ()
    assert create('paraphrase(generator=templates, train="x:train")').parts[0].reads("mine:train") == ("x:train",)
    with pytest.raises(CorpusError, match="no training split"):
        part.prepare(Resources(Schema(), (), lambda name: in_memory([], Schema()), Path()))
