"""Say in words what a tracker gets wrong: weakest slots, kinds of errors, carried errors, what to fix first.

Rankings and comparisons come with an interval or a p-value, and say so where they are based on few dialogues.
"""

from __future__ import annotations

from collections.abc import Iterator

from dstress.reports.analysis.differences import SystemDifference, SystemRow
from dstress.reports.analysis.explain import ErrorStudy
from dstress.reports.findings import ALPHA, Evidence, Finding, Sentence, say_change, say_p, tell
from dstress.reports.numbers import PAGE
from dstress.runs.folder import ORIGINAL

_MOST = 3
_FEW = 10
"""Fewer dialogues than this, and a sentence says so."""
_FEW_ERRORS = 20
"""Fewer errors than this have no shares."""
_CORRECTED = " after Holm's correction"


def error_findings(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """Yield at most one finding of each kind."""
    for kind in (_fixes, _weakest, _kinds, _carried, _interactions, _names):
        yield from kind(study, evidence)


def _over(dialogues: int) -> str:
    """Say how many dialogues a figure is based on."""
    return f"only {dialogues:,} dialogue{'s' * (dialogues != 1)}" if dialogues < _FEW else f"{dialogues:,} dialogues"


def _fixes(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """What to fix first: the slot with the most accuracy at stake, and those that follow."""
    ranked = sorted(study.slots, key=lambda row: -row.at_stake)
    if not study.fixes or not ranked or ranked[0].at_stake <= 0:
        return
    first, *others = ranked
    text = (
        f"With {first.slot} always correct, joint goal accuracy would rise from {PAGE.percent(first.accuracy)} % to "
        f"{PAGE.percent(first.fixed)} %: {PAGE.points(first.at_stake)} points, 95 % interval "
        f"{PAGE.change_interval(first.at_stake_low, first.at_stake_high)}, from {_over(first.dialogues_at_stake)}."
    )
    sentences = [evidence.say(text, "slots", {"slot": first.slot})]
    rivals = [row for row in others if row.at_stake_high > first.at_stake][:_MOST]
    if rivals:
        named = ", ".join(f"{row.slot} {PAGE.interval(row.at_stake_low, row.at_stake_high)}" for row in rivals)
        text = f"The order is uncertain; as much may be at stake in {named}."
        sentences.append(evidence.say(text, "slots", *({"slot": row.slot} for row in rivals)))
    if len(study.fixes) > 1:
        steps = ", ".join(f"{step.slot} ({PAGE.percent(step.accuracy)} %)" for step in study.fixes)
        text = f"Fixed one after another: {steps}."
        sentences.append(evidence.say(text, "fixes", *({"step": step.step} for step in study.fixes)))
    yield tell(f"Fix {first.slot} first", sentences, 1.95, ORIGINAL, first.slot, first.at_stake)


def _weakest(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """The slots whose whole interval of recall lies below the recall of all slots together."""
    (turns,) = study.turns
    weak = [row for row in study.slots if row.high < turns.recall][:_MOST]
    if not weak:
        return
    sentences = []
    for row in weak:
        text = (
            f"{row.slot}: {PAGE.percent(row.recall)} % of its {row.gold:,} values are right (95 % interval "
            f"{PAGE.interval(row.low, row.high)}, {_over(row.dialogues)}): {row.missed:,} missed, {row.wrong:,} wrong."
        )
        sentences.append(evidence.say(text, "slots", {"slot": row.slot}))
    text = f"Of all {turns.values:,} values, {PAGE.percent(turns.recall)} % are right."
    sentences.append(evidence.say(text, "turns", {}))
    names = [row.slot for row in weak]
    title = f"{names[0]} is weak" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} are weak"
    yield tell(title, sentences, 1.5, ORIGINAL, names[0])


def _kinds(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """Missed, wrong, spurious: how often each is made, and what accuracy would be without it."""
    made = [row for row in sorted(study.kinds, key=lambda row: -row.fresh) if row.fresh]
    if not made:
        return
    counts = ", ".join(f"{row.fresh:,} {row.kind}" for row in made)
    if (errors := made[0].of) < _FEW_ERRORS:
        text = f"New errors: {counts}. These are too few to compare kinds."
        title = f"Only {errors:,} errors" if errors > 1 else "Only one error"
        yield tell(title, [evidence.say(text, "kinds", *({"kind": row.kind} for row in made))], 0.4, ORIGINAL)
        return
    shares = ", ".join(f"{PAGE.percent(row.share)} % are {row.kind}" for row in made)
    text = f"Of {errors:,} new errors, {shares}."
    sentences = [evidence.say(text, "kinds", *({"kind": row.kind} for row in made))]
    gains = sorted(study.kinds, key=lambda row: -row.at_stake)
    parts = [f"{PAGE.percent(row.without)} % without {row.kind} values" for row in gains if row.at_stake > 0]
    if parts:
        text = f"Joint goal accuracy would rise from {PAGE.percent(gains[0].accuracy)} % to {', '.join(parts)}."
        sentences.append(evidence.say(text, "kinds", *({"kind": row.kind} for row in gains if row.at_stake > 0)))
    first = made[0].kind
    title = f"Most errors are {first} values" if made[0].share > 0.5 else f"The most frequent errors are {first} values"
    yield tell(title, sentences, 1.3, ORIGINAL)


def _carried(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """How many wrong turns are wrong only because of an earlier error."""
    (turns,) = study.turns
    if turns.wrong < _FEW_ERRORS:
        return
    unit = study.unit
    text = (
        f"Of {turns.wrong:,} wrong {unit}s on the original, {turns.carrying:,} "
        f"({PAGE.percent(turns.carrying_share)} %) only carry over an earlier error; {turns.making:,} make a new one."
    )
    sentences = [evidence.say(text, "turns", {})]
    text = f"An error lasts {turns.lasting:.1f} {unit}s on average ({turns.fresh:,} errors)."
    sentences.append(evidence.say(text, "turns", {}))
    many = "Half of the" if turns.carrying == turns.making else "Most"
    most = "make a new error" if turns.carrying < turns.making else "only carry over an earlier error"
    yield tell(f"{many} wrong {unit}s {most}", sentences, 1.35, ORIGINAL)


def _interactions(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """Slots that a stressor hits harder than the others; every row of the table is significant after correction."""
    hit = [row for row in study.interactions if row.change < 0 and row.difference < 0]
    if not hit:
        return
    first, *others = hit
    text = (
        f"Recall of {first.slot} goes from {PAGE.percent(first.original)} % on the original to "
        f"{PAGE.percent(first.stressed)} % under {first.stressor} ({PAGE.points(first.change)} points), that of all "
        f"other slots changes by {PAGE.points(first.others)}: a difference of {PAGE.points(first.difference)}, 95 % "
        f"interval {PAGE.change_interval(first.low, first.high)}, p {say_p(first.p_holm)} "
        f"after Holm's correction over {first.tests:,} pairs of slot and stressor ({_over(first.dialogues)})."
    )
    sentences = [evidence.say(text, "interactions", {"slot": first.slot, "stressor": first.stressor})]
    if others:
        named = ", ".join(
            f"{row.slot} under {row.stressor} ({PAGE.points(row.change)}, others {PAGE.points(row.others)}, "
            f"p {say_p(row.p_holm)})"
            for row in others[:_MOST]
        )
        more = f" and {len(others) - _MOST:,} more" if len(others) > _MOST else ""
        keys = ({"slot": row.slot, "stressor": row.stressor} for row in others)
        sentences.append(evidence.say(f"Likewise {named}{more}.", "interactions", *keys))
    title = f"{first.stressor} hits {first.slot} harder than other slots"
    yield tell(title, sentences, 1.7 - 0.2 * first.change, first.stressor, first.slot)


def _names(study: ErrorStudy, evidence: Evidence) -> Iterator[Finding]:
    """Predicted names that occur nowhere in the dialogue so far, or that there are none."""
    if not study.names or not study.names[0].predicted:
        return
    (row,) = study.names
    if not row.unsaid:
        text = (
            f"All {row.predicted:,} wrong or spurious names (in {_over(row.dialogues)}) occur earlier in their "
            f"dialogue; with 95 % confidence at most {PAGE.percent(row.highest)} % of such dialogues have a "
            "hallucinated one."
        )
        yield tell("No hallucinated names", [evidence.say(text, "names", {})], 0.6, ORIGINAL)
        return
    text = (
        f"Of {row.predicted:,} wrong or spurious names, {row.unsaid:,} ({PAGE.percent(row.share)} %) occur nowhere "
        f"earlier in their dialogue ({_over(row.dialogues_unsaid)})."
    )
    sentences = [evidence.say(text, "names", {})]
    most = study.inventions[:_MOST]
    shown = []
    for name in most:
        times = "once" if name.times == 1 else f"{name.times:,} times"
        shown.append(f"{name.slot} = {name.value} ({times}, first in {name.dialogue}, turn {name.turn})")
    keys = ({"slot": invention.slot, "value": invention.value} for invention in most)
    text = f"{'Most often:' if row.unsaid > 1 else 'It is'} {'; '.join(shown)}."
    sentences.append(evidence.say(text, "inventions", *keys))
    title = "Hallucinated names" if row.unsaid > 1 else "One hallucinated name"
    yield tell(title, sentences, 0.7 if row.unsaid < _FEW else 1.45, ORIGINAL, most[0].slot)


def difference_findings(pair: SystemDifference, evidence: Evidence) -> Iterator[Finding]:
    """Where the second system differs from the first."""

    def accuracies(row: SystemRow) -> Sentence:
        where = "" if row.variant == ORIGINAL else f"under {row.variant} "
        text = (
            f"Joint goal accuracy {where}is {PAGE.percent(row.first)} % with {pair.first} and "
            f"{PAGE.percent(row.second)} % with {pair.second}: {say_change(row)}, p {say_p(row.p_holm)}"
            f"{_CORRECTED if len(pair.systems) > 1 else ''} ({_over(row.dialogues)})."
        )
        return evidence.say(text, "systems", {"variant": row.variant})

    (original,) = (row for row in pair.systems if row.variant == ORIGINAL)
    text = (
        f"{original.only_second:,} {pair.unit}s are right with {pair.second} only"
        f"{f' (first {original.example_second})' if original.example_second else ''}, {original.only_first:,} with "
        f"{pair.first} only{f' (first {original.example_first})' if original.example_first else ''}."
    )
    sentences = [accuracies(original), evidence.say(text, "systems", {"variant": ORIGINAL})]
    better, worse = (pair.second, pair.first) if original.difference > 0 else (pair.first, pair.second)
    title = f"No significant difference between {pair.first} and {pair.second}"
    if original.p_holm <= ALPHA and original.difference:
        title = f"{better} is better than {worse}"
    yield tell(title, sentences, 2.5, ORIGINAL)

    stressed = [row for row in pair.systems if row.variant != ORIGINAL and row.p_holm <= ALPHA]
    stressed.sort(key=lambda row: -abs(row.difference))
    if stressed:
        sentences = [accuracies(row) for row in stressed[:_MOST]]
        yield tell(f"They differ most under {stressed[0].variant}", sentences, 2.4, stressed[0].variant)

    significant = [row for row in pair.slots if row.p_holm <= ALPHA and row.difference]
    if significant:
        sentences = []
        for slot in significant[:_MOST]:
            text = (
                f"{slot.slot} is wrong in {slot.first:,} {pair.unit}s with {pair.first} and in {slot.second:,} with "
                f"{pair.second} (p {say_p(slot.p_holm)}{_CORRECTED} over {slot.tests:,} "
                f"slots; they differ in {_over(slot.dialogues)})."
            )
            sentences.append(evidence.say(text, "slot_differences", {"slot": slot.slot}))
        yield tell(f"They differ most in {significant[0].slot}", sentences, 2.3, ORIGINAL, significant[0].slot)
    elif pair.slots and pair.slots[0].difference:
        first = pair.slots[0]
        text = (
            f"No slot differs significantly after Holm's correction over {first.tests:,} slots; the largest "
            f"difference is in {first.slot}, {first.first:,} and {first.second:,} errors."
        )
        sentences = [evidence.say(text, "slot_differences", {"slot": first.slot})]
        yield tell("No single slot makes the difference", sentences, 1.0, ORIGINAL, first.slot)
