"""What the scores of a run say, in words: only what is beyond chance, with its numbers, sentence by sentence, each with
the rows that it stands on.

Tests are those of the scores: Holm's correction over the stressors, intervals over dialogues. What the answers have
wrong slot by slot is told by `dstress.reports.error_findings`; `dstress.reports.explanation` puts both together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dstress.metrics.measures import measure_of
from dstress.reports.numbers import PAGE
from dstress.runs.folder import ORIGINAL, Drop, Scores
from dstress.scoring.scorecard import Score, SlotErrors

ALPHA = 0.05
FLOOR = "jga-floor"
"""A metric of the turns that no stressor touches: that it stays the same is no news."""

OPENING = 5
"""So many findings open a report."""
_MOST_NAMES = 3
_NO_MORE_THAN = 0.01
"""A stressor that costs less than a point, at the worst that the data allow, may be told as one that does no harm."""

_BREAKS_NO_MORE_THAN = 0.05
"""And breaks so little, at the worst, of what was right where it changed something: one that changes little costs
little."""

_TOO_LITTLE_RIGHT = 0.2
"""Below this accuracy on the original nothing is told to do no harm: there is too little to lose."""

_FAILED_SHARE = 0.01
_BROKEN_SHARE = 0.02

Records = list[dict[str, Any]]


class Sentence(msgspec.Struct, frozen=True):
    """One sentence, and the rows of a table whose figures it tells, counted from 0."""

    text: str
    table: str
    rows: tuple[int, ...]


class Finding(msgspec.Struct, frozen=True):
    """One finding: a line, then the numbers. `variant` and `slot` say where examples are, `sentences` are the text."""

    title: str
    text: str
    interest: float
    variant: str = ""
    slot: str = ""
    sentences: tuple[Sentence, ...] = ()


def tell(title: str, said: Sequence[Sentence], interest: float, variant: str = "", slot: str = "") -> Finding:
    """A finding of sentences."""
    return Finding(title, " ".join(sentence.text for sentence in said), interest, variant, slot, tuple(said))


class Evidence:
    """Tables by name, and where in them a sentence finds its figures."""

    def __init__(self, tables: Mapping[str, Records]) -> None:
        self.tables = dict(tables)

    def say(self, text: str, table: str, *keys: Mapping[str, Any]) -> Sentence:
        """A sentence that stands on the rows with these fields."""
        rows = self.tables[table]
        places = [n for key in keys for n, row in enumerate(rows) if all(row[name] == key[name] for name in key)]
        return Sentence(text, table, tuple(places))


def score_evidence(scores: Scores) -> Evidence:
    """The tables that findings about scores stand on."""
    turns = {variant: int(card.signature.get("turns", "0")) for variant, card in scores.variants.items()}
    stressors: Records = []
    for variant, drop in scores.drops.items():
        parts = scores.variants[variant].slices.get("stress", {})
        broken = scores.paired.get(variant, {}).get("newly-wrong")
        stressors.append(
            {"stressor": variant, **msgspec.structs.asdict(drop)}
            | {
                "changed_jga": parts.get("changed", {}).get("jga"),
                "unchanged_jga": parts.get("as it was", {}).get("jga"),
            }
            | {"unanswered": _unanswered(scores, variant)}
            | {"breakable": broken.n if broken else None, "broken_high": broken.high if broken else None}
        )
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
    """Turns without an answer, on the original and under a stressor."""
    return scores.failed.get(ORIGINAL, 0) + scores.failed.get(variant, 0)


def _score_rows(name: str, groups: Mapping[str, Mapping[str, Score]]) -> Records:
    numbers = ("value", "low", "high", "n")
    return [
        {name: key, "metric": metric, **{number: getattr(score, number) for number in numbers}}
        for key, scores in groups.items()
        for metric, score in scores.items()
    ]


def findings(scores: Scores) -> list[Finding]:
    """All findings about the scores alone, the most interesting first; one of each kind, so that none says the same."""
    evidence = score_evidence(scores)
    kinds = (_failures, _disagreement, _worst, _gain, _broken, _hidden, _harmless, _undecided)
    return rank(max(kind(scores, evidence), key=lambda one: one.interest, default=None) for kind in kinds)


def rank(found: Iterable[Finding | None]) -> list[Finding]:
    """Those that there are, the most interesting first."""
    return sorted((finding for finding in found if finding), key=lambda finding: -finding.interest)


def significant(drop: Drop) -> bool:
    """Whether a change is beyond chance, with all the run's stressors taken into account."""
    return drop.p_holm <= ALPHA and drop.difference != 0


