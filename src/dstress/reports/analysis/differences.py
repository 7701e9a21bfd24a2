"""Where two systems differ on the same dialogues: under which stressors, and in which slots."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from dstress.reports.analysis.explain import LEVEL, shared_rows
from dstress.runs.folder import ORIGINAL
from dstress.scoring.alignment.errors import TurnErrors
from dstress.scoring.alignment.profile import ErrorProfile
from dstress.scoring.metrics.base import ratio
from dstress.scoring.scorecard import TestedDifference
from dstress.scoring.significance import holm, paired_test_of_totals


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
    """Joint accuracy of both, over all units: with an answer, and without one."""
    places = shared_rows(first.profile, second.profile)
    units = [errors.profile.units[rows] for errors, rows in zip((first, second), places, strict=True)]
    before, after = (np.column_stack((own[:, 1], own[:, (0, 4)].sum(axis=1))) for own in units)
    test = paired_test_of_totals(after, before, lambda s: ratio(s[..., 0], s[..., 1]), LEVEL, before[:, 1])
    test = test.within_bounds(LEVEL)
    wrong = [{place for place in side if side.wrong(*place)} for side in (first, second)]
    right = wrong[1] - wrong[0], wrong[0] - wrong[1]
    examples = ["{}, turn {}".format(*min(places)) if places else "" for places in right]
    return SystemRow(
        variant=variant,
        first=test.baseline,
        second=test.system,
        only_first=len(right[0]),
        only_second=len(right[1]),
        example_first=examples[0],
        example_second=examples[1],
        **test.tested(test.p),
    )


def _compare_slots(first: ErrorProfile, second: ErrorProfile) -> list[SlotDifference]:
    slots = list(dict.fromkeys((*first.slots, *second.slots)))
    sides = zip((first, second), shared_rows(first, second), strict=True)
    before, after = (profile.table(slots)[rows][..., 1:4].sum(axis=2) for profile, rows in sides)
    p_values = [
        paired_test_of_totals(after[:, [place]], before[:, [place]], lambda sums: sums[..., 0], None).p
        for place in range(len(slots))
    ]
    rows = []
    for place, (slot, p, corrected) in enumerate(zip(slots, p_values, holm(p_values), strict=True)):
        old, new = (int(side[:, place].sum()) for side in (before, after))
        differing = int((after[:, place] != before[:, place]).sum())
        rows.append(SlotDifference(slot, old, new, new - old, p, corrected, differing, len(slots)))
    return sorted(rows, key=lambda row: (-abs(row.difference), row.slot))
