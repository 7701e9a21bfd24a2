"""Slot-combination dictionaries: for each slot, those that a user may say with it (CoCo, section 4.2).

Three come from CoCo's appendix H: `freq` (often said together), `rare` (seldom) and `neu` (any that makes sense). A
person's own is a TOML or JSON file: slots with lists of slots. `combination_builder` derives the three from any corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dstress.dialogue import Schema
from dstress.errors import DstressError, unknown
from dstress.stressors.values.dictionary import Dictionary
from dstress.text.slot_names import SlotNames
from dstress.text.tables import read_table, read_table_file

SHIPPED = ("freq", "neu", "rare")
"""The dictionaries of the CoCo paper, by its names for them."""

_EXAMPLE = '"hotel-area" = ["hotel-stars", "hotel-book day"]'

Lists = Mapping[str, Iterable[str]]


class Combinations:
    """For each slot id, the slots that may be added to it, in schema order."""

    def __init__(self, lists: Lists, *, where: str = "a combination dictionary") -> None:
        self.where = where
        self._lists = {slot: _checked(slot, tuple(listed), where) for slot, listed in lists.items()}
        if not any(self._lists.values()):
            raise DstressError("the combination dictionary is empty", where=where, fix=f"give lists: {_EXAMPLE}")
        self._sets = {slot: frozenset(listed) for slot, listed in self._lists.items()}

    @property
    def slots(self) -> tuple[str, ...]:
        """Every slot that it speaks of, those with a list first."""
        return tuple(dict.fromkeys((*self._lists, *(slot for listed in self._lists.values() for slot in listed))))

    def of(self, slot: str) -> tuple[str, ...]:
        """The slots that may be added where only this one is active; none for a slot without a list."""
        return self._lists.get(slot, ())

    def addable(self, active: Iterable[str]) -> tuple[str, ...]:
        """The slots that may be added to all of these at once: those that every active slot's list has.

        They are in the order of the first one's list. Where nothing is active there is nothing to add to.
        """
        slots = tuple(active)
        if not slots:
            return ()
        others = [self._sets.get(slot, frozenset()) for slot in slots[1:]]
        return tuple(slot for slot in self.of(slots[0]) if slot not in slots and all(slot in each for each in others))

    def settled(self, schema: Schema) -> Combinations:
        """A person's own dictionary in the schema's spelling and order of slots. Every slot must be the schema's."""
        names, known = SlotNames(schema), schema.slots
        settled = {slot: names.split(slot) for slot in self.slots}
        for slot, own in settled.items():
            if own not in known:
                raise unknown("slot", slot, known, where=self.where, fix="slots are written as service-slot")
        return self._renamed(settled, schema)

    def adapted(self, schema: Schema) -> Combinations | None:
        """What it says of a schema's slots; None if the schema has not even half of its slots, and so is another's."""
        names, known = SlotNames(schema), schema.slots
        settled = {slot: own for slot in self.slots if (own := names.split(slot)) in known}
        return self._renamed(settled, schema) if 2 * len(settled) >= len(self.slots) else None

    def _renamed(self, names: Mapping[str, str], schema: Schema) -> Combinations:
        """The lists of the slots that have a name in the schema, in its order."""
        order = {slot: at for at, slot in enumerate(schema.slots)}
        renamed: dict[str, list[str]] = {}
        for slot, own in sorted(names.items(), key=lambda pair: order[pair[1]]):
            if slot not in self._lists:
                continue
            if own in renamed:
                raise DstressError(f"the slot {own} is there twice, also as {slot!r}", where=self.where)
            listed = (names[other] for other in self._lists[slot] if other in names)
            renamed[own] = sorted(listed, key=order.__getitem__)
        return Combinations(renamed, where=self.where)

    def check(self, values: Dictionary) -> None:
        """A dictionary of values must have some for slots that are added. One without values is never added."""
        if not any(values.pool(slot) for listed in self._lists.values() for slot in listed):
            raise DstressError(
                f"{self.where} and {values.where} contradict each other: the one adds no slot that the other has "
                "values for",
                fix="give a combination dictionary and a slot-value dictionary for the same slots",
            )


def _checked(slot: str, listed: tuple[str, ...], where: str) -> tuple[str, ...]:
    if slot in listed:
        raise DstressError(f"{slot} is combined with itself", where=where, fix="take it out of its own list")
    if len({*listed}) < len(listed):
        twice = next(other for other in listed if listed.count(other) > 1)
        raise DstressError(f"the list of {slot} has {twice} twice", where=where)
    return listed


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
