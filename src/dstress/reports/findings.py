"""Say in words what the scores of a run show: significant effects only, each sentence with the table rows behind it.

Tests are those of the scores: Holm's correction over the stressors, intervals over dialogues. Errors slot by slot are
in `dstress.reports.error_findings`; `dstress.reports.explanation` combines both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

import msgspec

from dstress.reports.numbers import PAGE, say_gains
from dstress.runs.folder import ORIGINAL, Drop, Scores
from dstress.scoring.metrics.measures import measure_of
from dstress.scoring.scorecard import Score, SlotErrors, TestedDifference
from dstress.text.writing_style import capitalise

ALPHA = 0.05
FLOOR = "jga-floor"
"""A metric of the turns that no stressor changes: it always stays the same."""

OPENING = 5
"""Findings shown at the top of a report."""
_MOST_NAMES = 3
_NO_MORE_THAN = 0.01
"""A stressor is called harmless only if a loss of a point is ruled out ..."""

_BREAKS_NO_MORE_THAN = 0.05
"""... and if at most this share of the changed correct turns may break: what changes little costs little."""

_TOO_LITTLE_RIGHT = 0.2
"""Below this accuracy on the original no stressor is called harmless: there is too little to lose."""

_FAILED_SHARE = 0.01
_FEW_DIFFER = 0.1
"""A difference that a tenth of the dialogues make, or fewer, is told with their number."""
_BROKEN_SHARE = 0.02

Records = list[dict[str, Any]]


class Sentence(msgspec.Struct, frozen=True):
    """One sentence, and the table rows that its figures come from, counted from 0."""

    text: str
    table: str
    rows: tuple[int, ...]


class Finding(msgspec.Struct, frozen=True):
    """One finding: a title, then the numbers. `variant` and `slot` say where to find examples.

    `effect` is the change of joint goal accuracy that it is about, if it is about one.
    """

    title: str
    text: str
    interest: float
    variant: str = ""
    slot: str = ""
    sentences: tuple[Sentence, ...] = ()
    effect: float | None = None


def tell(
    title: str,
    sentences: Sequence[Sentence],
    interest: float,
    variant: str = "",
    slot: str = "",
    effect: float | None = None,
) -> Finding:
    """Make a finding from its sentences.

    Its interest is 2 and more where a stressor changes joint goal accuracy, and grows with the change; 3 and more where
    the numbers are not to be trusted; else below 2.
    """
    text = " ".join(sentence.text for sentence in sentences)
    return Finding(title, text, interest, variant, slot, tuple(sentences), effect)


class Evidence:
    """Tables by name; makes sentences that point to their rows."""

    def __init__(self, tables: Mapping[str, Records]) -> None:
        self.tables = dict(tables)

    def say(self, text: str, table: str, *keys: Mapping[str, Any]) -> Sentence:
        """Make a sentence whose figures come from the rows with these fields."""
        rows = self.tables[table]
        places = [n for key in keys for n, row in enumerate(rows) if all(row[name] == key[name] for name in key)]
        return Sentence(text, table, tuple(places))


def score_evidence(scores: Scores) -> Evidence:
    """Make the tables behind findings about scores."""
    turns = {variant: int(card.signature.get("turns", "0")) for variant, card in scores.variants.items()}
    stressors: Records = []
    for variant, drop in scores.drops.items():
        parts = scores.variants[variant].slices.get("stress", {})
        changed, unchanged = (parts.get(part, {}).get(scores.joint) for part in ("changed", "as it was"))
        broken = scores.paired.get(variant, {}).get("newly-wrong")
        row = {"stressor": variant, **msgspec.structs.asdict(drop), "changed_jga": changed, "unchanged_jga": unchanged}
        row["unanswered"] = _unanswered(scores, variant)
        row |= {"breakable": broken.n if broken else None, "broken_high": broken.high if broken else None}
        stressors.append(row)
    return Evidence(
        {
            "stressors": stressors,
            "pairs": _score_rows("stressor", scores.paired),
            "metrics": _score_rows("variant", {name: card.metrics for name, card in scores.variants.items()}),
            "failures": [
                {"variant": variant, "failed": failed, "turns": turns.get(variant, 0)}
                for variant, failed in scores.failed.items()
            ],
        }
    )


def _unanswered(scores: Scores, variant: str) -> int:
    """Count the turns without a prediction on the original and under a stressor."""
    return scores.failed.get(ORIGINAL, 0) + scores.failed.get(variant, 0)


def _score_rows(name: str, groups: Mapping[str, Mapping[str, Score]]) -> Records:
    numbers = ("value", "low", "high", "n")
    return [
        {name: key, "metric": metric, **{number: getattr(score, number) for number in numbers}}
        for key, scores in groups.items()
        for metric, score in scores.items()
    ]


def findings(scores: Scores) -> list[Finding]:
    """Return the findings about the scores, most informative first, at most one of each kind."""
    evidence = score_evidence(scores)
    kinds = (_failures, _disagreement, _worst, _gain, _broken, _hidden, _harmless, _undecided)
    return rank(max(kind(scores, evidence), key=lambda finding: finding.interest, default=None) for kind in kinds)


def rank(findings: Iterable[Finding | None]) -> list[Finding]:
    """Drop the empty ones and sort by interest."""
    return sorted((finding for finding in findings if finding), key=lambda finding: -finding.interest)


def significant(drop: Drop) -> bool:
    """Return whether a change is significant after Holm's correction over the run's stressors."""
    return drop.p_holm <= ALPHA and drop.difference != 0


def _worst(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """The largest significant loss."""
    losses = {variant: drop for variant, drop in scores.drops.items() if significant(drop) and drop.difference < 0}
    for variant, drop in losses.items():
        sentences = [_change(scores, evidence, variant, drop, "falls")]
        (row,) = (row for row in evidence.tables["stressors"] if row["stressor"] == variant)
        if row["changed_jga"] is not None and row["unchanged_jga"] is not None:
            text = (
                f"On the changed turns it is {PAGE.percent(row['changed_jga'])} %, on the unchanged ones "
                f"{PAGE.percent(row['unchanged_jga'])} %."
            )
            sentences.append(evidence.say(text, "stressors", {"stressor": variant}))
        if len(scores.drops) > 1:
            text = f"{len(losses)} of {len(scores.drops)} stressors lower it significantly."
            sentences.append(evidence.say(text, "stressors", *({"stressor": name} for name in losses)))
        yield tell(f"{variant} costs the most", sentences, 2 - drop.difference, variant, effect=drop.difference)


def _change(scores: Scores, evidence: Evidence, variant: str, drop: Drop, verb: str) -> Sentence:
    text = (
        f"{capitalise(scores.joint_title)} {verb} from {PAGE.percent(drop.original)} % to "
        f"{PAGE.percent(drop.stressed)} %: {say_change(drop)}, "
        f"p {say_p(drop.p_holm)} after Holm's correction{say_differ(drop)}."
    )
    return evidence.say(text, "stressors", {"stressor": variant})


def _gain(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """A stressor under which accuracy rises, which is a surprise."""
    for variant, drop in scores.drops.items():
        if significant(drop) and (rise := drop.difference) > 0:
            sentences = [_change(scores, evidence, variant, drop, "rises")]
            yield tell(f"Accuracy rises under {variant}", sentences, 2 + rise, variant, effect=rise)


def _harmless(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """Stressors without effect, where the data could have shown one."""
    doubts = undecided(scores)
    calm = [variant for variant in _unproven(scores) if variant not in doubts]
    if calm:
        most = max(-scores.drops[variant].low for variant in calm)
        text = (
            f"With 95 % confidence {'each of them costs' if len(calm) > 1 else 'it costs'} at most "
            f"{PAGE.percent(most, 2)} points of {scores.joint_title}."
        )
        sentence = evidence.say(text, "stressors", *({"stressor": variant} for variant in calm))
        yield tell(f"{listed(calm)} {'do' if len(calm) > 1 else 'does'} no harm", [sentence], 1.0, calm[0])


def _undecided(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """Stressors whose effect the data cannot decide: the largest loss still possible, or why none can be given."""
    if doubts := undecided(scores):
        worst = min(doubts, key=lambda variant: scores.drops[variant].low)
        title = f"No clear effect of {listed(list(doubts))}"
        under = f", the most under {worst}" if len(set(doubts.values())) > 1 else ""
        text = f"No change is significant, but {doubts[worst]}{under}."
        sentence = evidence.say(text, "stressors", *({"stressor": variant} for variant in doubts))
        yield tell(title, [sentence], 0.5, worst)


def undecided(scores: Scores) -> dict[str, str]:
    """Return the stressors whose effect the data cannot decide, and why."""
    return {variant: doubt for variant in _unproven(scores) if (doubt := _doubt(scores, variant))}


def _unproven(scores: Scores) -> list[str]:
    """Return the stressors without a significant change that do not provably break correct turns."""
    return [variant for variant, drop in scores.drops.items() if not significant(drop) and not _breaks(scores, variant)]


def _breaks(scores: Scores, variant: str) -> bool:
    """Return whether more than a few correct turns provably become wrong."""
    broken = scores.paired.get(variant, {}).get("newly-wrong")
    return broken is not None and broken.low >= _BROKEN_SHARE


def _doubt(scores: Scores, variant: str) -> str:
    """Return why a stressor may do harm although no change is significant; empty where the data rule that out."""
    drop, broken = scores.drops[variant], scores.paired.get(variant, {}).get("newly-wrong")
    if failed := _unanswered(scores, variant):
        return f"{failed:,} predictions are missing"
    if drop.original < _TOO_LITTLE_RIGHT:
        return f"only {PAGE.percent(drop.original)} % of the original turns are right, which leaves too little to lose"
    if not drop.low > -_NO_MORE_THAN:
        return f"a loss of up to {PAGE.percent(-drop.low)} points is compatible with the data"
    if broken and not broken.n:
        return "it changed no turn that is right on the original"
    if broken and broken.high > _BREAKS_NO_MORE_THAN:
        return (
            f"up to {PAGE.percent(broken.high)} % of the {broken.n:,.0f} changed {unit_of(scores, variant)}s that are "
            "right on the original may break"
        )
    return ""


def listed(names: Sequence[str]) -> str:
    """List names, or count them where there are too many."""
    if len(names) > _MOST_NAMES:
        return f"{len(names)} stressors"
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _broken(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """How many correct turns become wrong; where others become right, the total hides it."""
    for variant, paired in scores.paired.items():
        drop, broken, fixed = scores.drops.get(variant), paired.get("newly-wrong"), paired.get("newly-right")
        if drop is None or broken is None or fixed is None or not _breaks(scores, variant):
            continue
        text = (
            f"Of the {broken.n:,.0f} changed {unit_of(scores, variant)}s that are right on the original, "
            f"{PAGE.percent(broken.value)} % become wrong (95 % interval {PAGE.interval(broken.low, broken.high)})"
        )
        gained = 0.0 if math.isnan(fixed.value) else fixed.value * fixed.n
        hidden, title, interest = "", f"{variant} breaks correct {unit_of(scores, variant)}s", 1.0
        if gained > broken.value * broken.n / 2:
            change = PAGE.points(drop.difference)
            hidden = f", while {gained:,.0f} others become right: {scores.joint_title} changes by {change} points"
            title, interest = f"{variant} breaks more than the total shows", 1.6
        rows = ({"stressor": variant, "metric": metric} for metric in ("newly-wrong", "newly-right"))
        sentence = evidence.say(f"{text}{hidden}.", "pairs", *rows)
        yield tell(title, [sentence], interest + 0.3 * broken.low, variant)


def unit_of(scores: Scores, variant: str) -> str:
    """Return what is scored: turn or frame."""
    return scores.variants[variant].signature.get("unit", "turn")


def _hidden(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """A metric that hardly moves while joint goal accuracy falls."""
    for variant, drop in scores.drops.items():
        if not significant(drop) or drop.difference > -5 * _NO_MORE_THAN:
            continue
        for metric, before in scores.variants[ORIGINAL].metrics.items():
            after = scores.variants[variant].metrics.get(metric)
            if (
                metric in (scores.joint, FLOOR)
                or not measure_of(metric).is_share
                or after is None
                or not 0 <= before.value - after.value < -drop.difference / 4
            ):
                continue
            start, end = (
                f"{PAGE.percent(score.value)} % {PAGE.interval(score.low, score.high)}" for score in (before, after)
            )
            loss = PAGE.percent(-drop.difference)
            text = f"Under {variant}, {scores.joint_short} falls by {loss} points; {metric} goes from {start} to {end}."
            rows = [
                {"variant": name, "metric": shown} for name in (ORIGINAL, variant) for shown in (scores.joint, metric)
            ]
            interest = 1.2 + 0.5 * (after.value - before.value - drop.difference)
            yield tell(f"{metric} hardly moves", [evidence.say(text, "metrics", *rows)], interest, variant)


def _disagreement(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """Two metrics that order two stressors differently, both with intervals that do not overlap."""
    stressed = {variant: card.metrics for variant, card in scores.variants.items() if variant != ORIGINAL}
    others = [metric for metric in scores.variants[ORIGINAL] if metric != scores.joint and measure_of(metric).is_share]
    for (first, below), (second, above) in permutations(stressed.items(), 2):
        for metric in others:
            if not all(name in card for name in (scores.joint, metric) for card in (below, above)):
                continue
            gap = min(above[scores.joint].low - below[scores.joint].high, below[metric].low - above[metric].high)
            if gap > 0:
                text = (
                    f"{scores.joint_short} is lower under {first} than under {second} "
                    f"({PAGE.percent(below[scores.joint].value)} and "
                    f"{PAGE.percent(above[scores.joint].value)} %), {metric} is higher "
                    f"({PAGE.percent(below[metric].value)} and {PAGE.percent(above[metric].value)} %); "
                    "neither pair of intervals overlaps."
                )
                rows = [
                    {"variant": name, "metric": shown} for name in (first, second) for shown in (scores.joint, metric)
                ]
                title = f"{scores.joint_short} and {metric} disagree on which stressor is worse"
                yield tell(title, [evidence.say(text, "metrics", *rows)], 1.9 + 0.1 * gap, first)


def recall(errors: SlotErrors) -> float:
    """Return the share of a slot's gold values that are right."""
    gold = errors.right + errors.wrong + errors.missed
    return errors.right / gold if gold else math.nan


