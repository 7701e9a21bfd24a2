"""Where two systems differ on the same dialogues: under which stressors, and in which slots."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from dstress.alignment.errors import TurnErrors
from dstress.alignment.profile import ErrorProfile
from dstress.analysis.explain import LEVEL, SEED, resamples_for, shared_rows
from dstress.metrics.base import ratio
from dstress.runs.folder import ORIGINAL
from dstress.scoring.resampling import tolerance
from dstress.scoring.scorecard import TestedDifference
from dstress.scoring.significance import holm, paired_test_of_totals, swap_masks

_RESAMPLES = 10_000


class SystemRow(TestedDifference, frozen=True, kw_only=True):
    """Two systems on one variant: joint accuracy of both, the second's less the first's, and whether that is chance.

    `only_first` and `only_second` are turns that only the one has right; the first such turn of each is named.
    """

    variant: str
    first: float
    second: float
    only_first: int
    only_second: int
    example_first: str
    example_second: str


class SlotDifference(msgspec.Struct, frozen=True):
    """One slot of two systems on the original: how many turns have it wrong, and whether the difference is chance."""

    slot: str
    first: int
    second: int
    difference: int
    p: float
    p_holm: float
    at_floor: bool
    dialogues: int
    tests: int


class SystemDifference(msgspec.Struct, frozen=True):
    """Where two systems differ: by variant, and by slot on the original, the largest difference first."""

    first: str
    second: str
    unit: str
    systems: list[SystemRow]
    slots: list[SlotDifference]


def compare_errors(
    names: tuple[str, str], first: Mapping[str, TurnErrors], second: Mapping[str, TurnErrors], unit: str = "turn"
) -> SystemDifference:
    """Where two systems differ, on the variants that both have; they must answer to the same dialogues."""
    rows = [_compare_variant(variant, first[variant], second[variant]) for variant in first if variant in second]
    corrected = zip(rows, holm([row.p for row in rows]), strict=True)
    systems = [msgspec.structs.replace(row, p_holm=p) for row, p in corrected]
    return SystemDifference(*names, unit, systems, _compare_slots(first[ORIGINAL].profile, second[ORIGINAL].profile))


def _compare_variant(variant: str, first: TurnErrors, second: TurnErrors) -> SystemRow:
    before, after = (
        np.column_stack((units[:, 1], units[:, (0, 4)].sum(axis=1)))
        for units in (
            one.profile.units[rows]
            for one, rows in zip((first, second), shared_rows(first.profile, second.profile), strict=True)
        )
    )
    test = paired_test_of_totals(after, before, lambda s: ratio(s[..., 0], s[..., 1]), _RESAMPLES, SEED, LEVEL)
    test = test.within_bounds(LEVEL)
    wrong = [{place for place, found in one.items() if any(not e.is_right for e in found)} for one in (first, second)]
    only_first, only_second = wrong[1] - wrong[0], wrong[0] - wrong[1]
    examples = ["{}, turn {}".format(*min(places)) if places else "" for places in (only_first, only_second)]
    return SystemRow(
        variant=variant,
        first=test.baseline,
        second=test.system,
        only_first=len(only_first),
        only_second=len(only_second),
        example_first=examples[0],
        example_second=examples[1],
        **test.tested(test.p),
    )


def _compare_slots(first: ErrorProfile, second: ErrorProfile) -> list[SlotDifference]:
    slots = list(dict.fromkeys((*first.slots, *second.slots)))
    sides = zip((first, second), shared_rows(first, second), strict=True)
    before, after = (one.table(slots)[rows][..., 1:4].sum(axis=2) for one, rows in sides)
    gap = after - before
    resamples = resamples_for(len(slots))
    reached = np.ones(len(slots))
    for swapped in swap_masks(len(gap), resamples, SEED):
        noise = (1 - 2 * swapped.astype(np.float64)) @ gap
        reached += (np.abs(noise) >= np.abs(gap.sum(axis=0)) - tolerance(1.0)).sum(axis=0)
    p_values = (reached / (1 + resamples)).tolist()
    rows = []
    for place, (slot, p, corrected) in enumerate(zip(slots, p_values, holm(p_values), strict=True)):
        errors = int(before[:, place].sum()), int(after[:, place].sum())
        differing = int((gap[:, place] != 0).sum())
        floor = p <= 1 / (1 + resamples)
        rows.append(SlotDifference(slot, *errors, errors[1] - errors[0], p, corrected, floor, differing, len(slots)))
    return sorted(rows, key=lambda row: (-abs(row.difference), row.slot))
