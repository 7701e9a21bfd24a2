"""What a tracker does wrong, in tables that a person can act on: slots, kinds of errors, what lasts, what to mend.

Counts are of turns (or frames) with an answer. Dialogues are resampled, never turns. Where many slots and stressors are
tested at once, p-values are by approximate randomisation over dialogues, after Holm's correction over all of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from dstress.alignment.errors import EXTRA, WRONG, SlotError, TurnErrors
from dstress.alignment.profile import COUNTS, KINDS, ErrorProfile
from dstress.dialogue import Dialogue, Schema
from dstress.metrics.base import Floats, ratio
from dstress.metrics.grounding import NO_NAME, is_grounded
from dstress.runs.folder import ORIGINAL
from dstress.schema_names import SAME_NAMES, Names
from dstress.scoring.resampling import Bounds, Interval, interval, resampled_sums, tolerance, unseen_share
from dstress.scoring.scorecard import TestedDifference
from dstress.scoring.significance import holm, paired_test_of_totals, swap_masks
from dstress.text.slot_names import is_named_entity_slot

RESAMPLES, SEED, LEVEL = 2000, 1, 0.95
_PER_TEST, _MOST_RESAMPLES = 25, 20_000
"""Resamples grow with the number of tests, or Holm's correction would leave no p-value small."""
_WITH_INTERVALS = 3
_MOST_STEPS = 5
_RIGHT, _MISSED, _WRONG, _OVERSHOT = range(4)
_AT_STAKE = COUNTS.index("at stake")


class SlotRow(msgspec.Struct, frozen=True):
    """One slot on the original. `recall` is how many of its gold values are right, with its interval over dialogues.

    `accuracy` is joint accuracy as it is, `mended` what it would be, were this slot always right and all else as it is,
    `at_stake` the difference.
    """

    slot: str
    gold: int
    right: int
    missed: int
    wrong: int
    overshot: int
    fresh: int
    recall: float
    low: float
    high: float
    dialogues: int
    accuracy: float
    mended: float
    at_stake: float
    at_stake_low: float
    at_stake_high: float
    dialogues_at_stake: int


class KindRow(msgspec.Struct, frozen=True):
    """One kind of error: in how many turns it stands, how often it is made, and what accuracy is without it."""

    kind: str
    cells: int
    fresh: int
    of: int
    """All errors that are made, of every kind; `share` is the kind's of these."""
    share: float
    accuracy: float
    without: float
    at_stake: float


class TurnRow(msgspec.Struct, frozen=True):
    """Turns, or frames: right, wrong; and of the wrong, those that make an error and those that only carry one on.

    `lasting` is for how many an error stands on average; `values` are gold's in all of them, `recall` how many are
    right.
    """

    units: int
    unanswered: int
    wrong: int
    making: int
    carrying: int
    carrying_share: float
    lasting: float
    errors: int
    fresh: int
    dialogues: int
    dialogues_wrong: int
    values: int
    recall: float


class FixStep(msgspec.Struct, frozen=True):
    """Slots to mend one after the other: each is the one that then raises joint accuracy most."""

    step: int
    slot: str
    accuracy: float
    gain: float


class Interaction(TestedDifference, frozen=True, kw_only=True):
    """A slot under a stressor: how its recall changes, how that of all others does, and whether the difference of the
    two changes is chance."""

    slot: str
    stressor: str
    original: float
    stressed: float
    change: float
    others: float
    tests: int


class Invention(msgspec.Struct, frozen=True):
    """A name that a tracker predicts wrongly and that nobody has said by then, and the first place of it."""

    slot: str
    value: str
    times: int
    dialogues: int
    dialogue: str
    turn: int


class NameRow(msgspec.Struct, frozen=True):
    """Wrong or overshot names that were predicted anew, those of them that nobody had said, and the share of these.

    `highest` is the most that the share may be where none was found: the exact form of the rule of three.
    """

    predicted: int
    unsaid: int
    share: float
    highest: float
    dialogues: int
    dialogues_unsaid: int


