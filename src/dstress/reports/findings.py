"""The most interesting findings of a run, in words. Only what is beyond chance is told, with its numbers.

Tests are those of the scores: Holm's correction over the stressors, intervals over dialogues. Slots have counts only;
their test is made here, and is cautious (see `_CARRIED`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from dstress.metrics.measures import measure_of
from dstress.reports.numbers import PAGE
from dstress.runs.folder import ORIGINAL, Drop, Scores
from dstress.scoring.scorecard import SlotErrors

ALPHA = 0.05
FLOOR = "jga-floor"
"""A metric of the turns that no stressor touches: that it stays the same is no news."""

_MOST = 3
_NO_MORE_THAN = 0.01
"""A stressor whose interval stays within a point is told as one that does not matter."""

_CARRIED = 10
"""A value stays in the state for turns on end, so its counts are not independent: they are divided by so many."""

_FAILED_SHARE = 0.01
_BROKEN_SHARE = 0.02


class Finding(msgspec.Struct, frozen=True):
    """One finding: a line, then the numbers. `variant` and `slot` say where examples are."""

    title: str
    text: str
    interest: float
    variant: str = ""
    slot: str = ""


def findings(scores: Scores, most: int = _MOST) -> list[Finding]:
    """The most interesting findings, the first first; one of each kind, so that they do not say the same."""
    kinds = (_failures, _disagreement, _worst, _gain, _slot, _broken, _hidden, _harmless)
    best = (max(kind(scores), key=lambda finding: finding.interest, default=None) for kind in kinds)
    ranked = sorted((finding for finding in best if finding), key=lambda finding: -finding.interest)
    return ranked[:most] or [_nothing(scores)]


def significant(drop: Drop) -> bool:
    """Whether a change is beyond chance, with all the run's stressors taken into account."""
    return drop.p_holm <= ALPHA and drop.difference != 0


def _worst(scores: Scores) -> Iterator[Finding]:
    """What costs most: the bigger, the more interesting."""
    losses = {variant: drop for variant, drop in scores.drops.items() if significant(drop) and drop.difference < 0}
    for variant, drop in losses.items():
        others = f" {len(losses)} of {len(scores.drops)} stressors cost something." if len(scores.drops) > 1 else ""
        text = f"Joint goal accuracy falls {_change(drop)}{_where_changed(scores, variant)}{others}"
        yield Finding(f"{variant} costs most", text, 2 - drop.difference, variant)


def _change(drop: Drop) -> str:
    return (
        f"from {PAGE.percent(drop.original)} % to {PAGE.percent(drop.stressed)} %: "
        f"{PAGE.points(drop.difference)} points, 95 % interval {PAGE.change_interval(drop.low, drop.high)}, "
        f"p {_p(drop.p_holm, at_floor=drop.at_floor)} after Holm's correction."
    )


def _where_changed(scores: Scores, variant: str) -> str:
    slices = scores.variants[variant].slices.get("stress", {})
    changed, same = (slices.get(key, {}).get("jga") for key in ("changed", "as it was"))
    if changed is None or same is None:
        return ""
    return f" On the turns that it changed it is {PAGE.percent(changed)} %, on the others {PAGE.percent(same)} %."


def _gain(scores: Scores) -> Iterator[Finding]:
    """A stressor that helps is a surprise."""
    for variant, drop in scores.drops.items():
        if significant(drop) and drop.difference > 0:
            text = f"Joint goal accuracy rises {_change(drop)} Worth a look at its examples."
            yield Finding(f"{variant} makes it easier", text, 1.9 + drop.difference, variant)


def _harmless(scores: Scores) -> Iterator[Finding]:
    """What does not matter: the whole interval lies within a point."""
    calm = {
        variant: drop
        for variant, drop in scores.drops.items()
        if not significant(drop) and -_NO_MORE_THAN < drop.low <= drop.high < _NO_MORE_THAN
    }
    if calm and len(calm) < len(scores.drops):
        within = PAGE.percent(max(max(abs(drop.low), abs(drop.high)) for drop in calm.values()), 2)
        *others, last = calm
        names, does, moves = (
            (f"{', '.join(others)} and {last}", "do", "each of them moves") if others else (last, "does", "it moves")
        )
        text = f"With 95 % confidence {moves} joint goal accuracy by {within} points at most."
        yield Finding(f"{names} {does} no harm", text, 1.0, next(iter(calm)))


def _broken(scores: Scores) -> Iterator[Finding]:
    """How many right turns become wrong; where others become right, the total hides it."""
    for variant, paired in scores.paired.items():
        drop, broken, mended = scores.drops.get(variant), paired.get("newly-wrong"), paired.get("newly-right")
        if drop is None or broken is None or mended is None or not broken.low >= _BROKEN_SHARE:
            continue
        unit = scores.variants[variant].signature.get("unit", "turn")
        text = (
            f"Of the {broken.n:,.0f} {unit}s that it changed and that are right on the original, "
            f"{PAGE.percent(broken.value)} % become wrong (95 % interval {PAGE.interval(broken.low, broken.high)})"
        )
        gained = 0.0 if math.isnan(mended.value) else mended.value * mended.n
        if gained > broken.value * broken.n / 2:
            change = PAGE.points(drop.difference)
            text += f", while {gained:,.0f} others become right: joint goal accuracy changes by {change} points."
            yield Finding(f"{variant} breaks more than the total shows", text, 1.6 + broken.low, variant)
        else:
            yield Finding(f"{variant} breaks what was right", f"{text}.", 1.0 + broken.low, variant)


