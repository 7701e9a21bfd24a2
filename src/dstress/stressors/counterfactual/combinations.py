"""Slot-combination dictionaries: for each slot, those that a user may say with it (CoCo, section 4.2).

Three come from CoCo's appendix H: `freq` (often said together), `rare` (seldom) and `neu` (any that makes sense). A
person's own is a TOML or JSON file: slots with lists of slots.

The paper made its tables by hand, for MultiWOZ. This is the rule behind them, in counts of turn-level updates. Of a
service, `n(s)` turns say slot `s`, `n(s, t)` say both and `n` say any. By chance `n(s) n(t) / n` would say both; the
*lift* is how many times as many do.

    neu    any two slots of one service, each of which is said often enough to count
    freq   those of neu that are said together: a lift of 0.5 or more
    rare   the others of neu

On the training split of MultiWOZ 2.1 every lift is below 0.31 or above 0.80, so the limit in between is no fine tuning.
`docs/stressors/counterfactual.md` has how far they agree, and what stands for services that training does not know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain, permutations
from pathlib import Path
from typing import Any, NamedTuple

from dstress.dialogue import Dialogue, Schema, service_of, slot_id
from dstress.errors import DstressError, SpecError, unknown
from dstress.resources import Material, Resources
from dstress.stressors.values.dictionary import Dictionary, settle_slots
from dstress.text.slot_names import SlotNames
from dstress.text.tables import is_table_file, read_table, read_table_file

SHIPPED = ("freq", "neu", "rare")
"""The dictionaries of the CoCo paper, by its names for them."""

BUILT = "built-"
"""`built-rare` is derived even where the paper has a table."""

_LIFT = 0.5
_LEAST = 5  # a slot, and a pair that is said together, must be in so many turns
_SHARE = 0.01  # and a slot in such a share of its service's turns
_EXAMPLE = '"hotel-area" = ["hotel-stars", "hotel-book day"]'

Lists = Mapping[str, Iterable[str]]


class Combinations:
    """For each slot id, the slots that may be added to it, in schema order."""

    def __init__(self, lists: Lists, *, where: str = "a combination dictionary") -> None:
        self.where = where
        self._lists = {slot: tuple(listed) for slot, listed in lists.items()}
        for slot, listed in self._lists.items():
            if slot in listed:
                raise DstressError(f"{slot} is combined with itself", where=where, fix="take it out of its own list")
            if twice := next((other for other in listed if listed.count(other) > 1), ""):
                raise DstressError(f"the list of {slot} has {twice} twice", where=where)
        if not any(self._lists.values()):
            raise DstressError("the combination dictionary is empty", where=where, fix=f"give lists: {_EXAMPLE}")

    @property
    def slots(self) -> tuple[str, ...]:
        """Every slot that it speaks of, those with a list first."""
        return tuple(dict.fromkeys((*self._lists, *(slot for listed in self._lists.values() for slot in listed))))

    def of(self, slot: str) -> tuple[str, ...]:
        """The slots that may be added where only this one is active; none for a slot without a list."""
        return self._lists.get(slot, ())

    def addable(self, active: Iterable[str]) -> tuple[str, ...]:
        """The slots that may be added to all of these at once: those that every active slot's list has, in the order of
        the first one's; none where nothing is active."""
        slots = tuple(active)
        lists = [self.of(slot) for slot in slots] or [()]
        return tuple(slot for slot in lists[0] if slot not in slots and all(slot in each for each in lists))

    def settled(self, schema: Schema) -> Combinations:
        """A person's own dictionary in the schema's spelling and order of slots. Every slot must be the schema's."""
        return self._renamed(settle_slots(self.slots, schema, self.where), schema)

    def adapted(self, schema: Schema) -> Combinations | None:
        """What it says of a schema's slots; None if the schema has not even half of its slots, and so is another's."""
        names = SlotNames(schema)
        settled = {slot: own for slot in self.slots if (own := names.split(slot)) in schema.slots}
        return self._renamed(settled, schema) if 2 * len(settled) >= len(self.slots) else None

    def _renamed(self, names: Mapping[str, str], schema: Schema) -> Combinations:
        """The lists of the slots that have a name in the schema, in its order."""
        place = list(schema.slots).index
        renamed: dict[str, list[str]] = {}
        for slot in sorted((slot for slot in names if slot in self._lists), key=lambda slot: place(names[slot])):
            if names[slot] in renamed:
                raise DstressError(f"the slot {names[slot]} is there twice, also as {slot!r}", where=self.where)
            listed = (names[other] for other in self._lists[slot] if other in names)
            renamed[names[slot]] = sorted(listed, key=place)
        return Combinations(renamed, where=self.where)

    def check(self, values: Dictionary) -> None:
        """A dictionary of values must have some for slots that are added. One without values is never added."""
        if not any(values.pool(slot) for slot in chain.from_iterable(self._lists.values())):
            problem = "the one adds no slot that the other has values for"
            raise DstressError(
                f"{self.where} and {values.where} contradict each other: {problem}",
                fix="give a combination dictionary and a slot-value dictionary for the same slots",
            )