class ErrorStudy(msgspec.Struct, frozen=True):
    """Every table of one system, on the original but for the interactions."""

    unit: str
    slots: list[SlotRow]
    kinds: list[KindRow]
    turns: list[TurnRow]
    fixes: list[FixStep]
    interactions: list[Interaction]
    inventions: list[Invention]
    names: list[NameRow]


class Answers(NamedTuple):
    """What a study reads: errors of each variant, the original's words and schema, and variants' names turned back."""

    errors: Mapping[str, TurnErrors]
    dialogues: Iterable[Dialogue]
    schema: Schema
    names: Mapping[str, Names]
    unit: str = "turn"


def study_errors(answers: Answers) -> ErrorStudy:
    """Every table."""
    errors = answers.errors[ORIGINAL]
    profile = errors.profile
    inventions, names = _find_inventions(errors, answers.dialogues, answers.schema)
    return ErrorStudy(
        answers.unit,
        _slot_rows(profile),
        _kind_rows(profile),
        _turn_rows(profile),
        _fix_steps(profile),
        _find_interactions(answers),
        inventions,
        names,
    )


def _slot_rows(profile: ErrorProfile) -> list[SlotRow]:
    """Slots that gold uses, the weakest first: that with the lowest upper end, so that a rare slot is not the first."""
    table, accuracy = profile.table(), profile.accuracy_with()
    sums, units = table.sum(axis=0), profile.units[:, (0, 4)].sum(axis=1)
    columns = np.stack((table[..., _RIGHT], table[..., : _WRONG + 1].sum(axis=2), table[..., _AT_STAKE]), axis=2)
    wide = np.column_stack((columns.reshape(len(table), -1), units))
    resampled = resampled_sums(wide, RESAMPLES, SEED)  # one set for all slots
    rows = []
    for place, slot in enumerate(profile.slots):
        gold, stake = columns[:, place, 1], columns[:, place, 2]
        if not gold.sum():
            continue
        right, missed, wrong, overshot = (int(sums[place, kind]) for kind in (_RIGHT, _MISSED, _WRONG, _OVERSHOT))
        seen, mended = int((gold > 0).sum()), profile.accuracy_with(slots=[slot])
        recall = right / float(gold.sum()), *_ends(resampled[:, [3 * place, 3 * place + 1]], seen), seen
        ends = _ends(resampled[:, [3 * place + 2, -1]], len(table))
        at_stake = mended - accuracy, *ends, int((stake > 0).sum())
        errors = (missed, wrong, overshot, int(sums[place, 4:_AT_STAKE].sum()))
        rows.append(SlotRow(slot, int(gold.sum()), right, *errors, *recall, accuracy, mended, *at_stake))
    return sorted(rows, key=lambda row: (row.high, row.slot))


def _ends(resampled: Floats, dialogues: int) -> Interval:
    return interval(None, resampled, lambda s: ratio(s[..., 0], s[..., 1]), LEVEL, "percentile", Bounds(dialogues))


def _kind_rows(profile: ErrorProfile) -> list[KindRow]:
    sums = profile.table().sum(axis=(0, 1))
    made, accuracy = sums[4:_AT_STAKE], profile.accuracy_with()
    rows = []
    for place, kind in enumerate(KINDS):
        without = profile.accuracy_with(kind=kind)
        share = float(made[place] / made.sum()) if made.sum() else math.nan
        figures = (int(made.sum()), share, accuracy, without, without - accuracy)
        rows.append(KindRow(kind, int(sums[1 + place]), int(made[place]), *figures))
    return rows


def _turn_rows(profile: ErrorProfile) -> list[TurnRow]:
    sums = profile.table().sum(axis=(0, 1))
    units, _, wrong, making, unanswered = profile.units.sum(axis=0).astype(int).tolist()
    errors, fresh = int(sums[1:4].sum()), int(sums[4:_AT_STAKE].sum())
    shares = float(ratio(wrong - making, wrong)), float(ratio(errors, fresh))
    dialogues = len(profile.dialogues), int((profile.units[:, 2] > 0).sum())
    values = int(sums[: _WRONG + 1].sum()), float(ratio(sums[_RIGHT], sums[: _WRONG + 1].sum()))
    counts = (units, unanswered, wrong, making, wrong - making)
    return [TurnRow(*counts, *shares, errors, fresh, *dialogues, *values)]


