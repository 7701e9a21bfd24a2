"""Slot-value dictionaries: for each slot, values that may stand in for the one a user said (CoCo, section 4.2).

Three come from CoCo's appendix I: `I` (in the test set, not in the training set), `O` (from outside) and `train-O`
(apart from O, for training). A person's own is a TOML or JSON file: slots with lists of values, all of them unseen, or
two tables `unseen` and `seen` of such lists. Results are always told apart by what a tracker has seen in training;
plain differences mislead.

`built` is a dictionary like I from any corpus: values that its test data have and its training data do not. Taken as
they are, such values are mostly annotators' slips: misspellings of known names, half names, a hotel as the destination
of a train; and often there are one or two of them, which then stand in hundreds of turns. So a value must be
well-formed for its kind of slot, and a slot must have `minimum` unseen ones; else it gets frequent seen values, which
are marked as seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cache, partial
from pathlib import Path
from typing import Any

from rapidfuzz import process
from rapidfuzz.distance import OSA

from dstress.dialogue import DONTCARE, Dialogue, Schema, Slot
from dstress.errors import DstressError, SpecError, unknown
from dstress.resources import Resources
from dstress.stressors.generators.goals import is_flag
from dstress.text.entity_words import entity_words
from dstress.text.letters import words_of
from dstress.text.numbers import number_of, number_words
from dstress.text.slot_names import SlotNames, kind_of
from dstress.text.tables import is_table_file, read_table, read_table_file
from dstress.text.times import time_of

TRAINING = "train-O"
SHIPPED = ("I", "O", TRAINING)
"""The dictionaries of the CoCo paper, by its names for them."""

Pools = Mapping[str, Iterable[str]]

BUILT = "built"
_MOST = 40
"""Values that a pool has at most, the most frequent ones."""
_SHARED = 0.05
"""Two slots hold the same things if so large a part of the one's uses are values of the other."""
_MOSTLY = 0.8
_RARE = 0.005
"""A seen value stands for others only if it has at least such a share of a slot's uses."""
_WORDS = 6
_SHORTEST = 4
_NAME = re.compile(r"[\w'’&.,:!?/ +-]+")
_CLOCK = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d(?: ?[ap]m)?|(?:1[0-2]|0?[1-9]) ?[ap]m", re.IGNORECASE)
_NOTHING = frozenset({"", "none", "not mentioned", "?", DONTCARE})


class Dictionary:
    """Values by slot id, the unseen ones first, each known as seen or unseen in training.

    `by_kind` are the slots that the dictionary itself lacks: their values are those of a slot of the same kind.
    """

    def __init__(self, unseen: Pools, seen: Pools | None = None, *, where: str = "a dictionary") -> None:
        self.where, self.by_kind = where, frozenset[str]()
        new, old = ({slot: tuple(values) for slot, values in part.items()} for part in (unseen, seen or {}))
        for slot, values in (*new.items(), *old.items()):
            folded = [*map(str.casefold, values)]
            if not values:
                raise DstressError(f"{slot} has no values", where=where, fix="leave the slot out: its values then stay")
            if not all(value.strip() for value in values):
                raise DstressError(f"{slot} has a value without letters", where=where)
            if twice := next((value for value in folded if folded.count(value) > 1), ""):
                raise DstressError(f"{slot} has {twice!r} twice", where=where)
        self._trained = _fold_pools(old)
        for slot, folded_new in _fold_pools(new).items():
            if both := self._trained.get(slot, frozenset()) & folded_new:
                raise DstressError(
                    f"{slot} has {min(both)!r} both as seen and as unseen", where=where, fix="keep it in one of the two"
                )
        self._pools = {slot: (*new.get(slot, ()), *old.get(slot, ())) for slot in new | old}
        if not self._pools:
            fix = 'give lists of values: "hotel-area" = ["west"]'
            raise DstressError("the dictionary is empty", where=where, fix=fix)

    @property
    def slots(self) -> tuple[str, ...]:
        """The slot ids that have values."""
        return tuple(self._pools)

    def pool(self, slot: str) -> tuple[str, ...]:
        """The values of a slot, the unseen ones first; none for a slot that the dictionary lacks."""
        return self._pools.get(slot, ())

    def is_seen(self, slot: str, value: str) -> bool:
        """Whether the training data have this value for this slot."""
        return value.casefold() in self._trained.get(slot, frozenset())

    def marked(self, trained: Pools) -> Dictionary:
        """The same values, seen and unseen as `trained` (see `values_of`) has them."""
        marked = copy(self)
        marked._trained = _fold_pools(trained)
        marked._pools = {
            slot: tuple(sorted(pool, key=partial(marked.is_seen, slot))) for slot, pool in self._pools.items()
        }
        return marked

    def settled(self, schema: Schema) -> Dictionary:
        """A person's own dictionary in the schema's spelling of slots. Every slot must be one of the schema's."""
        sources: dict[str, str] = {}
        for slot, own in settle_slots(self._pools, schema, self.where).items():
            if own in sources:
                raise DstressError(f"the slot {own} is there twice, also as {slot!r}", where=self.where)
            sources[own] = slot
        return self._with(sources, {})

    def adapted(self, schema: Schema) -> Dictionary:
        """The dictionary for the slots of any schema.

        A slot that it lacks gets what the schema lists for it, as seen values (CoCo does so, footnote 6), or else what
        the dictionary has for a slot of the same kind. Slots of neither sort stay without values.
        """
        listed: dict[str, tuple[str, ...]] = {}
        sources: dict[str, str] = {}
        kinds = {kind_of(slot): slot for slot in reversed(self._pools) if kind_of(slot)}
        for slot, entry in schema.slots.items():
            own = slot if slot in self._pools else kinds.get(kind_of(slot), "")
            if own != slot and entry.categorical:
                if values := {value.casefold(): value for value in entry.values if value.strip()}:
                    listed[slot] = tuple(values.values())
            elif own:
                sources[slot] = own
        if not (listed or sources):
            raise DstressError(
                f"it has nothing for the corpus's slots ({', '.join(list(schema.slots)[:3])} ...)",
                where=self.where,
                fix="give a dictionary for this corpus, or dictionary=built with train=",
            )
        adapted = self._with(sources, listed)
        adapted.by_kind = frozenset(slot for slot, own in sources.items() if slot != own)
        return adapted

    def _with(self, sources: Mapping[str, str], seen: Mapping[str, tuple[str, ...]]) -> Dictionary:
        """A copy with other slots: each has the values and marks of one of its own, or values that count as seen."""
        other = copy(self)
        other._pools = {slot: self._pools[own] for slot, own in sources.items()} | dict(seen)
        other._trained = {slot: self._trained[own] for slot, own in sources.items() if own in self._trained}
        other._trained |= _fold_pools(seen)
        return other


