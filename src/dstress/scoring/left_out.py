"""Dialogues that do not count: some scripts leave out what others keep, such as FGA's script PMUL1455."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dstress.corpora.base import Corpus
from dstress.errors import PredictionError
from dstress.predictions.base import Prediction
from dstress.scoring.alignment.pairing import key


class LeftOut:
    """Tells which dialogues count, and notes which of those to leave out there were."""

    def __init__(self, dialogues: Sequence[str]) -> None:
        self._unmet = {key(dialogue): dialogue for dialogue in dialogues}
        self._names = frozenset(self._unmet)

    def counts(self, dialogue: str) -> bool:
        """Whether a dialogue of this id counts."""
        name = key(dialogue)
        self._unmet.pop(name, None)
        return name not in self._names

    def require_met(self) -> None:
        """Raise where a dialogue was to be left out that nobody has: a slip of the pen would change the number."""
        if self._unmet:
            raise PredictionError(
                f"to be left out, but neither in gold nor in the predictions: {', '.join(self._unmet.values())}",
                fix="correct the dialogue's id, or do not name it",
            )


def predictions_within(corpus: Corpus, predictions: Iterable[Prediction]) -> Iterator[Prediction]:
    """For a corpus that is a part, the predictions without those of the rest; strangers to the whole stay."""
    if corpus.whole is None:
        yield from predictions
        return
    inside, of_whole = {key(dialogue.id) for dialogue in corpus}, set[str]()
    for prediction in predictions:
        name = key(prediction.dialogue)
        if name not in inside and not of_whole:  # only now does it matter what else the whole has
            of_whole = {key(dialogue.id) for dialogue in corpus.whole}
        if name in inside or name not in of_whole:
            yield prediction
