"""Gold that a prediction file carries itself, as a corpus."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Frame, Schema, Service, Slot, Turn, service_of
from dstress.errors import PredictionError, place
from dstress.predictions.base import Prediction
from dstress.text.slot_names import multiwoz_slots


def own_gold(name: str, predictions: list[Prediction]) -> tuple[Corpus, list[Prediction]]:
    """The corpus that the `gold` states of a file's predictions make up, and the predictions that fit it.

    CheckDST's perturbed files hold some turns of a dialogue only: turns are numbered anew, in their order.
    """
    if not predictions:
        raise PredictionError("the file holds no predictions", where=name, fix="check that the tracker wrote it")
    by_dialogue: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        if prediction.gold is None:
            where = place(name, prediction.dialogue, prediction.turn)
            raise PredictionError("the prediction carries no gold", where=where, fix="add --gold CORPUS:SPLIT")
        by_dialogue.setdefault(prediction.dialogue, []).append(prediction)
    for dialogue, turns in by_dialogue.items():
        turns.sort(key=lambda prediction: prediction.turn)
        for before, after in pairwise(turns):
            if before.turn == after.turn:
                where = place(name, dialogue, after.turn)
                raise PredictionError("this turn is there twice", where=where, fix="keep one prediction per turn")
    dialogues, numbered = [], []
    for dialogue, answers in by_dialogue.items():
        numbered += _numbered(answers)
        gold_turns = []
        for answer in answers:
            gold = answer.gold or {}
            frames = tuple(Frame(service) for service in dict.fromkeys(map(service_of, gold)))
            gold_turns.append(Turn(answer.utterance or "", "", gold, frames))
        dialogues.append(Dialogue(dialogue, tuple(gold_turns)))
    return Corpus(name, "", _schema(predictions), lambda: iter(dialogues)), numbered


def _numbered(turns: list[Prediction]) -> list[Prediction]:
    numbers = {prediction.turn: index for index, prediction in enumerate(turns)}
    if all(turn == index for turn, index in numbers.items()):
        return turns
    return [
        msgspec.structs.replace(
            prediction,
            turn=numbers[prediction.turn],
            informed={slot: numbers[turn] for slot, turn in prediction.informed.items() if turn in numbers},
        )
        for prediction in turns
    ]


def _schema(predictions: list[Prediction]) -> Schema:
    """MultiWOZ's thirty slots where the gold stays within them, since scripts divide by thirty; else the file's."""
    gold = dict.fromkeys(slot for answer in predictions for slot in (*(answer.gold or ()), *(answer.listed or ())))
    predicted = dict.fromkeys(slot for prediction in predictions for slot in prediction.state)
    slots = multiwoz_slots() if set(gold) <= set(multiwoz_slots()) else tuple(gold | predicted)
    services: dict[str, list[Slot]] = {}
    for slot in slots:
        services.setdefault(service_of(slot), []).append(Slot(slot.partition("-")[2]))
    return Schema(tuple(Service(name, slots=tuple(listed)) for name, listed in services.items()))
