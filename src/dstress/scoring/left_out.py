"""Dialogues that do not count: some scripts leave out what others keep, such as FGA's script PMUL1455."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from dstress.alignment.pairing import key
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue
from dstress.errors import PredictionError
from dstress.predictions.base import Prediction

T = TypeVar("T")


class LeftOut:
    """Passes gold and predictions on without some dialogues, and notes which of these there were."""

    def __init__(self, dialogues: Sequence[str]) -> None:
        self._names = {key(dialogue): dialogue for dialogue in dialogues}
        self._met: set[str] = set()

    def gold(self, dialogues: Iterable[Dialogue]) -> Iterable[Dialogue]:
        """The gold that counts."""
        return self._rest(dialogues, lambda dialogue: dialogue.id)

    def predictions(self, predictions: Iterable[Prediction]) -> Iterable[Prediction]:
        """The predictions that count."""
        return self._rest(predictions, lambda prediction: prediction.dialogue)

    def require_met(self) -> None:
        """Raise where a dialogue was to be left out that nobody has: a slip of the pen would change the number."""
        if strange := [name for found, name in self._names.items() if found not in self._met]:
            raise PredictionError(
                f"to be left out, but neither in gold nor in the predictions: {', '.join(strange)}",
                fix="correct the dialogue's id, or do not name it",
            )

    def _rest(self, things: Iterable[T], id_of: Callable[[T], str]) -> Iterable[T]:
        return self._kept(things, id_of) if self._names else things

    def _kept(self, things: Iterable[T], id_of: Callable[[T], str]) -> Iterator[T]:
        for thing in things:
            found = key(id_of(thing))
            if found in self._names:
                self._met.add(found)
            else:
                yield thing


def predictions_within(corpus: Corpus, predictions: Iterable[Prediction]) -> Iterable[Prediction]:
    """For a corpus that is a part, the predictions without those of the rest; strangers to the whole stay."""
    return predictions if corpus.whole is None else _within(corpus, corpus.whole, predictions)


def _within(part: Corpus, whole: Corpus, predictions: Iterable[Prediction]) -> Iterator[Prediction]:
    inside, known = {key(dialogue.id) for dialogue in part}, set[str]()
    for prediction in predictions:
        found = key(prediction.dialogue)
        if found not in inside and not known:  # only now does it matter what else the whole has
            known = {key(dialogue.id) for dialogue in whole}
        if found in inside or found not in known:
            yield prediction
