"""A tracker made of rules: the schema's words, lists of values, and patterns. Nothing is trained.

It is a floor to beat, and it fails for other reasons than a network does: a baseline that is quick, the same
everywhere, and easy to look into. `docs/trackers/rules.md` has what it reaches and where it stops.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files

from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.trackers.base import Answer, Context, Tracker
from dstress.trackers.rules.lexicon import Counts, count_values
from dstress.trackers.rules.slot_profiles import is_numbered
from dstress.trackers.rules.state_update import StateUpdater
from dstress.trackers.rules.utterance import find_intent, find_service, is_out_of_domain


class Rules(Tracker):
    """Value lists and patterns, from the schema alone or with the values of a training split: no training."""

    sequential = True

    def __init__(self, train: str | None = None) -> None:
        self.train = train
        self._counts: Counts = {}
        self._updaters: dict[tuple[str, ...], StateUpdater] = {}

    def prepare(self, resources: Resources) -> None:
        """Count the training split's values; the rest is made from the schema when it is first needed."""
        super().prepare(resources)
        self._updaters = {}
        self._counts = count_values(resources.load(self.train)) if self.train else {}
        self._is_numbered = is_numbered(resources.schema)
        self._all_services = tuple(service.name for service in resources.schema.services)

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The state of each turn, from the state before it; and what the user intends, if that is our business."""
        return [self._answer(context) for context in contexts]

    def _answer(self, context: Context) -> Prediction:
        updater = self.updater(context)
        turn = updater.read_turn(context)
        state = updater.track(turn)
        foreign, service = is_out_of_domain(turn, state), self.schema.by_name.get(find_service(turn, state))
        intent = find_intent(service, state, turn.slots) if service and not foreign else ""
        return Prediction(context.dialogue, context.turn, state, intent=intent, ood=foreign)

    def updater(self, context: Context) -> StateUpdater:
        """The rules for a turn. SGD says which services a dialogue is about; elsewhere that has to be found out."""
        services = context.services if self._is_numbered and context.services else self._all_services
        if services not in self._updaters:
            self._updaters[services] = StateUpdater.for_services(self.schema, services, self._counts)
        return self._updaters[services]

    def reads(self, train: str) -> tuple[str, ...]:
        """The split whose values it knows."""
        return (self.train,) if self.train else ()

    def fingerprint(self) -> str:
        """The spec, and every module and table of rules."""
        parts = files(__package__).iterdir()
        texts = sorted((part.name, part.read_bytes()) for part in parts if part.name.endswith((".py", ".toml")))
        digest = hashlib.sha256(super().fingerprint().encode())
        for name, text in texts:
            digest.update(name.encode() + b"\0" + text)
        return digest.hexdigest()[:16]
