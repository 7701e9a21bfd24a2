"""The most interesting findings of a run, in words. Only what is beyond chance is told, with its numbers.

Tests are those of the scores: Holm's correction over the stressors, intervals over dialogues. Slots have counts only;
their test is made here, and is cautious (see `_CARRIED`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from dstress.metrics.measures import measure_of
from dstress.reports.numbers import PAGE
from dstress.runs.folder import ORIGINAL, Drop, Scores
from dstress.scoring.scorecard import Score, SlotErrors

ALPHA = 0.05
FLOOR = "jga-floor"
"""A metric of the turns that no stressor touches: that it stays the same is no news."""

_MOST = 3
_NO_MORE_THAN = 0.01
"""A stressor that costs less than a point, at the worst that the data allow, may be told as one that does no harm."""

_BREAKS_NO_MORE_THAN = 0.05
"""And breaks so little, at the worst, of what was right where it changed something: one that changes little costs
little."""

_TOO_LITTLE_RIGHT = 0.2
"""Below this accuracy on the original nothing is told to do no harm: there is too little to lose."""

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
    kinds = (_failures, _disagreement, _worst, _gain, _slot, _broken, _hidden, _harmless, _undecided)
    best = (max(kind(scores), key=lambda finding: finding.interest, default=None) for kind in kinds)
    ranked = sorted((finding for finding in best if finding), key=lambda finding: -finding.interest)
    return ranked[:most] or [
        Finding("Nothing to compare", "The run has no stressor whose cost in joint goal accuracy is known.", 0)
    ]


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
    """What does not matter, where the data could have shown that it does."""
    doubts = undecided(scores)
    calm = [variant for variant in _unproven(scores) if variant not in doubts]
    if calm:
        most = max(-scores.drops[variant].low for variant in calm)
        text = (
            f"With 95 % confidence {'each of them' if len(calm) > 1 else 'it'} costs {PAGE.percent(most, 2)} points of "
            "joint goal accuracy at most."
        )
        yield Finding(f"{_listed(calm)} {'do' if len(calm) > 1 else 'does'} no harm", text, 1.0, calm[0])


def _undecided(scores: Scores) -> Iterator[Finding]:
    """What may be chance and may be harm: how much harm the data leave open, or why they cannot tell."""
    if doubts := undecided(scores):
        worst = min(doubts, key=lambda variant: scores.drops[variant].low)
        title = f"Whether {_listed(list(doubts))} {'do' if len(doubts) > 1 else 'does'} harm cannot be told"
        under = f", the most under {worst}" if len(set(doubts.values())) > 1 else ""
        yield Finding(title, f"No change is beyond chance, but {doubts[worst]}{under}.", 0.5, worst)


def undecided(scores: Scores) -> dict[str, str]:
    """The stressors of which the data cannot tell whether they do harm, and why."""
    return {variant: doubt for variant in _unproven(scores) if (doubt := _doubt(scores, variant))}


def _unproven(scores: Scores) -> list[str]:
    """The stressors whose change may be chance, and that are not known to break anything."""
    return [
        variant
        for variant, drop in scores.drops.items()
        if not significant(drop) and not _breaks(scores.paired.get(variant, {}).get("newly-wrong"))
    ]


def _breaks(newly_wrong: Score | None) -> bool:
    """Whether right turns surely become wrong, more than a few."""
    return newly_wrong is not None and newly_wrong.low >= _BROKEN_SHARE


def _doubt(scores: Scores, variant: str) -> str:
    """Why a stressor may do harm although no change is beyond chance; empty where the data rule that out."""
    drop, broken = scores.drops[variant], scores.paired.get(variant, {}).get("newly-wrong")
    if failed := scores.failed.get(ORIGINAL, 0) + scores.failed.get(variant, 0):
        return f"missing answers ({failed:,}) hide what it does"
    if drop.original < _TOO_LITTLE_RIGHT:
        return f"with {PAGE.percent(drop.original)} % right on the original there is too little to lose"
    if not drop.low > -_NO_MORE_THAN:
        return f"a loss of up to {PAGE.percent(-drop.low)} points is compatible with the data"
    if broken and not broken.n:
        return "it changed nothing that is right on the original"
    if broken and broken.high > _BREAKS_NO_MORE_THAN:
        return (
            f"of the {broken.n:,.0f} {_unit(scores, variant)}s that it changed and that are right on the original, "
            f"up to {PAGE.percent(broken.high)} % may break"
        )
    return ""


def _listed(variants: Sequence[str]) -> str:
    """Names in a line; how many there are where they would not fit."""
    if len(variants) > _MOST:
        return f"{len(variants)} stressors"
    *others, last = variants
    return f"{', '.join(others)} and {last}" if others else last


def _broken(scores: Scores) -> Iterator[Finding]:
    """How many right turns become wrong; where others become right, the total hides it."""
    for variant, paired in scores.paired.items():
        drop, broken, mended = scores.drops.get(variant), paired.get("newly-wrong"), paired.get("newly-right")
        if drop is None or broken is None or mended is None or not _breaks(broken):
            continue
        text = (
            f"Of the {broken.n:,.0f} {_unit(scores, variant)}s that it changed and that are right on the original, "
            f"{PAGE.percent(broken.value)} % become wrong (95 % interval {PAGE.interval(broken.low, broken.high)})"
        )
        gained = 0.0 if math.isnan(mended.value) else mended.value * mended.n
        if gained > broken.value * broken.n / 2:
            change = PAGE.points(drop.difference)
            text += f", while {gained:,.0f} others become right: joint goal accuracy changes by {change} points."
            yield Finding(f"{variant} breaks more than the total shows", text, 1.6 + broken.low, variant)
        else:
            yield Finding(f"{variant} breaks what was right", f"{text}.", 1.0 + broken.low, variant)


def _unit(scores: Scores, variant: str) -> str:
    return scores.variants[variant].signature.get("unit", "turn")


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


def _p(p: float, *, at_floor: bool = False) -> str:
    shown = PAGE.probability(p, at_floor=at_floor)
    return shown if shown.startswith("<") else f"= {shown}"