def slots_at_worst(scores: Scores) -> Iterator[tuple[str, SlotErrors, str, SlotErrors]]:
    """Every slot that gold uses: its errors on the original, the stressor that hurts it most, its errors there.

    Where no stressor leaves it any gold value, the original is its own worst.
    """
    for slot, before in scores.variants[ORIGINAL].slots.items():
        if not math.isnan(recall(before)):
            errors = {name: card.slots[slot] for name, card in scores.variants.items() if slot in card.slots}
            recalls = {name: recall(own) for name, own in errors.items() if name != ORIGINAL}
            defined = {name: value for name, value in recalls.items() if not math.isnan(value)}
            worst = min(defined, key=defined.__getitem__, default=ORIGINAL)
            yield slot, before, worst, errors[worst]


def _failures(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """Turns without a prediction, where they are enough to move the numbers."""
    for row in evidence.tables["failures"]:
        variant, failed, turns = row["variant"], row["failed"], row["turns"]
        if turns and failed / turns >= _FAILED_SHARE:
            text = (
                f"{failed:,} of {turns:,} turns ({PAGE.percent(failed / turns)} %) have no prediction under {variant} "
                "and count as wrong. `dstress run --resume` retries them."
            )
            sentence = evidence.say(text, "failures", {"variant": variant})
            yield tell("Predictions are missing", [sentence], 3 + failed / turns, variant)


def say_differ(test: TestedDifference) -> str:
    """In how many dialogues two systems differ, where these are few."""
    if test.differ is None or test.differ > _FEW_DIFFER * test.dialogues:
        return ""
    doubt = "; too few to trust it" if test.is_few else ""
    return f" ({test.differ:,} of {test.dialogues:,} dialogues differ, {say_gains(test)}{doubt})"


def say_change(test: TestedDifference) -> str:
    """A difference in points, and where it lies."""
    return "{} points, 95 % interval {}".format(*PAGE.change(test))


def say_p(p: float) -> str:
    """Format a p-value for the text after `p`."""
    shown = PAGE.probability(p)
    return shown if shown.startswith("<") else f"= {shown}"