@cache
def shipped(name: str) -> Combinations:
    """One of CoCo's dictionaries: `freq`, `neu` or `rare`."""
    return _read(read_table(__package__, f"combinations/{name}.toml"), f"combination dictionary {name}")


def is_multiwoz(schema: Schema) -> bool:
    """Whether the paper's dictionaries, which are for MultiWOZ's slots, speak of a schema's."""
    return shipped("rare").adapted(schema) is not None


def read(path: str | Path) -> Combinations:
    """A person's own dictionary, TOML or JSON."""
    return _read(read_table_file(path, "combination dictionary"), str(path))


def _read(table: Any, where: str) -> Combinations:
    if not isinstance(table, dict):
        raise DstressError("a combination dictionary is a table of slots with lists of slots", where=where)
    for slot, listed in table.items():
        if not isinstance(listed, list) or not all(isinstance(other, str) for other in listed):
            raise DstressError(f"{slot} is no list of slots", where=where, fix=_EXAMPLE)
    return Combinations(table, where=where)


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
    for update in (update for dialogue in dialogues for update in dialogue.updates()):
        slots = [slot for slot, forms in update.items() if forms]
        counts.services.update({service_of(slot) for slot in slots})
        counts.slots.update(slots)
        counts.pairs.update(pair for pair in permutations(slots, 2) if service_of(pair[0]) == service_of(pair[1]))
    return counts


def build(name: str, counts: UpdateCounts, schema: Schema) -> Combinations:
    """`freq`, `neu` or `rare` for a schema's slots, by the counts of a training corpus."""
    partners: dict[str, list[str]] = {slot: [] for slot in schema.slots}
    for service in schema.services:
        names = [entry.name for entry in service.slots]
        # Without counts, what some intent has both of goes together; where intents name no slots, all pairs do.
        intents = [(*intent.required, *intent.optional) for intent in service.intents]
        groups = intents if any(intents) else [names]
        for first, second in permutations(names, 2):
            slot, partner = slot_id(service.name, first), slot_id(service.name, second)
            if not counts.services[service.name]:
                fits = any({first, second} <= {*group} for group in groups)
            else:
                fits = name == "neu" or (name == "freq") == counts.go_together(slot, partner)
                fits = fits and counts.is_common(slot) and counts.is_common(partner)
            if fits:
                partners[slot].append(partner)
    if not any(partners.values()):
        problem = f"the training corpus shows no slots that could be combined as {name}"
        raise DstressError(problem, fix="take another of freq, neu and rare, or give a .toml or .json file")
    return Combinations(partners, where=f"combinations {name} of the training corpus")


def choose(source: str, resources: Resources, train: Material | None) -> Combinations:
    """The dictionary that a text means, in the corpus's spelling of slots.

    `freq`, `neu` and `rare` are the paper's where the corpus has MultiWOZ's slots; elsewhere they are derived from the
    training corpus, as `built-freq`, `built-neu` and `built-rare` always are. Else the text is a TOML or JSON file.
    """
    if is_table_file(source):
        return read(source).settled(resources.schema)
    name = source.removeprefix(BUILT)
    if name not in SHIPPED:
        names = (*SHIPPED, *(BUILT + each for each in SHIPPED))
        raise unknown("combination dictionary", source, names, fix="or give a .toml or .json file")
    if name == source and (adapted := shipped(name).adapted(resources.schema)) is not None:
        return adapted
    if train is None:
        problem = f"combinations={source} needs a training corpus to count in"
        raise SpecError(problem, fix="add train=, as train=sgd:train")
    return build(name, count_updates(train), resources.schema)
