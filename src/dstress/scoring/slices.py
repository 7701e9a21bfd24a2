"""Scores of parts: by service, domain, seen and unseen, turn, active slots, dialogue, what stressors did, and slot.

A slice is sums of the same statistics over fewer units. Under a convention whose unit is the whole turn, a service's
part is the turn's slots of that service, over the turns in which either side uses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator

import numpy as np

from dstress.alignment.cells import Alignment
from dstress.alignment.columns import Booleans, Integers
from dstress.dialogue import Turn
from dstress.metrics.base import Floats, Metric

SLICES = ("service", "domain", "seen", "turn", "active", "dialogue", "stress", "slot")
"""What scores can be cut by; `slot` is a table of its own."""

Sums = dict[str, dict[str, Floats]]
"""Key -> metric -> summed statistics."""


def sliced(
    name: str, alignment: Alignment, metrics: dict[str, Metric], tables: dict[str, Floats], seen: Collection[str] | None
) -> Sums:
    """Sums of every metric for every key of a slice. `tables` are the metrics' statistics of the whole alignment."""
    if name in ("service", "domain", "seen"):
        groups = service_groups(name, alignment, seen)
        if alignment.convention.unit == "turn":
            return _by_restriction(alignment, metrics, groups)
        number = {service: index for index, members in enumerate(groups.values()) for service in members}
        by_service = np.array([number.get(service, -1) for service in alignment.columns.services])
        return _by_group(alignment, metrics, tables, (list(groups), by_service[alignment.unit_service]))
    return _by_group(alignment, metrics, tables, _unit_groups(name, alignment))


def service_groups(name: str, alignment: Alignment, seen: Collection[str] | None) -> dict[str, frozenset[str]]:
    """Which services make up each key of a service slice. SGD's domain of `Hotels_2` is `Hotels`."""
    used = [alignment.columns.services[number] for number in np.unique(_services_in_use(alignment)).tolist()]
    naming: dict[str, Callable[[str], str]] = {
        "service": lambda service: service,
        "domain": lambda service: service.partition("_")[0],
        "seen": lambda service: "seen" if seen is not None and service in seen else "unseen",
    }
    groups: dict[str, set[str]] = {}
    for service in used:
        groups.setdefault(naming[name](service), set()).add(service)
    return {key: frozenset(members) for key, members in sorted(groups.items())}


def _services_in_use(alignment: Alignment) -> Integers:
    if alignment.convention.within_schema:
        return alignment.columns.frame_service
    filled = alignment.gold | alignment.predicted
    return np.asarray(alignment.columns.slot_service[alignment.slot[filled]], np.int64)


def _by_restriction(alignment: Alignment, metrics: dict[str, Metric], groups: dict[str, frozenset[str]]) -> Sums:
    result: Sums = {}
    for key, services in groups.items():
        part = alignment.restricted(services)
        units = _units_with(part, services)
        result[key] = {
            name: metric.statistics(part)[units].sum(axis=0) for name, metric in metrics.items() if metric.restrictable
        }
    return result


def _units_with(part: Alignment, services: frozenset[str]) -> Booleans:
    """Turns with a frame of these services, where frames are what counts; else with a slot of theirs on either side."""
    columns = part.columns
    if part.convention.within_schema:
        wanted = np.array([service in services for service in columns.services], bool)
        return np.bincount(columns.frame_turn[wanted[columns.frame_service]], minlength=part.units) > 0
    return np.asarray(part.per_unit(part.gold | part.predicted) > 0, bool)


def _unit_groups(name: str, alignment: Alignment) -> tuple[list[str], Integers]:
    columns = alignment.columns
    if name == "dialogue":
        return columns.dialogues, alignment.unit_dialogue
    if name == "stress":
        told = [stressed_as(turn) for turn in columns.turns]
        keys = sorted(set(told))
        return keys, np.array([keys.index(key) for key in told], np.int64)[alignment.unit_turn]
    if name == "turn":
        group = columns.turn_index[alignment.unit_turn]
    else:
        group = alignment.per_unit(alignment.gold).astype(np.int64)
    return [str(number) for number in range(int(group.max(initial=0)) + 1)], group


def stressed_as(turn: Turn) -> str:
    """What stressors did to a turn: its tags, such as `unseen` values; `changed` without tags; else `as it was`."""
    if turn.stress is None or not turn.changed:
        return "as it was"
    return " and ".join(sorted(set(turn.stress.tags))) or "changed"


def _by_group(
    alignment: Alignment, metrics: dict[str, Metric], tables: dict[str, Floats], groups: tuple[list[str], Integers]
) -> Sums:
    keys, group = groups
    result: Sums = {key: {} for key in keys}
    for name, metric in metrics.items():
        if metric.by_turn and alignment.convention.unit == "frame":
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
        wanted, given = ("|".join(sorted(alignment.forms[form])) for form in (gold, predicted))
        yield alignment.columns.slots[slot], wanted, given, times
