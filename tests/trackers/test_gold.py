"""The ceiling: gold's own answers get the highest score that there is, whatever is measured."""

from __future__ import annotations

from pathlib import Path

import dstress
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Frame, Turn
from dstress.predictions.base import Prediction
from dstress.scoring.scorecard import Scorecard
from dstress.trackers.base import Context
from dstress.trackers.gold import Gold

METRICS = ["jga", "intent-accuracy", "ood-f1", "inform", "success", "bleu", "combined"]


def card(corpus: Corpus, metrics: list[str]) -> Scorecard:
    contexts = [Context(dialogue, turn, corpus.schema) for dialogue in corpus for turn in range(len(dialogue.turns))]
    answers = [answer for answer in Gold().track(contexts) if isinstance(answer, Prediction)]
    return dstress.score(answers, corpus, metrics=metrics, resamples=2)


def test_nothing_is_missing_on_the_embedded_corpus() -> None:
    found = card(dstress.load("reminder:test"), METRICS)
    assert [found[name].value for name in METRICS] == [1.0, 1.0, 1.0, 100.0, 100.0, 100.0, 200.0]
    assert not found.notes, "every placeholder is known"


def test_people_do_not_always_succeed(shared: Path) -> None:
    """Published for MultiWOZ's own responses, under 2.2's spans: 93.7 and 90.9."""
    found = card(dstress.load(f"{shared}/data/multiwoz21-raw:test"), ["inform", "success"])
    assert (found["inform"].value, found["success"].value) == (93.2, 90.5)


def test_what_gold_does_not_say_is_not_said() -> None:
    schema = dstress.load("reminder:test").schema
    dialogue = Dialogue("d", (Turn("hi"), Turn("a taxi", frames=(Frame("taxi", "order_taxi"),)), Turn("?", ood=True)))
    answers = Gold().track([Context(dialogue, turn, schema) for turn in range(3)])
    said = [(answer.intent, answer.ood) for answer in answers if isinstance(answer, Prediction)]
    assert said == [(None, False), ("order_taxi", False), (None, True)]
