"""What a tracker has wrong, in words: weakest slots, kinds of errors, what is carried on, what to mend first.

Counts are told as counts. What ranks or compares is told with its interval or its p-value, and where few dialogues
stand behind it, that is told too.
"""

from __future__ import annotations

from collections.abc import Iterator

from dstress.analysis.differences import SlotDifference, SystemDifference, SystemRow
from dstress.analysis.explain import ErrorStudy, Interaction, SlotRow
from dstress.reports.findings import ALPHA, Evidence, Finding, Sentence, say_p, tell
from dstress.reports.numbers import PAGE
from dstress.runs.folder import ORIGINAL

_MOST = 3
_FEW = 10
"""Fewer dialogues than this, and a sentence says so."""
_FEW_ERRORS = 20
"""Fewer errors than this, and no share of them is told."""
_CORRECTED = " after Holm's correction"
_KINDS = {"missed": "missed", "wrong": "wrong", "overshot": "overshot (nobody asked for them)"}


def error_findings(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """One finding of each kind, where there is anything to tell."""
    for kind in (_fixes, _weakest, _kinds, _carried, _interactions, _names):
        yield from kind(study, evidence)


def _over(dialogues: int) -> str:
    """How many dialogues a figure stands on."""
    return f"only {dialogues:,} dialogue{'s' * (dialogues != 1)}" if dialogues < _FEW else f"{dialogues:,} dialogues"


def _fixes(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """What to mend first: the slot with the most accuracy at stake, and those that follow."""
    ranked = sorted(study.slots, key=lambda row: -row.at_stake)
    if not study.fixes or not ranked or ranked[0].at_stake <= 0:
        return
    first, *others = ranked
    text = (
        f"Were {first.slot} always right and all else as it is, joint goal accuracy would be "
        f"{PAGE.percent(first.mended)} % instead of {PAGE.percent(first.accuracy)} %: "
        f"{PAGE.points(first.at_stake)} points, 95 % interval "
        f"{PAGE.change_interval(first.at_stake_low, first.at_stake_high)}, from {_over(first.dialogues_at_stake)}."
    )
    said = [evidence.say(text, "slots", {"slot": first.slot})]
    rivals = [row for row in others if row.at_stake_high > first.at_stake][:_MOST]
    if rivals:
        named = ", ".join(f"{row.slot} {PAGE.interval(row.at_stake_low, row.at_stake_high)}" for row in rivals)
        text = f"That it comes first may be chance; as much may be at stake in {named}."
        said.append(evidence.say(text, "slots", *({"slot": row.slot} for row in rivals)))
    if len(study.fixes) > 1:
        steps = ", ".join(f"{step.slot} ({PAGE.percent(step.accuracy)} %)" for step in study.fixes)
        text = f"Mended one after the other, each with those before it: {steps}."
        said.append(evidence.say(text, "fixes", *({"step": step.step} for step in study.fixes)))
    yield tell(f"Mend {first.slot} first", said, 1.95, ORIGINAL, first.slot)


def _weakest(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """The slots whose recall lies below that of all slots together, interval and all."""
    (turns,) = study.turns
    weak = [row for row in study.slots if row.high < turns.recall][:_MOST]
    if not weak:
        return
    said = [_recall(row, evidence) for row in weak]
    text = f"Of all {turns.values:,} values {PAGE.percent(turns.recall)} % are right."
    said.append(evidence.say(text, "turns", {}))
    names = [row.slot for row in weak]
    title = f"{names[0]} is weak" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} are weak"
    yield tell(title, said, 1.5, ORIGINAL, names[0])


def _recall(row: SlotRow, evidence: Evidence) -> Sentence:
    text = (
        f"{row.slot}: {PAGE.percent(row.recall)} % of its {row.gold:,} values are right (95 % interval "
        f"{PAGE.interval(row.low, row.high)}, {_over(row.dialogues)}): {row.missed:,} missed, {row.wrong:,} wrong."
    )
    return evidence.say(text, "slots", {"slot": row.slot})


def _kinds(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """Missed, wrong, overshot: how often each is made, and what accuracy would be without it."""
    made = [row for row in sorted(study.kinds, key=lambda row: -row.fresh) if row.fresh]
    if not made:
        return
    counts = ", ".join(f"{row.fresh:,} {_KINDS[row.kind]}" for row in made)
    if (errors := made[0].of) < _FEW_ERRORS:
        text = f"Counted where they are made: {counts}. So few errors say little of their kinds."
        title = f"There are {errors:,} errors only" if errors > 1 else "There is one error only"
        yield tell(title, [evidence.say(text, "kinds", *({"kind": row.kind} for row in made))], 0.4, ORIGINAL)
        return
    shares = ", ".join(f"{PAGE.percent(row.share)} % {_KINDS[row.kind]}" for row in made)
    text = f"Of {errors:,} errors, counted where they are made, {shares}."
    said = [evidence.say(text, "kinds", *({"kind": row.kind} for row in made))]
    gains = sorted(study.kinds, key=lambda row: -row.at_stake)
    parts = [f"{PAGE.percent(row.without)} % without {row.kind} values" for row in gains if row.at_stake > 0]
    if parts:
        text = f"Joint goal accuracy, {PAGE.percent(gains[0].accuracy)} %, would be {', '.join(parts)}."
        said.append(evidence.say(text, "kinds", *({"kind": row.kind} for row in gains if row.at_stake > 0)))
    first = made[0].kind
    title = f"Most errors are {first} values" if made[0].share > 0.5 else f"The most frequent error: {first} values"
    yield tell(title, said, 1.3, ORIGINAL)


def _carried(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """How many wrong turns are wrong only for an earlier error."""
    (turns,) = study.turns
    if turns.wrong < _FEW_ERRORS:
        return
    unit = study.unit
    text = (
        f"Of {turns.wrong:,} wrong {unit}s on the original, {turns.carrying:,} "
        f"({PAGE.percent(turns.carrying_share)} %) make no error of their own: an earlier one still stands. "
        f"{turns.making:,} make one."
    )
    said = [evidence.say(text, "turns", {})]
    text = f"An error stands for {turns.lasting:.1f} {unit}s on average ({turns.fresh:,} errors)."
    said.append(evidence.say(text, "turns", {}))
    many = "Half of the" if turns.carrying == turns.making else "Most"
    most = "make an error of their own" if turns.carrying < turns.making else "only carry an old error on"
    yield tell(f"{many} wrong {unit}s {most}", said, 1.35, ORIGINAL)


def _interactions(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """Slots that a stressor hits harder than the others; all of the table is beyond chance after correction."""
    hit = [row for row in study.interactions if row.change < 0 and row.difference < 0]
    if not hit:
        return
    first, *others = hit
    said = [_interaction(first, evidence)]
    if others:
        named = ", ".join(
            f"{row.slot} under {row.stressor} ({PAGE.points(row.change)}, others {PAGE.points(row.others)}, "
            f"p {say_p(row.p_holm, at_floor=row.at_floor)})"
            for row in others[:_MOST]
        )
        more = f" and {len(others) - _MOST:,} more" if len(others) > _MOST else ""
        keys = ({"slot": row.slot, "stressor": row.stressor} for row in others)
        said.append(evidence.say(f"Likewise {named}{more}.", "interactions", *keys))
    title = f"{first.stressor} hits {first.slot} harder than other slots"
    yield tell(title, said, 1.7 - first.change, first.stressor, first.slot)


def _interaction(row: Interaction, evidence: Evidence) -> Sentence:
    text = (
        f"Values of {row.slot} are right {PAGE.percent(row.original)} % of the time on the original and "
        f"{PAGE.percent(row.stressed)} % under {row.stressor} ({PAGE.points(row.change)} points), those of all other "
        f"slots change by {PAGE.points(row.others)}: a difference of {PAGE.points(row.difference)}, 95 % interval "
        f"{PAGE.change_interval(row.low, row.high)}, p {say_p(row.p_holm, at_floor=row.at_floor)} after Holm's "
        f"correction over {row.tests:,} slots and stressors ({_over(row.dialogues)})."
    )
    return evidence.say(text, "interactions", {"slot": row.slot, "stressor": row.stressor})


def _names(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """Names that nobody said, or that none was found."""
    if not study.names or not study.names[0].predicted:
        return
    (row,) = study.names
    if not row.unsaid:
        text = (
            f"Of {row.predicted:,} wrong or overshot names in {_over(row.dialogues)}, every one had been said by then; "
            f"with 95 % confidence no more than {PAGE.percent(row.highest)} % of such dialogues have one made up."
        )
        yield tell("No name was made up", [evidence.say(text, "names", {})], 0.6, ORIGINAL)
        return
    text = (
        f"Of {row.predicted:,} wrong or overshot names, {row.unsaid:,} ({PAGE.percent(row.share)} %) had not been said "
        f"by then, in {_over(row.dialogues_unsaid)}."
    )
    said = [evidence.say(text, "names", {})]
    most = study.inventions[:_MOST]
    shown = "; ".join(
        f"{one.slot} = {one.value} ({_times(one.times)}, first in {one.dialogue}, turn {one.turn})" for one in most
    )
    keys = ({"slot": one.slot, "value": one.value} for one in most)
    said.append(evidence.say(f"Most often: {shown}." if row.unsaid > 1 else f"It is {shown}.", "inventions", *keys))
    title = "It names what nobody said" if row.unsaid > 1 else "One name was made up"
    yield tell(title, said, 0.7 if row.unsaid < _FEW else 1.45, ORIGINAL, most[0].slot)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def difference_findings(found: SystemDifference, evidence: Evidence) -> Iterator[Finding]:
    """Where two systems differ; the second is told beside the first."""
    (original,) = (row for row in found.systems if row.variant == ORIGINAL)
    yield _system(found, original, evidence)
    stressed = [row for row in found.systems if row.variant != ORIGINAL and row.p_holm <= ALPHA]
    if stressed:
        most = max(stressed, key=lambda row: abs(row.difference))
        said = [_joint(found, row, evidence) for row in sorted(stressed, key=lambda row: -abs(row.difference))[:_MOST]]
        title = f"They differ most under {most.variant}"
        yield tell(title, said, 2.4, most.variant)
    told = [row for row in found.slots if row.p_holm <= ALPHA and row.difference]
    if told:
        said = [_slot_difference(found, row, evidence) for row in told[:_MOST]]
        yield tell(f"They differ most in {told[0].slot}", said, 2.3, ORIGINAL, told[0].slot)
    elif found.slots and found.slots[0].difference:
        text = (
            f"No slot differs beyond chance after Holm's correction over {found.slots[0].tests:,} slots; the largest "
            f"difference is in {found.slots[0].slot}, {found.slots[0].first:,} and {found.slots[0].second:,} errors."
        )
        said = [evidence.say(text, "slot_differences", {"slot": found.slots[0].slot})]
        yield tell("No single slot makes the difference", said, 1.0, ORIGINAL, found.slots[0].slot)


def _system(found: SystemDifference, row: SystemRow, evidence: Evidence) -> Finding:
    said = [_joint(found, row, evidence)]
    text = (
        f"{row.only_second:,} {found.unit}s are right with {found.second} alone"
        f"{f' (first {row.example_second})' if row.example_second else ''}, {row.only_first:,} with {found.first} alone"
        f"{f' (first {row.example_first})' if row.example_first else ''}."
    )
    said.append(evidence.say(text, "systems", {"variant": row.variant}))
    better, worse = (found.second, found.first) if row.difference > 0 else (found.first, found.second)
    told = row.p_holm <= ALPHA and row.difference
    title = (
        f"{better} is better than {worse}"
        if told
        else f"Which of {found.first} and {found.second} is better cannot be told"
    )
    return tell(title, said, 2.5, row.variant)


def _joint(found: SystemDifference, row: SystemRow, evidence: Evidence) -> Sentence:
    where = "" if row.variant == ORIGINAL else f"under {row.variant} "
    text = (
        f"Joint goal accuracy {where}is {PAGE.percent(row.first)} % with {found.first} and "
        f"{PAGE.percent(row.second)} % with {found.second}: {PAGE.points(row.difference)} points, 95 % interval "
        f"{PAGE.change_interval(row.low, row.high)}, p {say_p(row.p_holm, at_floor=row.at_floor)}"
        f"{_CORRECTED if len(found.systems) > 1 else ''} ({_over(row.dialogues)})."
    )
    return evidence.say(text, "systems", {"variant": row.variant})


def _slot_difference(found: SystemDifference, row: SlotDifference, evidence: Evidence) -> Sentence:
    text = (
        f"{row.slot} is wrong in {row.first:,} {found.unit}s with {found.first} and in {row.second:,} with "
        f"{found.second} (p {say_p(row.p_holm, at_floor=row.at_floor)}{_CORRECTED} over {row.tests:,} slots; they "
        f"differ in {_over(row.dialogues)})."
    )
    return evidence.say(text, "slot_differences", {"slot": row.slot})
