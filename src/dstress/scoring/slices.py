"""Scores of parts: by service, domain, seen and unseen, turn, active slots, dialogue, what stressors did, and slot.

A slice is the same statistics over fewer units, for whatever is measured: one file, two systems, or several versions.
Where a key is less than a unit, its part of a unit is the slots that belong to it, over the units in which either side
fills one: a slot always is, and so is a service under a convention whose unit is the whole turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from dstress.corpora.base import Corpus
from dstress.dialogue import Turn, service_of
from dstress.errors import DstressError, unknown
from dstress.schema_names import SAME_NAMES, Names
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Booleans, Integers
from dstress.scoring.metrics.base import Floats, Metric
from dstress.scoring.scorecard import UNITS

SLICES = ("service", "domain", "seen", "turn", "active", "dialogue", "changed", "stress", "slot")
"""What scores can be cut by; of a single file, `slot` is a table of its own."""
_OF_SERVICES = ("service", "domain", "seen")
CHANGED, AS_IT_WAS = "changed", "as it was"
KEYS = {"seen": ("seen", "unseen"), "changed": (CHANGED, AS_IT_WAS)}
"""Slices whose keys are known beforehand."""

Sums = dict[str, dict[str, Floats]]
"""Key -> metric -> summed statistics; under `units`, how many units the key has."""


class Slicing(NamedTuple):
    """How versions of a corpus are cut: all of them by the names, and by the training services, of the first one."""

    by: tuple[str, ...] = ()
    seen: Collection[str] | None = None
    names: Names = SAME_NAMES
    lenient: bool = False
    """Leave out what a metric cannot be cut by."""


UNCUT = Slicing()


class Part(NamedTuple):
    """One key of a slice: the units that count, and the alignment in which they are measured."""

    units: Booleans
    alignment: Alignment


def check_slice(name: str, key: str = "", *, where: str = "") -> None:
    """Refuse a slice that does not exist, and a key that it never has."""
    if name not in SLICES:
        raise unknown("slice", name, SLICES, where=where, fix=f"choose from {', '.join(SLICES)}")
    if key and key not in KEYS.get(name, (key,)):
        raise unknown(f"key of the slice {name!r}", key, KEYS[name], where=where)


def missing_key(name: str, key: str, keys: Collection[str]) -> DstressError:
    """Why there is no such part: nothing here has the key, or the key is misspelt."""
    is_right = key in KEYS.get(name, keys)
    return DstressError(f"nothing here is {key!r}") if is_right else unknown(name, key, keys)


def possible_slices(names: Iterable[str], corpus: Corpus, *, lenient: bool = False) -> tuple[str, ...]:
    """The slices that a corpus can be cut by; an error says what it lacks, but with `lenient` they are left out."""
    impossible = {}
    if corpus.seen is None:
        impossible["seen"] = "the services of its training data are not known"
    if not corpus.stressed:
        impossible["changed"] = "it is no stressed corpus"
    kept = [name for name in names if name not in impossible]
    for name in names:
        check_slice(name)
        if name in impossible and not lenient:
            possible = ", ".join(other for other in SLICES if other not in impossible)
            problem = f"no slice {name!r}: {impossible[name]}"
            raise DstressError(problem, where=corpus.signature, fix=f"{_FIXES[name]}; or choose from {possible}")
    return tuple(kept)


_FIXES = {
    "seen": "name a gold that comes with its training split: an imported corpus that has one, a folder with one in it",
    "changed": "name a stressed corpus as gold, or pair it with `dstress versions COPY --original ORIGINAL`",
}


def sliced(
    name: str, alignment: Alignment, metrics: dict[str, Metric], tables: dict[str, Floats], seen: Collection[str] | None
) -> Sums:
    """Sums of every metric for every key of a slice. `tables` are the metrics' statistics of the whole alignment."""
    slicing = Slicing((name,), seen)
    if not cuts_units(name, alignment):
        return _by_group(alignment, metrics, tables, _unit_groups(name, alignment, slicing), name != "dialogue")
    return {
        key: {UNITS: np.array([part.units.sum()], np.float64)}
        | {
            metric: made.statistics(part.alignment)[slice(None) if made.by_dialogue else part.units].sum(axis=0)
            for metric, made in metrics.items()
            if made.restrictable and not (made.by_dialogue and name == "slot")
        }
        for key, part in parts(name, alignment, slicing).items()
    }


def cuts_units(name: str, alignment: Alignment) -> bool:
    """Whether a key of the slice is less than a unit."""
    return name == "slot" or (name in _OF_SERVICES and alignment.convention.unit == "turn")