def _fold_pools(pools: Pools) -> dict[str, frozenset[str]]:
    return {slot: frozenset(map(str.casefold, values)) for slot, values in pools.items()}


def settle_slots(slots: Iterable[str], schema: Schema, where: str) -> dict[str, str]:
    """The slots of a person's own table, and how the schema spells each. Every slot must be one of the schema's."""
    names = SlotNames(schema)
    settled = {slot: names.split(slot) for slot in slots}
    for slot, own in settled.items():
        if own not in schema.slots:
            raise unknown("slot", slot, schema.slots, where=where, fix="slots are written as service-slot")
    return settled


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
    parts = (table.get("unseen", {}), table.get("seen", {})) if has_parts else (table, {})
    for slot, values in (*parts[0].items(), *parts[1].items()):
        if not isinstance(values, list) or not all(isinstance(value, str | int) for value in values):
            raise DstressError(f"{slot} is no list of values", where=where, fix=f'"{slot}" = ["one", "another"]')
    unseen, seen = ({slot: list(map(str, values)) for slot, values in part.items()} for part in parts)
    return Dictionary(unseen, seen, where=where)


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
        labels = {(slot, forms) for turn in dialogue.turns for slot, forms in turn.state.items()}
        first_forms = {(slot, forms[0]) for slot, forms in labels if forms}
        all_forms = {(slot, form) for slot, forms in labels for form in forms}
        for counts, pairs in ((preferred, first_forms), (every, all_forms)):
            for slot, form in sorted(pairs):
                values = counts.setdefault(slot, {})
                values[form] = values.get(form, 0) + 1
    return every, preferred


def choose(source: str, resources: Resources, train: str, minimum: int) -> Dictionary:
    """The dictionary that a text means, in the corpus's spelling of slots, marked by what the training corpus has."""
    schema = resources.schema
    if source in SHIPPED or is_table_file(source):
        chosen = shipped(source).adapted(schema) if source in SHIPPED else read(source).settled(schema)
        return chosen.marked(values_of(resources.load(train))) if train else chosen
    if source != BUILT and ":" not in source:
        raise unknown("dictionary", source, (*SHIPPED, BUILT), fix="or give a .toml or .json file, or a corpus:split")
    if not train:
        raise SpecError(f"dictionary={source} needs a training corpus", fix="add train=, as train=mwz21-trade:train")
    if source == BUILT:
        return build(resources.load(train), resources.corpus, schema, minimum).adapted(schema)
    other = resources.load(source)
    return build(resources.load(train), other, other.schema, minimum).adapted(schema)


