"""A tracker asked about dialogues that no run holds: `shrink` and `search` put their questions through here.

It asks in batches, counts every turn that it asks, and judges answers as the explorer does: a turn is right where the
convention finds nothing wrong in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import msgspec

from dstress.conventions import conventions
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Turn
from dstress.errors import DstressError
from dstress.pipeline.track import TIMED, Request, Tracking
from dstress.predictions import read_predictions
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import gather
from dstress.scoring.alignment.errors import SlotError, TurnErrors
from dstress.storage.home import home
from dstress.trackers.base import Tracker
from dstress.trackers.saved import Saved

Answers = dict[int, Prediction]
"""A dialogue's answers by turn."""

_LINE = msgspec.json.Decoder(Prediction)
_MARK = "#"


def first_difference(turns: Sequence[Turn], others: Sequence[Turn]) -> int:
    """Find the first turn with other utterances, from which on a sequential tracker is called again; else the end."""
    pairs = enumerate(zip(turns, others, strict=True))
    return next((n for n, (new, old) in pairs if (new.user, new.system) != (old.user, old.system)), len(turns))


class Probe:
    """A prepared tracker: use it in a `with`, which lets go of it."""

    def __init__(self, tracker: Tracker, corpus: Corpus, convention: str) -> None:
        if isinstance(tracker, Saved):
            raise DstressError(
                "saved answers say nothing about words that were never asked", fix="give the tracker itself"
            )
        self.tracker, self.corpus, self.convention = tracker, corpus, conventions.create(convention)
        self.asked = 0
        """How many turns it was asked about."""
        self.usage: Counter[str] = Counter()
        resources = Resources(corpus.schema, corpus, load, home(), read_predictions, train=corpus.train)
        self._job = Tracking(tracker, lambda: resources, corpus.schema)

    def __enter__(self) -> Self:
        self._job.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._job.close()

    def ask(self, requests: Sequence[Request]) -> list[Answers]:
        """The answers to every request, in its order.

        One dialogue may be asked about in many versions at once, so each goes by an id of its own.
        """
        answers: list[Answers] = [{} for _ in requests]
        named = [
            msgspec.structs.replace(
                request, dialogue=msgspec.structs.replace(request.dialogue, id=f"{request.dialogue.id}{_MARK}{number}")
            )
            for number, request in enumerate(requests)
            if request.turns
        ]
        self.asked += sum(len(request.turns) for request in named)
        size = self.tracker.batch
        for start in range(0, len(named), size):
            tracked = self._job.run(named[start : start + size])
            self.usage.update({what: amount for what, amount in tracked.used.items() if what not in TIMED})
            for answer in map(_LINE.decode, tracked.lines.splitlines()):
                name, _, number = answer.dialogue.rpartition(_MARK)
                answers[int(number)][answer.turn] = msgspec.structs.replace(answer, dialogue=name)
        return answers

    def judge(self, answered: Sequence[tuple[Dialogue, Answers]]) -> list[dict[int, list[SlotError]]]:
        """What is wrong with each answer, by turn; an answer with nothing wrong has an empty list.

        Turns without an answer, or with a failed one, are left out.
        """
        if not any(dialogue.turns for dialogue, _ in answered):
            return [{} for _ in answered]
        paired = [
            (
                msgspec.structs.replace(dialogue, id=str(number)),
                [answers.get(turn) or Prediction("", turn, {}) for turn in range(len(dialogue.turns))],
            )
            for number, (dialogue, answers) in enumerate(answered)
        ]
        errors = TurnErrors()
        errors(Alignment(gather(self.corpus.schema, paired), self.convention))
        return [
            {turn: errors.wrong(str(number), turn) for turn, answer in answers.items() if not answer.failed}
            for number, (_, answers) in enumerate(answered)
        ]