def parts(name: str, alignment: Alignment, slicing: Slicing) -> dict[str, Part]:
    """What belongs to each key of a slice."""
    if not cuts_units(name, alignment):
        keys, group = _unit_groups(name, alignment, slicing)
        return {key: Part(group == number, alignment) for number, key in enumerate(keys)}
    if name == "slot":
        filled = np.unique(alignment.slot[alignment.gold | alignment.predicted])
        slots = [alignment.columns.slots[number] for number in filled.tolist()]
        cut = {slot: alignment.restricted(frozenset((service_of(slot),)), slot) for slot in slots}
        return {slicing.names.slot_id(slot): Part(_units_filled(part), part) for slot, part in cut.items()}
    cut_parts, columns = {}, alignment.columns
    for key, services in service_groups(name, alignment, slicing).items():
        part = alignment.restricted(services)
        units = _units_filled(part)
        if alignment.convention.within_schema:  # frames are what counts
            is_of_service = np.array([service in services for service in columns.services], bool)
            turns = columns.frame_turn[is_of_service[columns.frame_service]]
            units = np.bincount(turns, minlength=part.units) > 0
        cut_parts[key] = Part(units, part)
    return cut_parts


def service_groups(name: str, alignment: Alignment, slicing: Slicing) -> dict[str, frozenset[str]]:
    """Which services make up each key of a service slice. SGD's domain of `Hotels_2` is `Hotels`."""
    groups: dict[str, set[str]] = {}
    in_use = alignment.columns.frame_service
    if not alignment.convention.within_schema:
        in_use = alignment.columns.slot_service[alignment.slot[alignment.gold | alignment.predicted]]
    for number in np.unique(in_use).tolist():
        service = alignment.columns.services[number]
        called = slicing.names.services.get(service, service)
        if name == "domain":
            called = called.partition("_")[0]
        elif name == "seen":
            called = "seen" if called in (slicing.seen or ()) else "unseen"
        groups.setdefault(called, set()).add(service)
    return {key: frozenset(members) for key, members in sorted(groups.items())}


def _units_filled(part: Alignment) -> Booleans:
    """Units with a slot on either side."""
    return np.asarray(part.per_unit(part.gold | part.predicted) > 0, bool)


def _unit_groups(name: str, alignment: Alignment, slicing: Slicing) -> tuple[list[str], Integers]:
    """The keys of a slice, and for each unit the number of its key; -1 for none."""
    columns = alignment.columns
    if name in _OF_SERVICES:
        groups = service_groups(name, alignment, slicing)
        number = {service: index for index, members in enumerate(groups.values()) for service in members}
        by_service = np.array([number.get(service, -1) for service in columns.services])
        return list(groups), by_service[alignment.unit_service]
    if name == "dialogue":
        return columns.dialogues, alignment.unit_dialogue
    if name in ("stress", "changed"):
        labels = [stressed_as(turn) for turn in columns.turns]
        if name == "changed":
            labels = [CHANGED if turn.changed else AS_IT_WAS for turn in columns.turns]
        keys = sorted(set(labels))
        return keys, np.array([keys.index(key) for key in labels], np.int64)[alignment.unit_turn]
    if name == "turn":
        group = columns.turn_number[alignment.unit_turn]
    else:
        group = alignment.per_unit(alignment.gold).astype(np.int64)
    return [str(number) for number in range(int(group.max(initial=0)) + 1)], group


def stressed_as(turn: Turn) -> str:
    """What stressors did to a turn: its tags, such as `unseen` values; `changed` without tags; else `as it was`."""
    if turn.stress is None or not turn.changed:
        return AS_IT_WAS
    return " and ".join(sorted(set(turn.stress.tags))) or CHANGED


def _by_group(
    alignment: Alignment,
    metrics: dict[str, Metric],
    tables: dict[str, Floats],
    groups: tuple[list[str], Integers],
    keys_are_turns: bool,
) -> Sums:
    keys, group = groups
    sizes = np.bincount(group, minlength=len(keys)).astype(np.float64)
    result: Sums = {key: {UNITS: size} for key, size in zip(keys, sizes[:, None], strict=True)}
    for name, metric in metrics.items():
        if (metric.by_turn and alignment.convention.unit == "frame") or (metric.by_dialogue and keys_are_turns):
            continue
        sums = np.column_stack([np.bincount(group, column, len(keys)) for column in tables[name].T])
        for key, row in zip(keys, sums, strict=True):
            result[key][name] = row
    return result


def slot_counts(alignment: Alignment) -> dict[str, Floats]:
    """right, wrong, missed, extra of every slot that either side ever fills."""
    kinds = (alignment.right, alignment.wrong, alignment.missed, alignment.extra)
    size = len(alignment.columns.slots)
    table = np.column_stack([np.bincount(alignment.slot[cells], minlength=size) for cells in kinds]).astype(np.float64)
    return {slot: row for slot, row in zip(alignment.columns.slots, table, strict=True) if row.any()}


def confusions(alignment: Alignment) -> Iterator[tuple[str, str, str, int]]:
    """(slot, gold, predicted, times) of wrong values."""
    cells = np.flatnonzero(alignment.wrong)
    pairs = zip(
        alignment.slot[cells].tolist(),
        alignment.gold_form[cells].tolist(),
        alignment.predicted_form[cells].tolist(),
        strict=True,
    )
    for (slot, gold, predicted), times in Counter(pairs).items():
        right, answer = ("|".join(sorted(alignment.forms[form])) for form in (gold, predicted))
        yield alignment.columns.slots[slot], right, answer, times