def _hidden(scores: Scores) -> Iterator[Finding]:
    """A metric that hardly sees what a stressor does to joint goal accuracy."""
    for variant, drop in scores.drops.items():
        if not significant(drop) or drop.difference > -5 * _NO_MORE_THAN:
            continue
        for metric, before in scores.variants[ORIGINAL].metrics.items():
            after = scores.variants[variant].metrics.get(metric)
            if (
                metric in ("jga", FLOOR)
                or not measure_of(metric).is_share
                or after is None
                or not 0 <= before.value - after.value < -drop.difference / 4
            ):
                continue
            start, end = (
                f"{PAGE.percent(score.value)} % {PAGE.interval(score.low, score.high)}" for score in (before, after)
            )
            loss = PAGE.percent(-drop.difference)
            text = f"Under {variant} jga loses {loss} points; {metric} goes from {start} to {end}."
            yield Finding(f"{metric} hardly sees it", text, 1.2 - drop.difference - before.value + after.value, variant)


def _disagreement(scores: Scores) -> Iterator[Finding]:
    """Two metrics that order two stressors the other way round, where both are sure: intervals that do not touch."""
    stressed = [variant for variant in scores.variants if variant != ORIGINAL]
    others = [metric for metric in scores.variants[ORIGINAL] if metric != "jga" and measure_of(metric).is_share]
    for first in stressed:
        for second in stressed:
            for metric in others:
                gaps = _gap(scores, "jga", first, second), _gap(scores, metric, second, first)
                if min(gaps) > 0:
                    text = (
                        f"jga has {first} below {second} ({_value(scores, first, 'jga')} and "
                        f"{_value(scores, second, 'jga')} %), {metric} the other way round "
                        f"({_value(scores, first, metric)} and {_value(scores, second, metric)} %); "
                        "none of these intervals touch."
                    )
                    yield Finding(f"jga and {metric} disagree on what is worse", text, 2.2 + min(gaps), first)


def _gap(scores: Scores, metric: str, low: str, high: str) -> float:
    """How far the interval of one variant lies below that of another; negative where they touch."""
    below, above = (scores.variants[variant].metrics.get(metric) for variant in (low, high))
    return above.low - below.high if below and above else -1.0


def _value(scores: Scores, variant: str, metric: str) -> str:
    return PAGE.percent(scores.variants[variant][metric].value)


def _slot(scores: Scores) -> Iterator[Finding]:
    """The slot that suffers most, under a stressor that costs something; Bonferroni over all slots and stressors."""
    before = scores.variants[ORIGINAL].slots
    losses = [variant for variant, drop in scores.drops.items() if significant(drop) and drop.difference < 0]
    tests = max(1, len(before) * len(losses))
    for variant in losses:
        for slot, errors in scores.variants[variant].slots.items():
            if slot in before and (lost := recall(before[slot]) - recall(errors)) > 0:
                p = min(1.0, tests * _proportions(before[slot], errors))
                if p <= ALPHA:
                    text = (
                        f"Its values are right {PAGE.percent(recall(before[slot]))} % of the time on the original, and "
                        f"{PAGE.percent(recall(errors))} % under {variant} ({PAGE.points(-lost)} points, p {_p(p)} "
                        f"after Bonferroni's correction over {tests:,} slots and stressors); {errors.missed:,} missed, "
                        f"{errors.wrong:,} wrong."
                    )
                    yield Finding(f"{slot} suffers most", text, 1.7 + lost, variant, slot)


def recall(errors: SlotErrors) -> float:
    """How many of a slot's gold values are right."""
    gold = errors.right + errors.wrong + errors.missed
    return errors.right / gold if gold else math.nan


def _proportions(before: SlotErrors, after: SlotErrors) -> float:
    """Two-sided p of two shares being one, on counts that are made smaller because they hang together."""
    sizes = [max(1.0, (slot.right + slot.wrong + slot.missed) / _CARRIED) for slot in (before, after)]
    shares = recall(before), recall(after)
    pooled = sum(share * size for share, size in zip(shares, sizes, strict=True)) / sum(sizes)
    deviation = math.sqrt(pooled * (1 - pooled) * sum(1 / size for size in sizes))
    return math.erfc(abs(shares[0] - shares[1]) / deviation / math.sqrt(2)) if deviation > 0 else 1.0


def _failures(scores: Scores) -> Iterator[Finding]:
    """Turns without an answer, where they are many enough to move the numbers."""
    turns = {variant: int(card.signature.get("turns", "0")) for variant, card in scores.variants.items()}
    shares = {variant: failed / turns[variant] for variant, failed in scores.failed.items() if turns.get(variant)}
    for variant, share in shares.items():
        if share >= _FAILED_SHARE:
            text = (
                f"{scores.failed[variant]:,} of {turns[variant]:,} turns ({PAGE.percent(share)} %) have no answer "
                f"under {variant}, and count as wrong. `dstress run --resume` asks for them again."
            )
            yield Finding("Answers are missing", text, 3 + share, variant)


def _nothing(scores: Scores) -> Finding:
    if not scores.drops:
        return Finding("Nothing to compare", "The run has no stressor whose cost in joint goal accuracy is known.", 0)
    widest = max(max(abs(drop.low), abs(drop.high)) for drop in scores.drops.values())
    text = (
        f"None of the {len(scores.drops)} stressors moves joint goal accuracy beyond chance; every 95 % interval lies "
        f"within {PAGE.percent(widest)} points of no change."
    )
    return Finding("No stressor makes a difference that is beyond chance", text, 0)


def _p(p: float, *, at_floor: bool = False) -> str:
    shown = PAGE.probability(p, at_floor=at_floor)
    return shown if shown.startswith("<") else f"= {shown}"