def _worst(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """What costs most: the bigger, the more interesting."""
    losses = {variant: drop for variant, drop in scores.drops.items() if significant(drop) and drop.difference < 0}
    for variant, drop in losses.items():
        said = [_change(evidence, variant, drop, "falls")]
        (row,) = (row for row in evidence.tables["stressors"] if row["stressor"] == variant)
        if row["changed_jga"] is not None and row["unchanged_jga"] is not None:
            text = (
                f"On the turns that it changed it is {PAGE.percent(row['changed_jga'])} %, on the others "
                f"{PAGE.percent(row['unchanged_jga'])} %."
            )
            said.append(evidence.say(text, "stressors", {"stressor": variant}))
        if len(scores.drops) > 1:
            text = f"{len(losses)} of {len(scores.drops)} stressors cost something."
            said.append(evidence.say(text, "stressors", *({"stressor": name} for name in losses)))
        yield tell(f"{variant} costs most", said, 2 - drop.difference, variant)


def _change(evidence: Evidence, variant: str, drop: Drop, verb: str) -> Sentence:
    text = (
        f"Joint goal accuracy {verb} from {PAGE.percent(drop.original)} % to {PAGE.percent(drop.stressed)} %: "
        f"{PAGE.points(drop.difference)} points, 95 % interval {PAGE.change_interval(drop.low, drop.high)}, "
        f"p {say_p(drop.p_holm, at_floor=drop.at_floor)} after Holm's correction."
    )
    return evidence.say(text, "stressors", {"stressor": variant})


def _gain(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """A stressor that helps is a surprise."""
    for variant, drop in scores.drops.items():
        if significant(drop) and drop.difference > 0:
            said = [_change(evidence, variant, drop, "rises")]
            yield tell(f"{variant} makes it easier", said, 1.9 + drop.difference, variant)


def _harmless(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """What does not matter, where the data could have shown that it does."""
    doubts = undecided(scores)
    calm = [variant for variant in _unproven(scores) if variant not in doubts]
    if calm:
        most = max(-scores.drops[variant].low for variant in calm)
        text = (
            f"With 95 % confidence {'each of them' if len(calm) > 1 else 'it'} costs {PAGE.percent(most, 2)} points of "
            "joint goal accuracy at most."
        )
        said = evidence.say(text, "stressors", *({"stressor": variant} for variant in calm))
        yield tell(f"{listed(calm)} {'do' if len(calm) > 1 else 'does'} no harm", [said], 1.0, calm[0])


def _undecided(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """What may be chance and may be harm: how much harm the data leave open, or why they cannot tell."""
    if doubts := undecided(scores):
        worst = min(doubts, key=lambda variant: scores.drops[variant].low)
        title = f"Whether {listed(list(doubts))} {'do' if len(doubts) > 1 else 'does'} harm cannot be told"
        under = f", the most under {worst}" if len(set(doubts.values())) > 1 else ""
        text = f"No change is beyond chance, but {doubts[worst]}{under}."
        said = evidence.say(text, "stressors", *({"stressor": variant} for variant in doubts))
        yield tell(title, [said], 0.5, worst)


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
    if failed := _unanswered(scores, variant):
        return f"missing answers ({failed:,}) hide what it does"
    if drop.original < _TOO_LITTLE_RIGHT:
        return f"with {PAGE.percent(drop.original)} % right on the original there is too little to lose"
    if not drop.low > -_NO_MORE_THAN:
        return f"a loss of up to {PAGE.percent(-drop.low)} points is compatible with the data"
    if broken and not broken.n:
        return "it changed nothing that is right on the original"
    if broken and broken.high > _BREAKS_NO_MORE_THAN:
        return (
            f"of the {broken.n:,.0f} {unit_of(scores, variant)}s that it changed and that are right on the original, "
            f"up to {PAGE.percent(broken.high)} % may break"
        )
    return ""


def listed(names: Sequence[str]) -> str:
    """Names in a line; how many there are where they would not fit."""
    if len(names) > _MOST_NAMES:
        return f"{len(names)} stressors"
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _broken(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """How many right turns become wrong; where others become right, the total hides it."""
    for variant, paired in scores.paired.items():
        drop, broken, mended = scores.drops.get(variant), paired.get("newly-wrong"), paired.get("newly-right")
        if drop is None or broken is None or mended is None or not _breaks(broken):
            continue
        text = (
            f"Of the {broken.n:,.0f} {unit_of(scores, variant)}s that it changed and that are right on the original, "
            f"{PAGE.percent(broken.value)} % become wrong (95 % interval {PAGE.interval(broken.low, broken.high)})"
        )
        gained = 0.0 if math.isnan(mended.value) else mended.value * mended.n
        hidden, title, interest = "", f"{variant} breaks what was right", 1.0
        if gained > broken.value * broken.n / 2:
            change = PAGE.points(drop.difference)
            hidden = f", while {gained:,.0f} others become right: joint goal accuracy changes by {change} points"
            title, interest = f"{variant} breaks more than the total shows", 1.6
        rows = ({"stressor": variant, "metric": metric} for metric in ("newly-wrong", "newly-right"))
        said = evidence.say(f"{text}{hidden}.", "pairs", *rows)
        yield tell(title, [said], interest + broken.low, variant)


def unit_of(scores: Scores, variant: str) -> str:
    """What is scored, turn or frame."""
    return scores.variants[variant].signature.get("unit", "turn")


def _hidden(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
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
            rows = [{"variant": name, "metric": one} for name in (ORIGINAL, variant) for one in ("jga", metric)]
            interest = 1.2 - drop.difference - before.value + after.value
            yield tell(f"{metric} hardly sees it", [evidence.say(text, "metrics", *rows)], interest, variant)


def _disagreement(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
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
                    rows = [{"variant": name, "metric": one} for name in (first, second) for one in ("jga", metric)]
                    title = f"jga and {metric} disagree on what is worse"
                    yield tell(title, [evidence.say(text, "metrics", *rows)], 2.2 + min(gaps), first)


def _gap(scores: Scores, metric: str, low: str, high: str) -> float:
    """How far the interval of one variant lies below that of another; negative where they touch."""
    below, above = (scores.variants[variant].metrics.get(metric) for variant in (low, high))
    return above.low - below.high if below and above else -1.0


def _value(scores: Scores, variant: str, metric: str) -> str:
    return PAGE.percent(scores.variants[variant][metric].value)


def recall(errors: SlotErrors) -> float:
    """How many of a slot's gold values are right."""
    gold = errors.right + errors.wrong + errors.missed
    return errors.right / gold if gold else math.nan


def _failures(scores: Scores, evidence: Evidence) -> Iterator[Finding]:
    """Turns without an answer, where they are many enough to move the numbers."""
    for row in evidence.tables["failures"]:
        variant, failed, turns = row["variant"], row["failed"], row["turns"]
        if turns and failed / turns >= _FAILED_SHARE:
            text = (
                f"{failed:,} of {turns:,} turns ({PAGE.percent(failed / turns)} %) have no answer under {variant}, and "
                "count as wrong. `dstress run --resume` asks for them again."
            )
            said = evidence.say(text, "failures", {"variant": variant})
            yield tell("Answers are missing", [said], 3 + failed / turns, variant)


def say_p(p: float, *, at_floor: bool = False) -> str:
    """A p-value behind the word `p`."""
    shown = PAGE.probability(p, at_floor=at_floor)
    return shown if shown.startswith("<") else f"= {shown}"