def _fix_steps(profile: ErrorProfile) -> list[FixStep]:
    """The greedy order; ties go to the slot that was filled first."""
    steps: list[FixStep] = []
    mended: list[str] = []
    accuracy = profile.accuracy_with()
    broken = {error.slot for errors in profile.broken for error in errors}
    left = [slot for slot in profile.slots if slot in broken]
    while left and len(steps) < _MOST_STEPS:
        best = max(left, key=lambda slot: profile.accuracy_with(slots=[*mended, slot]))
        then = profile.accuracy_with(slots=[*mended, best])
        if then <= accuracy:
            break
        steps.append(FixStep(len(steps) + 1, best, then, then - accuracy))
        accuracy = then
        mended.append(best)
        left.remove(best)
    return steps


def _find_interactions(answers: Answers) -> list[Interaction]:
    """Slots that a stressor hits otherwise than the other slots, beyond chance after Holm's correction over all.

    The difference of differences: the slot's recall under the stressor less that on the original, less the same of all
    other slots together. Intervals are those of the first few.
    """
    before = answers.errors[ORIGINAL].profile
    slots = before.slots
    pairs = {
        variant: _side_by_side(before, errors.profile, slots, answers.names.get(variant, SAME_NAMES))
        for variant, errors in answers.errors.items()
        if variant != ORIGINAL
    }
    resamples = resamples_for(len(slots) * len(pairs))
    tested = {variant: _randomise(*pair, resamples) for variant, pair in pairs.items()}
    places = [(variant, place) for variant in pairs for place in range(len(slots))]
    p_values = [tested[variant][place] for variant, place in places]
    made = sum(not math.isnan(p) for p in p_values)
    found = []
    for (variant, place), p, corrected in zip(places, p_values, holm(p_values), strict=True):
        if corrected <= 1 - LEVEL:
            sums = [table.sum(axis=0) for table in pairs[variant]]
            first, second = (float(ratio(*side[place])) for side in sums)
            rest = [float(ratio(*(side.sum(axis=0) - side[place]))) for side in sums]
            change, others = second - first, rest[1] - rest[0]
            row = Interaction(
                slot=slots[place],
                stressor=variant,
                original=first,
                stressed=second,
                change=change,
                others=others,
                difference=change - others,
                low=math.nan,
                high=math.nan,
                p=p,
                p_holm=corrected,
                at_floor=p <= 1 / (1 + resamples),
                dialogues=int((np.add(*pairs[variant])[:, place, 1] > 0).sum()),
                tests=made,
            )
            found.append((place, row))
    found.sort(key=lambda item: (item[1].change >= 0, item[1].difference))  # first what is hit, and harder than others
    return [
        _with_interval(row, pairs[row.stressor], place, resamples) if number < _WITH_INTERVALS else row
        for number, (place, row) in enumerate(found)
    ]


def resamples_for(tests: int) -> int:
    """As many that the smallest p-value there can be survives Holm's correction over so many tests."""
    return min(_MOST_RESAMPLES, max(RESAMPLES, _PER_TEST * tests))


def _side_by_side(
    before: ErrorProfile, after: ErrorProfile, slots: Sequence[str], names: Names
) -> tuple[Floats, Floats]:
    """(dialogues, slots, right and gold) of the dialogues that both have, by the original's names of slots."""
    called = {names.slot_id(slot): slot for slot in after.slots}
    sides = before.table(slots), after.table([called.get(slot, slot) for slot in slots])
    chosen = (table[rows] for table, rows in zip(sides, shared_rows(before, after), strict=True))
    first, second = (np.stack((t[..., _RIGHT], t[..., : _WRONG + 1].sum(axis=2)), axis=2) for t in chosen)
    return first, second


