"""A tracker made of rules: the schema's words, lists of values, and patterns. Nothing is trained.

It is a floor to beat, and it fails where trackers fail for other reasons than a network does: a baseline that is quick,
the same everywhere, and easy to look into. `docs/trackers/rules.md` has what it reaches and where it stops.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.resources import files

from dstress.dialogue import Schema
from dstress.setting import Setting
from dstress.trackers.base import Answer, Context, Tracker
from dstress.trackers.ruled.answering import accepted, dropped, flags, left_open, named_alone, proposed
from dstress.trackers.ruled.choosing import chosen
from dstress.trackers.ruled.lexicon import build, count_values, evening_services
from dstress.trackers.ruled.profiles import is_numbered, profiles
from dstress.trackers.ruled.reading import Reader, Reading
from dstress.trackers.ruled.references import referred
from dstress.trackers.ruled.situation import Situation, asked_service, focus_of, requests, service_cues

_REMEMBERED = 4096


def _unprepared(text: str) -> Reading:
    raise RuntimeError("prepare() comes before track()")


class Rules(Tracker):
    """Value lists and patterns, from the schema alone or with the values of a training split: no training."""

    sequential = True

    def __init__(self, train: str | None = None) -> None:
        self.train = train
        self._read: Callable[[str], Reading] = _unprepared

    def prepare(self, setting: Setting) -> None:
        """Build the lexicon."""
        super().prepare(setting)
        counts = count_values(setting.load(self.train)) if self.train else {}
        self.slots = profiles(setting.schema)
        self.numbered = is_numbered(setting.schema)
        self.services = frozenset(service.name for service in setting.schema.services)
        reader = Reader(build(setting.schema, self.slots, counts), self.slots, evening_services(setting.schema))

        def read(text: str) -> Reading:
            reading = reader.read(text)
            return reading._replace(services=service_cues(reading, self.slots, self.services))

        self._read = lru_cache(maxsize=_REMEMBERED)(read)

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        return [self._answer(context) for context in contexts]

    def _answer(self, context: Context) -> dict[str, str]:
        user, system = self._read(context.user), self._read(context.system)
        state = dict(context.previous or {})
        focus = focus_of(system, context.history, self._read)
        focus = asked_service(system, self.slots, focus)
        situation = Situation(user, system, state, self.slots, focus, requests(system, self.slots, focus))
        found = chosen(situation)
        found |= flags(situation)
        found |= referred(situation, found)
        found |= named_alone(situation, found)
        found |= left_open(situation, found)
        found |= proposed(situation, found)
        found |= accepted(situation, found)
        for slot in dropped(situation, found):
            del state[slot]
        return state | found
