"""One prediction format into another, with the gold of a corpus beside the predictions where one is named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from dstress.corpora.base import Corpus
from dstress.predictions import formats, read_predictions
from dstress.predictions.base import Prediction
from dstress.scoring.alignment.pairing import Pairing
from dstress.scoring.open_pair import PredictionSource, located, open_pair


def convert(
    source: str | Path, out: str | Path, to: str = "dstress", gold: str | Corpus | None = None, format: str = ""
) -> int:
    """Write a prediction file in another format, whole or not at all. Returns how many turns it has.

    With `gold`, slots and dialogues are spelled as in the corpus, its states (and what the user says, where the file
    does not have it) are added, and predictions that do not fit it are refused.
    """
    writer = formats.create(to)
    turns = 0

    def counted(predictions: Iterable[Prediction]) -> Iterator[Prediction]:
        nonlocal turns
        for prediction in predictions:
            turns += 1
            yield prediction

    if gold is None:
        writer.write(counted(read_predictions(source, format=format or None)), Path(out))
    else:
        with located(str(source)):
            paired = _with_gold(PredictionSource(source, gold), format)
        writer.write(counted(paired), Path(out))
    return turns


def _with_gold(source: PredictionSource, format: str) -> list[Prediction]:
    made = []
    with open_pair(source, format) as pair:
        pairing = Pairing(pair.corpus, pair.predictions, pair.corpus.schema)
        for dialogue, predictions in pairing:
            for answer in predictions:
                turn = dialogue.turns[answer.turn]
                utterance = turn.user if answer.utterance is None else answer.utterance
                made.append(replace(answer, dialogue=dialogue.id, gold=turn.state, utterance=utterance))
    pairing.require_complete("correct the file, or convert it without --gold")
    return made
