"""What a tracker does wrong, in tables that a person can act on: slots, kinds of errors, what lasts, what to fix.

Counts are of turns (or frames) with an answer. Dialogues are resampled, never turns. Where many slots and stressors are
tested at once, p-values are by approximate randomisation over dialogues, after Holm's correction over all of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from dstress.dialogue import Dialogue, Schema
from dstress.runs.folder import ORIGINAL
from dstress.schema_names import SAME_NAMES, Names
from dstress.scoring.alignment.errors import EXTRA, WRONG, TurnErrors
from dstress.scoring.alignment.profile import COUNTS, KINDS, ErrorProfile
from dstress.scoring.metrics.base import Floats, ratio
from dstress.scoring.metrics.grounding import NO_NAME, is_grounded
from dstress.scoring.resampling import Bounds, Interval, interval, resampled_sums, unseen_share
from dstress.scoring.scorecard import TestedDifference
from dstress.scoring.significance import PairedTest, holm, paired_test_of_totals
from dstress.text.slot_names import is_named_entity_slot

RESAMPLES, SEED, LEVEL = 2000, 1, 0.95
_MOST_STEPS = 5
_RIGHT, _AT_STAKE = COUNTS.index("right"), COUNTS.index("at stake")
_GOLD, _ERRORS, _FRESH = slice(3), slice(1, 4), slice(4, _AT_STAKE)
"""Which of the counts are gold values, errors, and errors in the turn in which they are made."""


class SlotRow(msgspec.Struct, frozen=True):
    """One slot on the original. `recall` is how many of its gold values are right, with its interval over dialogues.

    `accuracy` is joint accuracy as it is, `fixed` what it would be, were this slot always right and all else as it is,
    `at_stake` the difference.
    """

    slot: str
    gold: int
    right: int
    missed: int
    wrong: int
    spurious: int
    fresh: int
    recall: float
    low: float
    high: float
    dialogues: int
    accuracy: float
    fixed: float
    at_stake: float
    at_stake_low: float
    at_stake_high: float
    dialogues_at_stake: int


class KindRow(msgspec.Struct, frozen=True):
    """One kind of error: in how many turns it stands, how often it is made, and what accuracy is without it.

    `of` are all errors that are made, of every kind; `share` is the kind's of these.
    """

    kind: str
    cells: int
    fresh: int
    of: int
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
    """Slots to fix one after the other: each is the one that then raises joint accuracy most."""

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
    """Wrong or spurious names that were predicted anew, those of them that nobody had said, and the share of these.

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
    tables = _slot_rows(profile), _kind_rows(profile), [_turn_row(profile)], _fix_steps(profile)
    of_names = _find_inventions(errors, answers.dialogues, answers.schema)
    return ErrorStudy(answers.unit, *tables, _find_interactions(answers), *of_names)


def _slot_rows(profile: ErrorProfile) -> list[SlotRow]:
    """Slots that gold uses, the weakest first: that with the lowest upper end, so that a rare slot is not the first."""
    table, units, accuracy = profile.table(), profile.units[:, (0, 4)].sum(axis=1), profile.accuracy_with()
    rows = []
    for place, slot in enumerate(profile.slots):
        counts = table[:, place]
        gold, stake = counts[:, _GOLD].sum(axis=1), counts[:, _AT_STAKE]
        if gold.any():
            right, missed, wrong, spurious = counts[:, :4].sum(axis=0).astype(int).tolist()
            errors = missed, wrong, spurious, int(counts[:, _FRESH].sum())
            recall = right / float(gold.sum()), *_ends(counts[:, _RIGHT], gold), int((gold > 0).sum())
            fixed = profile.accuracy_with(slots=[slot])
            at_stake = fixed - accuracy, *_ends(stake, units), int((stake > 0).sum())
            rows.append(SlotRow(slot, int(gold.sum()), right, *errors, *recall, accuracy, fixed, *at_stake))
    return sorted(rows, key=lambda row: (row.high, row.slot))


def _ends(part: Floats, whole: Floats) -> Interval:
    """The interval of a share, from both sides of it by dialogue."""
    totals, bounds = np.column_stack((part, whole)), Bounds(int((whole > 0).sum()))
    resampled = partial(resampled_sums, totals, RESAMPLES, SEED)
    return interval(totals, resampled, lambda s: ratio(s[..., 0], s[..., 1]), LEVEL, "logit", bounds)


def _kind_rows(profile: ErrorProfile) -> list[KindRow]:
    sums, accuracy = profile.table().sum(axis=(0, 1)), profile.accuracy_with()
    made = sums[_FRESH]
    rows = []
    for place, kind in enumerate(KINDS):
        without = profile.accuracy_with(kind=kind)
        share = float(made[place] / made.sum()) if made.sum() else math.nan
        counts = int(sums[1 + place]), int(made[place]), int(made.sum())
        rows.append(KindRow(kind, *counts, share, accuracy, without, without - accuracy))
    return rows


def _turn_row(profile: ErrorProfile) -> TurnRow:
    sums = profile.table().sum(axis=(0, 1))
    units, _, wrong, making, unanswered = profile.units.sum(axis=0).astype(int).tolist()
    errors, fresh, values = (int(sums[part].sum()) for part in (_ERRORS, _FRESH, _GOLD))
    shares = float(ratio(wrong - making, wrong)), float(ratio(errors, fresh))
    dialogues = len(profile.dialogues), int((profile.units[:, 2] > 0).sum())
    counts = units, unanswered, wrong, making, wrong - making
    return TurnRow(*counts, *shares, errors, fresh, *dialogues, values, float(ratio(sums[_RIGHT], values)))


