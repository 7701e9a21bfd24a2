"""The default slot classifier: hashed n-grams and one logistic regression a slot. It fits MultiWOZ in a minute."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from dstress.errors import DstressError
from dstress.generators.classifiers import logistic
from dstress.generators.classifiers.base import Exchange, SlotClassifier
from dstress.generators.classifiers.examples import Labelled, held_out, lessons
from dstress.generators.classifiers.features import Features
from dstress.generators.classifiers.logistic import Logistic, Task
from dstress.generators.classifiers.thresholds import break_even
from dstress.generators.classifiers.unseen_values import Unfamiliar
from dstress.resources import Material, Resources

_MADE_UP = 0.8
"""The share of the exchanges that are also learnt with made-up values."""
_MANY = 10_000
"""From so many exchanges on, a feature must be in 4 of them, else in 2."""
_AT_ONCE = 2048


class Linear(SlotClassifier):
    """Hashed n-grams, a logistic regression a slot: needs nothing but numpy."""

    def __init__(self) -> None:
        self._slots: list[str] = []
        self._asked: NDArray[np.bool_] = np.zeros(0, bool)
        self._threshold = 0.0
        self._features: Features | None = None
        self._model: Logistic | None = None

    def prepare(self, resources: Resources, train: Material) -> None:
        """Learn from the training corpus; some dialogues are held out, to set the threshold.

        Slots that training lacks are never found, and slots that the corpus at hand lacks are not told.
        """
        examples = lessons(train)
        learnt, held = held_out(examples)
        self._slots = sorted({slot for example in learnt for slot in example.slots})
        self._asked = np.array([slot in resources.schema.slots for slot in self._slots])
        self._features = Features(learnt)
        made, random = Unfamiliar(learnt), Random(1)
        learnt = learnt + [
            other
            for example in learnt
            if random.random() < _MADE_UP and (other := _made_up(example, made, random)) is not example
        ]
        hashes, rows = self._features.rows([example.exchange for example in learnt])
        task = Task(hashes, rows, *self._tables(learnt))
        self._model = logistic.fit(task, 4 if len(learnt) >= _MANY else 2)
        wanted, weight = self._tables(held)
        self._threshold = break_even(self._logits([example.exchange for example in held]), wanted, weight)

    def slots(self, exchanges: Sequence[Exchange]) -> list[frozenset[str]]:
        """The slots from the threshold on."""
        found = (self._logits(exchanges) >= self._threshold) & self._asked
        return [frozenset(self._slots[column] for column in np.flatnonzero(row)) for row in found]

    def _logits(self, exchanges: Sequence[Exchange]) -> NDArray[np.float32]:
        if self._features is None or self._model is None:
            raise DstressError("the slot classifier linear has learnt nothing", fix="call prepare first")
        found = [np.zeros((0, len(self._slots)), np.float32)]
        for at in range(0, len(exchanges), _AT_ONCE):
            some = exchanges[at : at + _AT_ONCE]
            found.append(self._model.logits(*self._features.rows(some), len(some)))
        return np.concatenate(found)

    def _tables(self, examples: Sequence[Labelled]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What is wanted of each example and slot; and 0 where that is unsure, else 1."""
        columns = {slot: column for column, slot in enumerate(self._slots)}
        wanted = np.zeros((len(examples), len(columns)), np.float32)
        weight = np.ones_like(wanted)
        for row, example in enumerate(examples):
            wanted[row, [columns[slot] for slot in example.slots if slot in columns]] = 1
            weight[row, [columns[slot] for slot in example.unsure if slot in columns]] = 0
        return wanted, weight


def _made_up(example: Labelled, made: Unfamiliar, random: Random) -> Labelled:
    text = made.rewrite_utterance(example, random)
    if text == example.exchange.user:
        return example
    return example._replace(exchange=example.exchange._replace(user=text))
