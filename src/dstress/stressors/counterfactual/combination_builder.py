"""CoCo's three slot-combination dictionaries from any corpus: which slots users say in one turn, and which they do not.

The paper made its tables by hand, for MultiWOZ. This is the rule behind them, in counts of turn-level updates. Of a
service, `n(s)` turns say slot `s`, `n(s, t)` say both and `n` say any. By chance `n(s) n(t) / n` would say both; the
*lift* is how many times as many do.

    neu    any two slots of one service, each of which is said often enough to count
    freq   those of neu that are said together: a lift of 0.5 or more
    rare   the others of neu

On the training split of MultiWOZ 2.1 every lift is below 0.31 or above 0.80, so the limit in between is no fine tuning;
it was chosen there, against the paper's tables. `docs/stressors/counterfactual.md` has how far they agree. A service
that the training corpus does not know, as most of SGD's test services, has no counts: any two slots of one intent then
stand in all three.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import NamedTuple

from dstress.dialogue import Dialogue, Schema, Service, service_of, slot_id
from dstress.errors import DstressError, SpecError, unknown
from dstress.resources import Material, Resources
from dstress.stressors.counterfactual.combinations import SHIPPED, Combinations, read, shipped
from dstress.text.tables import is_table_file

BUILT = "built-"
"""`built-rare` is derived even where the paper has a table."""

_LIFT = 0.5
_LEAST = 5
"""A slot, and a pair that is said together, must be in so many turns."""
_SHARE = 0.01
"""And a slot in such a share of its service's turns."""


class UpdateCounts(NamedTuple):
    """In how many user turns of a corpus services, slots and ordered pairs of one service's slots get a value."""

    services: Counter[str]
    slots: Counter[str]
    pairs: Counter[tuple[str, str]]

    def is_common(self, slot: str) -> bool:
        """Whether users say the slot often enough that silence about it means something."""
        return self.slots[slot] >= max(_LEAST, _SHARE * self.services[service_of(slot)])

    def lift(self, slot: str, partner: str) -> float:
        """How many times as often as by chance the two are said together."""
        chance = self.slots[slot] * self.slots[partner]
        return self.pairs[slot, partner] * self.services[service_of(slot)] / chance if chance else 0.0

    def go_together(self, slot: str, partner: str) -> bool:
        """Whether users say the two in one turn."""
        return self.pairs[slot, partner] >= _LEAST and self.lift(slot, partner) >= _LIFT


def count_updates(dialogues: Iterable[Dialogue]) -> UpdateCounts:
    """The counts of a corpus, over turn-level updates."""
    counts = UpdateCounts(Counter(), Counter(), Counter())
    for dialogue in dialogues:
        for update in dialogue.updates():
            by_service: dict[str, list[str]] = {}
            for slot, forms in update.items():
                if forms:
                    by_service.setdefault(service_of(slot), []).append(slot)
            for service, slots in by_service.items():
                counts.services[service] += 1
                counts.slots.update(slots)
                counts.pairs.update(permutations(slots, 2))
    return counts


def build(name: str, counts: UpdateCounts, schema: Schema) -> Combinations:
    """`freq`, `neu` or `rare` for a schema's slots, by the counts of a training corpus."""
    partners: dict[str, list[str]] = {slot: [] for slot in schema.slots}
    for service in schema.services:
        for slot, partner in _find_pairs(name, counts, service):
            partners[slot].append(partner)
    if not any(partners.values()):
        raise DstressError(
            f"the training corpus shows no slots that could be combined as {name}",
            fix="take another of freq, neu and rare, or give a .toml or .json file",
        )
    return Combinations(partners, where=f"combinations {name} of the training corpus")


def _find_pairs(name: str, counts: UpdateCounts, service: Service) -> Iterator[tuple[str, str]]:
    """The ordered pairs of a service's slots that the rule puts there."""
    if not counts.services[service.name]:
        yield from _find_pairs_within_intents(service)
        return
    slots = (slot_id(service.name, entry.name) for entry in service.slots)
    for slot, partner in permutations(filter(counts.is_common, slots), 2):
        if name == "neu" or (name == "freq") == counts.go_together(slot, partner):
            yield slot, partner


def _find_pairs_within_intents(service: Service) -> Iterator[tuple[str, str]]:
    """The ordered pairs of slots that some intent has both of; where intents name no slots, all pairs."""
    groups = [(*intent.required, *intent.optional) for intent in service.intents]
    names = tuple(slot.name for slot in service.slots)
    if not any(groups):
        groups = [names]
    for name, partner in permutations(names, 2):
        if any(name in group and partner in group for group in groups):
            yield slot_id(service.name, name), slot_id(service.name, partner)


def choose(source: str, resources: Resources, train: Material | None) -> Combinations:
    """The dictionary that a text means, in the corpus's spelling of slots.

    `freq`, `neu` and `rare` are the paper's where the corpus has MultiWOZ's slots; elsewhere they are derived from the
    training corpus, as `built-freq`, `built-neu` and `built-rare` always are. Else the text is a TOML or JSON file.
    """
    if is_table_file(source):
        return read(source).settled(resources.schema)
    name = source.removeprefix(BUILT)
    if name not in SHIPPED:
        known = (*SHIPPED, *(BUILT + shipped_name for shipped_name in SHIPPED))
        raise unknown("combination dictionary", source, known, fix="or give a .toml or .json file")
    if name == source and (adapted := shipped(name).adapted(resources.schema)) is not None:
        return adapted
    if train is None:
        raise SpecError(
            f"combinations={source} needs a training corpus to count in", fix="add train=, as train=sgd:train"
        )
    return build(name, count_updates(train), resources.schema)
