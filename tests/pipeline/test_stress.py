from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from dstress import corpora
from dstress.dialogue import Dialogue
from dstress.engines.local import Local
from dstress.errors import CorpusError, DstressError, SpecError
from dstress.pipeline.stress import calibrate_spec, stress, write_stressed
from dstress.scoring.score import score
from dstress.stressors.base import Rewriter
from dstress.stressors.quality import Quality
from dstress.text.utterance import Ranges
from tests.fakes.predictions import perfect
from tests.stressors.samples import in_memory, sample

REMINDER = sample("reminder", None, 40)


class Deadly(Rewriter):
    """Takes the process down with it."""

    def rewrite(self, utterance: str, protected: Ranges, random: random.Random) -> str:
        os._exit(7)


class Shout(Rewriter):
    """Works in any language."""

    def rewrite(self, utterance: str, protected: Ranges, random: random.Random) -> str:
        return utterance + "!"


def test_a_stressed_corpus_is_a_corpus(tmp_path: Path) -> None:
    stressed = stress(REMINDER, "typos(rate=0.3)+disfluency")
    seen: list[str] = []
    write_stressed(stressed, tmp_path / "out", Quality(stressed.stressor), lambda dialogue: seen.append(dialogue.id))
    loaded = corpora.load(str(tmp_path / "out"))
    assert list(loaded) == list(stressed) and loaded.schema == REMINDER.schema and loaded.stressed
    assert seen == [dialogue.id for dialogue in REMINDER]
    told = json.loads((tmp_path / "out" / "stress.json").read_text())
    assert told["stressor"] == "typos(rate=0.3)+disfluency" and told["seed"] == 1 and told["effect"] == "invariant"
    assert told["quality"]["turns"] == sum(len(dialogue.turns) for dialogue in REMINDER)


def test_an_english_stressor_refuses_another_language() -> None:
    corpus = in_memory(list(REMINDER), REMINDER.schema, "tagebuch")
    corpus.language = "de"
    with pytest.raises(CorpusError, match=r"^tagebuch:test: verbosity is for en, and the utterances are in de"):
        stress(corpus.take(3), "typos(rate=0.3)+verbosity")
    with pytest.raises(CorpusError, match="speech is for en"):
        calibrate_spec(corpus, "speech", {"wer": 0.3})
    assert stress(corpus, Shout()).language == "de"


def test_a_stressed_corpus_keeps_its_language(tmp_path: Path) -> None:
    corpus = in_memory(list(REMINDER), REMINDER.schema)
    corpus.language = "de"
    stressed = stress(corpus, Shout())
    write_stressed(stressed, tmp_path / "out", Quality(stressed.stressor), lambda dialogue: None)
    corpora.add("laut", tmp_path / "out")
    assert corpora.load(str(tmp_path / "out")).language == corpora.load("laut").language == "de"


def test_it_can_be_imported_under_a_name(tmp_path: Path) -> None:
    stressed = stress(REMINDER, "values")
    write_stressed(stressed, tmp_path / "out", Quality(stressed.stressor), lambda dialogue: None)
    corpora.add("substituted", str(tmp_path / "out"))
    assert list(corpora.load("substituted:test")) == list(stressed)


def test_scores_are_told_apart_by_what_was_done() -> None:
    stressed = stress(REMINDER, "typos")
    assert stressed.stressed
    card = score(perfect(stressed), stressed)
    assert card["jga"].value == 1.0
    assert set(card.slices["stress"]) == {"as it was", "changed"}
    assert score(perfect(REMINDER), REMINDER).slices == {}


def test_limits_take_the_first() -> None:
    part = REMINDER.take(3)
    assert [dialogue.id for dialogue in part] == [dialogue.id for dialogue in REMINDER][:3] and part.size == 3
    assert list(stress(part, "typos")) == list(stress(REMINDER, "typos"))[:3]


def test_nothing_is_held() -> None:
    """Dialogues are asked for as they are needed, a few groups at a time."""
    taken = 0

    def endless() -> object:
        nonlocal taken
        for dialogue in REMINDER:
            taken += 1
            yield dialogue

    corpus = in_memory([], REMINDER.schema)
    corpus._read = endless  # type: ignore[assignment]
    stressed = stress(corpus, "typos")
    prepared = taken
    next(iter(stressed))
    assert taken - prepared == 16


@pytest.mark.slow
def test_a_worker_that_dies_is_told() -> None:
    with pytest.raises(DstressError, match="the worker process died"):
        list(stress(REMINDER, f"{__name__}:Deadly", engine=Local(2)))


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    stressed = stress(REMINDER, "typos")

    def fail(dialogue: Dialogue) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_stressed(stressed, tmp_path / "out", Quality(stressed.stressor), fail)
    assert list((tmp_path / "out").iterdir()) == []


def test_only_some_can_be_calibrated() -> None:
    with pytest.raises(SpecError, match="nothing in typos can be calibrated"):
        calibrate_spec(REMINDER, "typos", {"wer": 0.3})
