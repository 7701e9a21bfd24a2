"""Gold dialogues and their predictions, joined by id and turn; whatever does not fit is counted and told.

Never a silent 0 and never a silent drop: without leave to be partial, any misfit is an error with counts and the first
offenders; with it, what fits is scored and the coverage goes into the signature. A slot that the schema does not have
is no misfit: trackers that generate text name one now and then, and that is a wrong value, which a note tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import msgspec

from dstress.conventions.base import Convention
from dstress.dialogue import Dialogue, Schema
from dstress.errors import PredictionError, did_you_mean, shorten
from dstress.predictions.base import Prediction

_SHOWN = 3
_OUTSIDE = "values of slots that the schema does not have"
_NO_SUCH_TURN = "turns that the gold does not have"
_NO_SUCH_DIALOGUE = "dialogues that the gold does not have"
_DOUBLED = "doubled turns, of which the first counts"
_DROP_SHARE = 0.5

Paired = tuple[Dialogue, list[Prediction]]


class Misfits(msgspec.Struct):
    """What did not fit, by kind: how often, and the first few."""

    found: dict[str, list[str]] = {}
    counts: dict[str, int] = {}

    def note(self, kind: str, offender: str | tuple[str, str, int]) -> None:
        """Count an offender; only the first few different ones are kept, and put into words."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        kept = self.found.setdefault(kind, [])
        if len(kept) < _SHOWN:
            words = offender if isinstance(offender, str) else "{} in {} turn {}".format(*offender)
            if words not in kept:
                kept.append(words)

    def describe(self) -> str:
        """One line per kind."""
        return "; ".join(
            f"{self.counts[kind]:,} {kind} ({', '.join(kept)}{' ...' if self.counts[kind] > len(kept) else ''})"
            for kind, kept in self.found.items()
        )


class Coverage(msgspec.Struct):
    """How much of the gold was predicted. `misfits` are only ever left after a partial scoring was asked for."""

    turns: int = 0
    gold_turns: int = 0
    stateful_turns: int = 0
    """Gold turns with a state; where there is none at all, the corpus is not for trackers."""
    stateless_turns: int = 0
    """Predicted turns of a system that tracks no state (response generators in mwzeval's format)."""
    misfits: Misfits = msgspec.field(default_factory=Misfits)
    outside: Misfits = msgspec.field(default_factory=Misfits)
    """Values of slots that the schema does not have: no hole in the coverage, but worth a note."""

    @property
    def complete(self) -> bool:
        """Every gold turn has a prediction, and nothing is left over."""
        return self.turns == self.gold_turns and not self.misfits.counts