def shared_rows(first: ErrorProfile, second: ErrorProfile) -> tuple[list[int], list[int]]:
    """Where each has the dialogues that both have."""
    place = {dialogue: number for number, dialogue in enumerate(second.dialogues)}
    shared = [number for number, dialogue in enumerate(first.dialogues) if dialogue in place]
    return shared, [place[first.dialogues[number]] for number in shared]


def _contrast(sums: Floats) -> Floats:
    """Each slot's recall less that of all the others, from (..., slots, right and gold)."""
    rest = sums.sum(axis=-2, keepdims=True) - sums
    return ratio(sums[..., 0], sums[..., 1]) - ratio(rest[..., 0], rest[..., 1])


def _randomise(original: Floats, stressed: Floats, resamples: int) -> list[float]:
    """For every slot at once, the p-value of approximate randomisation (see `scoring.significance`)."""
    dialogues, slots, _ = original.shape
    swap = (original - stressed).reshape(dialogues, -1).astype(np.float32)  # counts, so half the bits lose nothing
    before, after = original.sum(axis=0), stressed.sum(axis=0)
    difference = _contrast(after) - _contrast(before)
    reached, known = np.ones(slots), np.ones(slots)
    for swapped in swap_masks(dialogues, resamples, SEED):
        moved = (swapped.astype(np.float32) @ swap).astype(np.float64).reshape(-1, slots, 2)
        noise = np.abs(_contrast(after + moved) - _contrast(before - moved))
        known += np.isfinite(noise).sum(axis=0)
        reached += (noise >= np.abs(difference) - tolerance(1.0)).sum(axis=0)
    return np.where(np.isfinite(difference), reached / known, math.nan).tolist()  # type: ignore[no-any-return]


def _with_interval(row: Interaction, pair: tuple[Floats, Floats], place: int, resamples: int) -> Interaction:
    def totals(table: Floats) -> Floats:
        return np.column_stack((table[:, place], table.sum(axis=1) - table[:, place]))

    def value(sums: Floats) -> Floats:
        return ratio(sums[..., 0], sums[..., 1]) - ratio(sums[..., 2], sums[..., 3])

    test = paired_test_of_totals(totals(pair[1]), totals(pair[0]), value, resamples, SEED, LEVEL)
    return msgspec.structs.replace(row, low=test.low, high=test.high)


def _find_inventions(
    errors: TurnErrors, dialogues: Iterable[Dialogue], schema: Schema
) -> tuple[list[Invention], list[NameRow]]:
    """Names that nobody said, the most frequent first; nothing where the dialogues have no words.

    A name counts where it is predicted anew, not in the turns that carry it on.
    """
    times: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], dict[str, int]] = {}
    predicted, has_words, naming = 0, False, set[str]()
    for dialogue in dialogues:
        said: list[str] = []
        before: set[tuple[str, str]] = set()
        for number, turn in enumerate(dialogue.turns):
            has_words = has_words or bool(turn.user)
            said += [turn.system, turn.user]
            named = {(e.slot, e.value) for e in errors.get((dialogue.id, number), ()) if _is_name(e, schema)}
            for name in sorted(named - before):
                predicted += 1
                naming.add(dialogue.id)
                if not is_grounded(name[1], said):
                    times[name] += 1
                    places.setdefault(name, {}).setdefault(dialogue.id, number)
            before = named
    if not has_words:
        return [], []
    rows = [
        Invention(*name, number, len(places[name]), *next(iter(places[name].items())))
        for name, number in times.most_common()
    ]
    inventing = {dialogue for found in places.values() for dialogue in found}
    share, highest = float(ratio(times.total(), predicted)), unseen_share(len(naming), LEVEL)
    highest = math.nan if times or not predicted else highest
    return rows, [NameRow(predicted, times.total(), share, highest, len(naming), len(inventing))]


def _is_name(error: SlotError, schema: Schema) -> bool:
    is_predicted = error.kind in (WRONG, EXTRA) and error.value.casefold() not in NO_NAME
    return is_predicted and is_named_entity_slot(error.slot, schema)
