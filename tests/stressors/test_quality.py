from __future__ import annotations

import random

import pytest

from dstress.dialogue import Dialogue, Turn
from dstress.errors import MissingExtraError
from dstress.pipeline.stress import stress
from dstress.stressors.base import Rewriter
from dstress.stressors.quality import Quality
from dstress.text.similarity import Encoder
from dstress.text.utterance import Ranges
from tests.parts import need
from tests.stressors.samples import in_memory
from tests.stressors.test_base import CORPUS, SCHEMA


class Polite(Rewriter):
    """Adds a word and drops the first."""

    rephrases = True

    def rewrite(self, utterance: str, protected: Ranges, random: random.Random) -> str:
        return utterance if utterance == "thanks" else " ".join([*utterance.split()[1:], "please"])


def summary_of(spec: str, *, meanings: bool = False) -> Quality:
    stressed = stress(CORPUS, f"{__name__}:{spec}" if ":" not in spec else spec)
    quality = Quality(stressed.stressor, meanings=meanings)
    for dialogue in stressed:
        quality.add(dialogue)
    return quality


def test_every_figure_is_counted_by_hand() -> None:
    # "a taxi to a pizza hut" -> "taxi to a pizza hut please", "at 5 pm" -> "5 pm please", "thanks" stays
    summary = summary_of("Polite").summary()
    assert (summary.turns, summary.changed, summary.words) == (3, 2, 10)
    assert (summary.substituted, summary.deleted, summary.inserted) == (0, 2, 2)
    assert (summary.values, summary.values_still_said) == (2, 2)
    assert summary.share_changed == 2 / 3 and summary.words_changed == 4 / 10
    assert summary.distinct["1"] == (9 / 10, 9 / 10)
    assert summary.distinct["4"] == (1.0, 1.0)


def test_fallbacks_and_tags_are_counted_by_reason() -> None:
    assert summary_of("tests.stressors.test_base:Forget").summary().fallbacks == {
        "a value was no longer said": 2,
        "no words were left": 1,
    }
    assert summary_of("tests.stressors.test_base:Elsewhere").summary().tags == {"unseen": 1}


def test_the_encoder_knows_what_means_the_same() -> None:
    need("models")
    need("encoder")
    encoder = Encoder.find()
    assert encoder is not None
    same, near, far = encoder.cosines(
        [
            ("i need a cheap hotel", "i need a cheap hotel"),
            ("i need a cheap hotel", "could you find me an inexpensive place to stay"),
            ("i need a cheap hotel", "what a lovely tune that band played"),
        ]
    )
    assert same == pytest.approx(1.0, abs=1e-6) and near > 0.6 > 0.3 > far
    summary = summary_of("Polite", meanings=True).summary()
    assert summary.similarity is not None and 0.5 < summary.similarity < 1.0 and summary.compared == 2


def test_meanings_are_compared_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "find", classmethod(lambda cls: None))
    summary = summary_of("Polite").summary()
    assert summary.similarity is None and summary.compared == 0
    with pytest.raises(MissingExtraError, match="encoder"):
        summary_of("Polite", meanings=True)


def test_an_order_of_texts_of_any_length_is_kept() -> None:
    need("models")
    need("encoder")
    encoder = Encoder.find()
    assert encoder is not None
    texts = ["a long sentence about trains to cambridge", "hi", "thank you very much"] * 30
    rows = encoder.embed(texts)
    assert rows[1] == pytest.approx(rows[-2], abs=1e-5) and abs(float(rows[0] @ rows[1])) < 0.9


def test_a_corpus_without_words_divides_by_nothing() -> None:
    corpus = in_memory([Dialogue("d", (Turn("?!"),))], SCHEMA)
    quality = Quality(stress(corpus, "tests.stressors.test_base:Shout").stressor)
    quality.add(next(iter(corpus)))
    assert quality.summary().words_changed == 0.0


def test_the_counts_of_a_single_turn_are_numbers() -> None:
    """A run's folder keeps them as JSON, in which `true` is none."""
    corpus = in_memory([Dialogue("d", (Turn("hello there"),))], SCHEMA)
    stressed = stress(corpus, "tests.stressors.test_base:Shout")
    quality = Quality(stressed.stressor)
    quality.add(next(iter(stressed)))
    summary = quality.summary()
    assert (summary.turns, summary.changed) == (1, 1) and type(summary.changed) is int