def build(train: Iterable[Dialogue], test: Iterable[Dialogue], schema: Schema, minimum: int = 5) -> Dictionary:
    """Unseen, well-formed values where a slot has at least `minimum`, else frequent seen ones, marked as seen.

    `schema` is that of the test data.
    """
    trained, preferred = count_values(train)
    tested = count_values(test)[1]
    everything = {value: count for counts in trained.values() for value, count in counts.items()}
    unseen: dict[str, list[str]] = {}
    seen: dict[str, list[str]] = {}
    for slot, entry in schema.slots.items():
        # The slots of a service that training does not know are measured by what any slot has there.
        training = trained.get(slot) or everything
        new = _unseen(slot, entry, training, trained, tested)
        if len(new) >= minimum:
            unseen[slot] = new[:_MOST]
            continue
        # Values that training shows often; one that is rare is as likely a slip.
        counts = preferred.get(slot) or {
            value: count for value, count in tested.get(slot, {}).items() if value in training
        }
        least = max(2.0, _RARE * sum(counts.values()))
        old = [value for value in _by_frequency(counts) if counts[value] >= least]
        if entry.categorical:
            old = [value for value in old if value in entry.values]
        else:
            is_time = _are_mostly(time_of, counts)
            old = _without_respellings(value for value in old if not is_time or _CLOCK.fullmatch(value))
        # Of a yes or no, what nobody says is no choice: users ask for smoking, they never ask for none.
        if len(old) > 1 or (old and entry.values and all(map(is_flag, entry.values))):
            seen[slot] = old[:_MOST]
    return Dictionary(unseen, seen, where="the dictionary built from the corpus")


def _unseen(slot: str, entry: Slot, training: Mapping[str, int], trained: Counts, tested: Counts) -> list[str]:
    """Well-formed new values, the most frequent first."""
    folded = {value.casefold() for value in training}
    new = [value for value in _by_frequency(tested.get(slot, {})) if value.casefold() not in folded]
    if entry.categorical:
        return [value for value in new if value in entry.values]
    if _are_mostly(time_of, training):
        times = {time_of(value) for value in training}
        return _without_respellings(value for value in new if _CLOCK.fullmatch(value) and time_of(value) not in times)
    if _are_mostly(number_of, training):
        numbers = [number for value in training if (number := number_of(value)) is not None]
        return [value for value in new if value.isdecimal() and min(numbers) <= int(value) <= 2 * max(numbers)]
    # Values of slots that hold other things do not count: a train goes to no restaurant, a taxi does.
    own = trained.get(slot, {})
    total, elsewhere = sum(own.values()), set[str]()
    for other, counts in trained.items():
        shared = sum(n for value, n in own.items() if value in counts)
        if other != slot and total and shared < _SHARED * total:
            elsewhere.update(_core(value) for value in (*counts, *tested.get(other, ())))
    elsewhere -= {_core(value) for value in own}
    cores = sorted({core for value in training if (core := _core(value))})
    return _without_respellings(value for value in new if _core(value) not in elsewhere and _is_name(value, cores))


def _by_frequency(counts: Mapping[str, int]) -> list[str]:
    values = (value for value in counts if value.casefold() not in _NOTHING)
    return sorted(values, key=lambda value: (-counts[value], value))


def _are_mostly(kind: Callable[[str], float | None], counts: Mapping[str, int]) -> bool:
    total = sum(counts.values())
    return bool(total) and sum(n for value, n in counts.items() if kind(value) is not None) >= _MOSTLY * total


def _without_respellings(values: Iterable[str]) -> list[str]:
    """Each value in its most frequent spelling."""
    return list({"".join(words_of(value)): value for value in reversed(list(values))}.values())[::-1]


def _is_name(value: str, cores: list[str]) -> bool:
    """Whether a value looks like a name, and not like another spelling, a part or an extension of a known one."""
    words, core = words_of(value), _core(value)
    if len(words) > _WORDS or len(core) < _SHORTEST or not _NAME.fullmatch(value):
        return False
    little = entity_words("little")
    if words[-1] in little or (words[0] in little and words[0] != "the" and len(words) > 1):
        return False
    if process.extractOne(core, cores, scorer=OSA.distance, score_cutoff=max(1, len(core) // 5)):
        return False
    written = {_digits(word) for word in words}
    return not any(core in other or (len(other) >= _SHORTEST and other in core) or other in written for other in cores)


def _core(value: str) -> str:
    """The letters of a name without the words that say what it is, numbers in digits: `restaurant one seven`, `17`."""
    return "".join(_digits(word) for word in words_of(value) if word not in entity_words("idle"))


def _digits(word: str) -> str:
    return str(number_words().get(word, word))