class Pairing:
    """Joins predictions with gold as both stream by. Iterate it once, then read `coverage`.

    A dialogue comes whole, with the predictions that there are of its turns, in order. States are cumulative, so a
    missing turn costs nothing but itself.

    Only predictions that came before their gold dialogue are held: where both files have one order, next to nothing.
    """

    def __init__(self, gold: Iterable[Dialogue], predictions: Iterable[Prediction], schema: Schema) -> None:
        self.gold, self.schema = gold, schema
        self.coverage = Coverage()
        self.strangers: list[str] = []
        self._arriving = iter(predictions)
        self._waiting: dict[str, dict[int, Prediction]] = {}
        self._unknown_slots: dict[str, str] = {}
        self._last = ("", "")
        self._framed = False
        self._frameless = Misfits({}, {})

    def __iter__(self) -> Iterator[Paired]:
        # By hash, so that the ids of a long stream are not held.
        done: dict[int, int] = {}
        for dialogue in self.gold:
            done[hash(key(dialogue.id))] = len(dialogue.turns)
            self.coverage.gold_turns += len(dialogue.turns)
            predictions = self._turns(dialogue, self._await(dialogue))
            self.coverage.turns += len(predictions)
            self.coverage.stateful_turns += sum([bool(turn.state) for turn in dialogue.turns])
            self.coverage.stateless_turns += sum([prediction.stateless for prediction in predictions])
            if predictions or not dialogue.turns:
                yield dialogue, predictions
        for prediction in self._arriving:
            self._hold(prediction)
        for name, left in self._waiting.items():
            first = next(iter(left.values()))
            turns = done.get(hash(name))
            if turns is None:
                self.strangers.append(name)
                self.coverage.misfits.note(_NO_SUCH_DIALOGUE, first.dialogue)
                continue
            for index in left:
                kind = _DOUBLED if 0 <= index < turns else _NO_SUCH_TURN
                self.coverage.misfits.note(kind, f"{first.dialogue} turn {index}")
        if self._framed:
            self.coverage.misfits.found |= self._frameless.found
            self.coverage.misfits.counts |= self._frameless.counts

    def _await(self, dialogue: Dialogue) -> dict[int, Prediction]:
        """The predictions of a dialogue; reads on until they are all there, or the file ends."""
        name, turns = key(dialogue.id), range(len(dialogue.turns))
        answers = self._waiting.setdefault(name, {})
        missing = sum(index not in answers for index in turns)
        while missing:
            prediction = next(self._arriving, None)
            if prediction is None:
                break
            if self._hold(prediction) is answers and prediction.turn in turns:
                missing -= 1
        return self._waiting.pop(name)

    def _hold(self, prediction: Prediction) -> dict[int, Prediction] | None:
        """Keep a prediction with those of its dialogue, which are returned; a second one for a turn is a misfit."""
        if prediction.dialogue != self._last[0]:
            # Predictions come dialogue by dialogue, so the key is worked out once for each.
            self._last = (prediction.dialogue, key(prediction.dialogue))
        answers = self._waiting.setdefault(self._last[1], {})
        if prediction.turn in answers:
            self.coverage.misfits.note(_DOUBLED, f"{prediction.dialogue} turn {prediction.turn}")
            return None
        answers[prediction.turn] = prediction
        return answers

    def _turns(self, dialogue: Dialogue, answers: dict[int, Prediction]) -> list[Prediction]:
        """The predictions for a dialogue's turns, in order; what does not fit is noted."""
        coverage, slots, requestable = self.coverage, self.schema.slots, self.schema.requestable
        if not answers and dialogue.turns:
            coverage.misfits.note("missing dialogues", dialogue.id)
            return []
        predictions: list[Prediction] = []
        for index, turn in enumerate(dialogue.turns):
            prediction = answers.pop(index, None)
            if prediction is None:
                coverage.misfits.note("missing turns", f"{dialogue.id} turn {index}")
                continue
            predictions.append(prediction)
            if not prediction.state.keys() <= slots.keys():
                for slot in prediction.state:
                    if slot not in slots and slot not in requestable:
                        self._unknown_slots.setdefault(slot, f"{slot} in {prediction.dialogue} turn {prediction.turn}")
                        coverage.outside.note(_OUTSIDE, self._unknown_slots[slot])
            # A file that gives frames must give one for every gold frame, as the official script demands.
            services = [frame.service for frame in prediction.frames]
            self._framed = self._framed or bool(services)
            for frame in turn.frames:
                if frame.service not in services:
                    self._frameless.note("missing frames", (frame.service, dialogue.id, prediction.turn))
        for index in answers:
            coverage.misfits.note(_NO_SUCH_TURN, f"{dialogue.id} turn {index}")
        return predictions

    def require_predictions(self, gold: str, states_wanted: bool = True) -> None:
        """Raise where there is nothing to score: a score would be about nobody's work."""
        if not self.coverage.turns:
            misfits = self.coverage.misfits.describe() or "it is empty"
            raise PredictionError(f"no prediction fits {gold}: {misfits}", fix="is this the right corpus and split?")
        if states_wanted and self.coverage.stateless_turns == self.coverage.turns:
            fix = "score its responses, not its states: --metrics inform,success,bleu,combined,richness"
            raise PredictionError("the system predicts no state in any turn", fix=fix)

    def require_complete(self, hint: str = "") -> None:
        """Raise if anything did not fit."""
        misfits = self.coverage.misfits
        if misfits.counts:
            raise PredictionError(
                f"the predictions do not fit the gold: {misfits.describe()}",
                fix=hint or "correct the file, or score what fits with --allow-partial",
            )

    def notes(self, convention: Convention) -> list[str]:
        """What a reader of the scores under a convention should know of the fit."""
        misfits, outside = self.coverage.misfits, self.coverage.outside
        notes = [f"left out: {misfits.describe()}"] if misfits.counts else []
        if outside.counts:
            fate = "not looked at, as in the script" if convention.within_schema else "counted as wrong"
            meant = did_you_mean(next(iter(self._unknown_slots)), self.schema.slots)
            notes.append(f"{fate}: {outside.describe()}; {meant}".rstrip("; "))
        return list(map(shorten, notes))


def key(dialogue: str) -> str:
    """What ids are matched by: scripts disagree on case and on a `.json` at the end."""
    return dialogue.casefold().removesuffix(".json")


def looks_like_updates(dialogues: Iterable[list[Prediction]]) -> bool:
    """Whether the predictions are what each turn changed, not the state so far: most values vanish in the next turn."""
    kept = dropped = 0
    for predictions in dialogues:
        for before, after in pairwise(predictions):
            gone = sum(slot not in after.state for slot in before.state)
            dropped += gone
            kept += len(before.state) - gone
    return dropped > _DROP_SHARE * (kept + dropped) and dropped > 0
