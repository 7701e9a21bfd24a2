"""Answers that were given before, from a prediction file of any format."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from dstress.errors import PredictionError
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.trackers.base import Answer, Context, Failed, Tracker


class Saved(Tracker):
    """Answers from a prediction file: the same words whatever is asked, so only for the data it was made on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[tuple[str, int], Prediction] = {}

    def prepare(self, resources: Resources) -> None:
        """Read the file."""
        super().prepare(resources)
        if not self.path.exists():
            raise PredictionError("there is no such file", where=str(self.path), fix="check the path in saved(PATH)")
        read = resources.predictions(self.path, schema=resources.schema) if resources.predictions else ()
        self._answers = {(answer.dialogue, answer.turn): answer for answer in read}

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The file's answer to each turn."""
        missing = Failed("the file has no answer to this turn")
        return [self._answers.get((context.dialogue, context.turn), missing) for context in contexts]

    def fingerprint(self) -> str:
        """The file's own content."""
        if not self.path.is_file():
            return super().fingerprint()
        return hashlib.sha256(self.path.read_bytes()).hexdigest()[:16]
