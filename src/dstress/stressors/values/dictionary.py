"""Slot-value dictionaries: for each slot, values that may stand in for the one a user said (CoCo, section 4.2).

Three come from CoCo's appendix I: `I` (in the test set, not in the training set), `O` (from outside) and `train-O`
(apart from O, for training). A person's own is a TOML or JSON file: slots with lists of values, all of them unseen, or
two tables `unseen` and `seen` of such lists. Results are always told apart by what a tracker has seen in training;
plain differences mislead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dstress.dialogue import Dialogue, Schema, State
from dstress.errors import DstressError, unknown
from dstress.text.slot_kinds import kind_of
from dstress.text.slot_names import SlotNames
from dstress.text.tables import read_table, read_table_file

TRAINING = "train-O"
SHIPPED = ("I", "O", TRAINING)
"""The dictionaries of the CoCo paper, by its names for them."""

Pools = Mapping[str, Iterable[str]]


class Dictionary:
    """Values by slot id, each known as seen or unseen in training."""

    def __init__(
        self, unseen: Pools, seen: Pools | None = None, *, where: str = "a dictionary", by_kind: Iterable[str] = ()
    ) -> None:
        self.where = where
        self.by_kind = frozenset(by_kind)
        """The slots that the dictionary itself lacks: their values are those of a slot of the same kind."""
        self._unseen = _check_pools(unseen, where)
        self._seen = _check_pools(seen or {}, where)
        self._pools: dict[str, tuple[str, ...]] = {}
        for slot in dict.fromkeys((*self._unseen, *self._seen)):
            new, known = self._unseen.get(slot, ()), self._seen.get(slot, ())
            both = {value.casefold() for value in new} & {value.casefold() for value in known}
            if both:
                raise DstressError(
                    f"{slot} has {min(both)!r} both as seen and as unseen", where=where, fix="keep it in one of the two"
                )
            self._pools[slot] = (*new, *known)
        if not self._pools:
            raise DstressError(
                "the dictionary is empty", where=where, fix='give lists of values: "hotel-area" = ["west"]'
            )
        self._known = {slot: frozenset(map(str.casefold, pool)) for slot, pool in self._seen.items()}

    @property
    def slots(self) -> tuple[str, ...]:
        """The slot ids that have values."""
        return tuple(self._pools)

    def pool(self, slot: str) -> tuple[str, ...]:
        """The values of a slot, the unseen ones first; none for a slot that the dictionary lacks."""
        return self._pools.get(slot, ())

    def is_seen(self, slot: str, value: str) -> bool:
        """Whether the training data have this value for this slot."""
        return value.casefold() in self._known.get(slot, frozenset())

    def marked(self, trained: Mapping[str, Iterable[str]]) -> Dictionary:
        """The same values, seen and unseen as `trained` (see `values_of`) has them."""
        known = {slot: frozenset(map(str.casefold, values)) for slot, values in trained.items()}
        parts: tuple[dict[str, list[str]], dict[str, list[str]]] = {}, {}
        for slot, pool in self._pools.items():
            for value in pool:
                parts[value.casefold() in known.get(slot, ())].setdefault(slot, []).append(value)
        made = Dictionary(*parts, where=self.where, by_kind=self.by_kind)
        made._known = known  # so that values that are not of the dictionary are known as well
        return made

    def settled(self, schema: Schema) -> Dictionary:
        """A person's own dictionary in the schema's spelling of slots. Every slot must be one of the schema's."""
        names, known = SlotNames(schema), schema.slots
        settled: dict[str, str] = {}
        for slot in self._pools:
            own = names.split(slot)
            if own not in known:
                raise unknown("slot", slot, known, where=self.where, fix="slots are written as service-slot")
            if own in settled.values():
                raise DstressError(f"the slot {own} is there twice, also as {slot!r}", where=self.where)
            settled[slot] = own
        parts = ({settled[slot]: pool for slot, pool in part.items()} for part in (self._unseen, self._seen))
        return Dictionary(*parts, where=self.where)

    def adapted(self, schema: Schema) -> Dictionary:
        """The dictionary for the slots of any schema.

        A slot that it lacks gets what the schema lists for it, as seen values (CoCo does so, footnote 6), or else what
        the dictionary has for a slot of the same kind. Slots of neither sort stay without values.
        """
        unseen: dict[str, tuple[str, ...]] = {}
        seen: dict[str, tuple[str, ...]] = {}
        kinds = {kind_of(slot): slot for slot in reversed(self._pools) if kind_of(slot)}
        by_kind = []
        for slot, entry in schema.slots.items():
            own = slot if slot in self._pools else kinds.get(kind_of(slot), "")
            if own != slot and entry.categorical:
                listed = tuple({value.casefold(): value for value in entry.values if value.strip()}.values())
                seen |= {slot: listed} if listed else {}
                continue
            if own != slot:
                by_kind.append(slot)
            unseen |= {slot: self._unseen[own]} if own in self._unseen else {}
            seen |= {slot: self._seen[own]} if own in self._seen else {}
        if not unseen and not seen:
            raise DstressError(
                f"it has nothing for the corpus's slots ({', '.join(list(schema.slots)[:3])} ...)",
                where=self.where,
                fix="give a dictionary for this corpus, or dictionary=built with train=",
            )
        return Dictionary(unseen, seen, where=self.where, by_kind=by_kind)