def _fix_steps(profile: ErrorProfile) -> list[FixStep]:
    """The greedy order; ties go to the slot that was filled first."""
    steps: list[FixStep] = []
    fixed: list[str] = []
    accuracy = profile.accuracy_with()
    broken = {error.slot for errors in profile.broken for error in errors}
    left = [slot for slot in profile.slots if slot in broken]
    while left and len(steps) < _MOST_STEPS:
        gains = {slot: profile.accuracy_with(slots=[*fixed, slot]) for slot in left}
        best = max(left, key=gains.__getitem__)
        if gains[best] <= accuracy:
            break
        steps.append(FixStep(len(steps) + 1, best, gains[best], gains[best] - accuracy))
        accuracy = gains[best]
        fixed.append(best)
        left.remove(best)
    return steps


def _find_interactions(answers: Answers) -> list[Interaction]:
    """Slots that a stressor hits otherwise than the other slots, beyond chance after Holm's correction over all.

    The difference of differences: the slot's recall under the stressor less that on the original, less the same of all
    other slots together.
    """
    before = answers.errors[ORIGINAL].profile
    slots = before.slots
    if not slots:  # a corpus of calls
        return []
    pairs: dict[str, tuple[Floats, Floats]] = {}
    for variant, errors in answers.errors.items():
        if variant != ORIGINAL:
            # (dialogues, slots, right and gold) of the dialogues that both have, by the original's names of slots.
            after, names = errors.profile, answers.names.get(variant, SAME_NAMES)
            originals = {names.slot_id(slot): slot for slot in after.slots}
            tables = before.table(slots), after.table([originals.get(slot, slot) for slot in slots])
            shared = (table[rows] for table, rows in zip(tables, shared_rows(before, after), strict=True))
            first, second = (np.stack((t[..., _RIGHT], t[..., _GOLD].sum(axis=2)), axis=2) for t in shared)
            pairs[variant] = first, second
    places = [(variant, place) for variant in pairs for place in range(len(slots))]
    p_values = [_test_contrast(*pairs[variant], place).p for variant, place in places]
    tests = sum(not math.isnan(p) for p in p_values)
    interactions = []
    for (variant, place), corrected in zip(places, holm(p_values), strict=True):
        if corrected <= 1 - LEVEL:
            sums = [table.sum(axis=0) for table in pairs[variant]]
            start, end = (float(ratio(*side[place])) for side in sums)
            others = [float(ratio(*(side.sum(axis=0) - side[place]))) for side in sums]
            with_gold = int((np.add(*pairs[variant])[:, place, 1] > 0).sum())
            row = Interaction(
                slot=slots[place],
                stressor=variant,
                original=start,
                stressed=end,
                change=end - start,
                others=others[1] - others[0],
                tests=tests,
                **_test_contrast(*pairs[variant], place, LEVEL).tested(corrected) | {"dialogues": with_gold},
            )
            interactions.append(row)
    return sorted(interactions, key=lambda row: (row.change >= 0, row.difference))  # first what is hit hardest


def shared_rows(first: ErrorProfile, second: ErrorProfile) -> tuple[list[int], list[int]]:
    """Where each has the dialogues that both have."""
    place = {dialogue: number for number, dialogue in enumerate(second.dialogues)}
    shared = [number for number, dialogue in enumerate(first.dialogues) if dialogue in place]
    return shared, [place[first.dialogues[number]] for number in shared]


def _test_contrast(original: Floats, stressed: Floats, place: int, level: float | None = None) -> PairedTest:
    """Test a slot's recall less that of all the others, from (dialogues, slots, right and gold)."""

    def totals(table: Floats) -> Floats:
        return np.column_stack((table[:, place], table.sum(axis=1) - table[:, place]))

    def value(sums: Floats) -> Floats:
        return ratio(sums[..., 0], sums[..., 1]) - ratio(sums[..., 2], sums[..., 3])

    return paired_test_of_totals(totals(stressed), totals(original), value, level)


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
        utterances: list[str] = []
        before: set[tuple[str, str]] = set()
        for number, turn in enumerate(dialogue.turns):
            has_words = has_words or bool(turn.user)
            utterances += [turn.system, turn.user]
            named = {
                (error.slot, error.value)
                for error in errors.get((dialogue.id, number), ())
                if error.kind in (WRONG, EXTRA)
                and error.value.casefold() not in NO_NAME
                and is_named_entity_slot(error.slot, schema)
            }
            for name in sorted(named - before):
                predicted += 1
                naming.add(dialogue.id)
                if not is_grounded(name[1], utterances):
                    times[name] += 1
                    places.setdefault(name, {}).setdefault(dialogue.id, number)
            before = named
    if not has_words:
        return [], []
    rows = [
        Invention(*name, n, len(places[name]), *next(iter(places[name].items()))) for name, n in times.most_common()
    ]
    inventing = {dialogue for own in places.values() for dialogue in own}
    highest = math.nan if times or not predicted else unseen_share(len(naming), LEVEL)
    share = float(ratio(times.total(), predicted))
    return rows, [NameRow(predicted, times.total(), share, highest, len(naming), len(inventing))]
