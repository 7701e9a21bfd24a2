"""Gold that a prediction file carries itself, as a corpus."""

from __future__ import annotations

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Frame, Schema, Service, Slot, Turn, service_of
from dstress.errors import PredictionError
from dstress.naming import multiwoz_slots
from dstress.predictions.base import Prediction


def own_gold(name: str, predictions: list[Prediction]) -> Corpus:
    """The corpus that the `gold` states of a file's predictions make up."""
    by_dialogue: dict[str, dict[int, Prediction]] = {}
    for prediction in predictions:
        if prediction.gold is None:
            where = f"{name}, dialogue {prediction.dialogue}, turn {prediction.turn}"
            raise PredictionError("the prediction carries no gold", where=where, fix="add --gold CORPUS:SPLIT")
        by_dialogue.setdefault(prediction.dialogue, {})[prediction.turn] = prediction
    if not predictions:
        raise PredictionError(
            "the file holds no predictions", where=name, fix="check that the tracker wrote its output"
        )
    dialogues = [_dialogue(dialogue, turns, name) for dialogue, turns in by_dialogue.items()]
    return Corpus(name, "", _schema(dialogues), lambda: iter(dialogues))


def _dialogue(dialogue: str, turns: dict[int, Prediction], name: str) -> Dialogue:
    missing = next((index for index in range(len(turns)) if index not in turns), None)
    if missing is not None:
        raise PredictionError("the turn is missing", where=f"{name}, dialogue {dialogue}, turn {missing}")
    return Dialogue(dialogue, tuple(_turn(turns[index]) for index in range(len(turns))))


def _turn(prediction: Prediction) -> Turn:
    gold = prediction.gold or {}
    services = dict.fromkeys(service_of(slot) for slot in gold)
    return Turn(prediction.utterance or "", "", gold, tuple(Frame(service) for service in services))


def _schema(dialogues: list[Dialogue]) -> Schema:
    """MultiWOZ's thirty slots where the gold stays within them, since scripts divide by thirty; else what it uses."""
    used = dict.fromkeys(slot for dialogue in dialogues for turn in dialogue.turns for slot in turn.state)
    slots = multiwoz_slots() if set(used) <= set(multiwoz_slots()) else tuple(used)
    services: dict[str, list[Slot]] = {}
    for slot in slots:
        services.setdefault(service_of(slot), []).append(Slot(slot.partition("-")[2]))
    return Schema(tuple(Service(name, slots=tuple(listed)) for name, listed in services.items()))