def _check_pools(pools: Pools, where: str) -> dict[str, tuple[str, ...]]:
    checked = {}
    for slot, listed in pools.items():
        values = tuple(listed)
        if not values:
            raise DstressError(f"{slot} has no values", where=where, fix="leave the slot out: its values then stay")
        if not all(value.strip() for value in values):
            raise DstressError(f"{slot} has a value without letters", where=where)
        folded = [value.casefold() for value in values]
        if len({*folded}) < len(folded):
            twice = next(value for value in folded if folded.count(value) > 1)
            raise DstressError(f"{slot} has {twice!r} twice", where=where)
        checked[slot] = values
    return checked


@cache
def shipped(name: str) -> Dictionary:
    """One of CoCo's dictionaries: `I`, `O` or `train-O`."""
    return _read(read_table(__package__, f"dictionaries/{name}.toml"), f"dictionary {name}")


def read(path: str | Path) -> Dictionary:
    """A person's own dictionary, TOML or JSON."""
    return _read(read_table_file(path, "dictionary"), str(path))


def _read(table: Any, where: str) -> Dictionary:
    if not isinstance(table, dict):
        raise DstressError("a dictionary is a table of slots with lists of values", where=where)
    has_parts = table.keys() <= {"seen", "unseen"} and all(isinstance(part, dict) for part in table.values())
    unseen, seen = (table.get("unseen", {}), table.get("seen", {})) if has_parts else (table, {})
    return Dictionary(_lists(unseen, where), _lists(seen, where), where=where)


def _lists(part: Mapping[str, Any], where: str) -> dict[str, list[str]]:
    for slot, values in part.items():
        if not isinstance(values, list) or not all(isinstance(value, str | int) for value in values):
            raise DstressError(f"{slot} is no list of values", where=where, fix=f'"{slot}" = ["one", "another"]')
    return {slot: [str(value) for value in values] for slot, values in part.items()}


Counts = dict[str, dict[str, int]]
"""Slot id -> values, and in how many dialogues each is."""


def values_of(dialogues: Iterable[Dialogue]) -> Counts:
    """The values of a corpus's states, every accepted form."""
    return count_values(dialogues)[0]


def count_values(dialogues: Iterable[Dialogue]) -> tuple[Counts, Counts]:
    """The values of a corpus's states: all accepted forms, and only the preferred ones."""
    every: Counts = {}
    preferred: Counts = {}
    for dialogue in dialogues:
        labels: dict[tuple[str, tuple[str, ...]], None] = {}
        before: State = {}
        for turn in dialogue.turns:
            if turn.state != before:
                labels.update(((slot, forms), None) for slot, forms in turn.state.items() if before.get(slot) != forms)
                before = turn.state
        first_forms = {(slot, forms[0]) for slot, forms in labels if forms}
        all_forms = {(slot, form) for slot, forms in labels for form in forms}
        for counts, pairs in ((preferred, first_forms), (every, all_forms)):
            for slot, form in sorted(pairs):
                values = counts.setdefault(slot, {})
                values[form] = values.get(form, 0) + 1
    return every, preferred
