"""More services in the schema than any dialogue needs.

SGD's task tells a tracker which of its services a dialogue is about (Rastogi et al. 2020), and MultiWOZ has five. An
assistant has dozens, whose slots look alike: days, times, numbers, parts of town. Words and labels stay; a tracker that
fills a slot of an added service is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from dstress.dialogue import Dialogue, Schema, Service, Slot
from dstress.errors import SpecError
from dstress.resources import Resources
from dstress.stressors.base import Scope, Stressor
from dstress.stressors.schema.wording import join_name, split_name
from dstress.text.tables import read_table
from dstress.text.tokens import LETTERS
from dstress.text.utterance import random_for

_NUMBERED = re.compile(r".*_\d+")


class Distractors(Stressor):
    """More services in the schema than any dialogue needs; words and labels stay.

    `count` services, drawn by the seed from those that nobody in the corpus speaks of.
    """

    languages = ("en",)
    scope: Scope = "schema"

    def __init__(self, count: int = 5) -> None:
        if not 1 <= count <= len(_pool()):
            raise SpecError(f"distractors: there are no {count} services", fix=f"give 1 to {len(_pool())}")
        self.count = count

    def prepare(self, resources: Resources) -> None:
        """Keep the services that no user of the corpus could mean: the label guard of this stressor."""
        super().prepare(resources)
        names = [service.name for service in resources.schema.services]
        words = {word.lower() for name in names for word in split_name(name)}
        for turn in (turn for dialogue in resources.corpus for turn in dialogue.turns):
            words.update(LETTERS.findall(turn.user.lower()))
        is_numbered = all(map(_NUMBERED.fullmatch, names))
        self._free = []
        for entry in _pool():
            if words.isdisjoint(entry["words"]):
                slots = tuple(Slot(name, text, bool(values), tuple(*values)) for name, text, *values in entry["slots"])
                # Written as the corpus writes names: `bike_repair`, or SGD's `BikeRepair_1`.
                name = f"{join_name(entry['name'].split('_'), 'A')}_1" if is_numbered else entry["name"]
                self._free.append(Service(name, entry["description"], slots))
        if len(self._free) < self.count:
            raise SpecError(
                f"distractors: of {len(_pool())} services the corpus speaks of all but {len(self._free)}",
                fix=f"give count={len(self._free)} or less" if self._free else "leave it out",
            )

    def schema_of(self, schema: Schema, seed: int) -> Schema:
        """The schema with the services among its own, which keep their order."""
        services, random = list(schema.services), random_for(seed, self.key(), "places")
        for service in self._draw(seed):
            services.insert(random.randrange(len(services) + 1), service)
        return Schema(tuple(services))

    def stress(self, dialogues: Sequence[Dialogue], seed: int) -> list[Dialogue]:
        """The same dialogues; those that name their services name the new ones too."""
        names = tuple(service.name for service in self._draw(seed))
        return [
            msgspec.structs.replace(dialogue, services=(*dialogue.services, *names)) if dialogue.services else dialogue
            for dialogue in dialogues
        ]

    def _draw(self, seed: int) -> list[Service]:
        return random_for(seed, self.key()).sample(self._free, self.count)


def _pool() -> list[dict[str, Any]]:
    services: list[dict[str, Any]] = read_table(__package__, "distractors.toml")["service"]
    return services
