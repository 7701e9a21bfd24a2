"""A tracker made of rules: the schema's words, lists of values, and patterns. Nothing is trained.

It is a floor to beat, and it fails for other reasons than a network does: a baseline that is quick, the same
everywhere, and easy to look into. `docs/trackers/rules.md` has what it reaches and where it stops.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files

from dstress.dialogue import Schema
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.trackers.base import Answer, Context, Tracker
from dstress.trackers.rules import turn_evidence
from dstress.trackers.rules.evidence import Reader
from dstress.trackers.rules.lexicon import Counts, count_values
from dstress.trackers.rules.replies import update_state
from dstress.trackers.rules.slot_profiles import ValueStyle
from dstress.trackers.rules.turn_evidence import TurnEvidence


class Rules(Tracker):
    """Value lists and patterns, from the schema alone or with the values of a training split: no training."""

    sequential = True

    def __init__(self, train: str | None = None) -> None:
        self.train = train
        self._counts: Counts = {}
        self._readers: dict[tuple[str, ...], Reader] = {}

    def prepare(self, resources: Resources) -> None:
        """Count the training split's values; the rest is made from the schema when it is first needed."""
        super().prepare(resources)
        self._readers = {}
        self._counts = count_values(resources.load(self.train)) if self.train else {}
        self._style = ValueStyle.of(resources.schema)

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The state of each turn, from the previous state; and what the user intends, if that is our business."""
        answers = []
        for context in contexts:
            turn = self.read_turn(context)
            state = update_state(turn)
            service = self.schema.by_name.get(turn_evidence.find_service(turn, state))
            is_foreign = turn_evidence.is_out_of_domain(turn, state)
            intent = turn_evidence.find_intent(service, state, turn.slots) if service and not is_foreign else ""
            answers.append(Prediction(context.dialogue, context.turn, state, intent=intent, ood=is_foreign))
        return answers

    def read_turn(self, context: Context) -> TurnEvidence:
        """All that a turn says. SGD tells which services a dialogue is about; elsewhere that has to be found out."""
        by_name = self.schema.by_name
        services = context.services if self._style.as_said and context.services else tuple(by_name)
        if services not in self._readers:
            part = Schema(tuple(by_name[name] for name in services if name in by_name))
            self._readers[services] = Reader(part, self._style, self._counts)
        return turn_evidence.read_turn(self._readers[services], context)

    def reads(self, train: str) -> tuple[str, ...]:
        """The split whose values it knows."""
        return (self.train,) if self.train else ()

    def fingerprint(self) -> str:
        """The spec, and every module and table of rules."""
        digest = hashlib.sha256(super().fingerprint().encode())
        for part in sorted(files(__package__).iterdir(), key=lambda part: part.name):
            if part.name.endswith((".py", ".toml")):
                digest.update(part.name.encode() + b"\0" + part.read_bytes())
        return digest.hexdigest()[:16]
