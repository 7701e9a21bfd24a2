"""What the HTML report's tables show, as plain rows: taken from the scores, the manifest and the quality summaries."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import LOST, RECOVERABLE
from dstress.metrics.base import POINTS
from dstress.metrics.measures import AVERAGE, measure_of
from dstress.reports.findings import recall, significant, undecided
from dstress.reports.numbers import PAGE, NumberFormat
from dstress.reports.tables import Table
from dstress.runs.folder import ORIGINAL, Manifest, RunFolder, Scores
from dstress.scoring.scorecard import UNITS, Score
from dstress.text.schema_distance import SchemaChange

_REASONS = 3


class Card(NamedTuple):
    """One of the large numbers at the top."""

    label: str
    value: str
    unit: str
    below: str


class Measure(NamedTuple):
    """A row of the suite's own table; `bar` is where its mark and its interval lie, in percent of the width."""

    name: str
    variant: str
    metric: str
    value: str
    interval: str
    over: str
    bar: tuple[float, float, float] | None
    missing: str
    signature: str
    stressor: str
    """Whose turns the explorer shows; empty for those of several together."""
    less_is_better: bool


class Cost(NamedTuple):
    """What a stressor costs."""

    variant: str
    accuracy: str
    change: str
    interval: str
    p: str
    dialogues: str
    significant: bool
    changed: str
    raw: tuple[float, float, float]


class SlotRow(NamedTuple):
    """A slot on the original and under the stressor that hurts it most."""

    slot: str
    gold: int
    original: float
    worst: float
    variant: str
    missed: int
    wrong: int
    extra: int
    confusion: tuple[str, str, int] | None

    @property
    def change(self) -> float:
        """From the original to the worst."""
        return self.worst - self.original


class StressorRow(NamedTuple):
    """What a stressor did to the corpus."""

    variant: str
    kind: str
    changed: tuple[float, str]
    words: tuple[float, str]
    values_kept: str
    distinct: str
    similarity: str
    fallbacks: list[tuple[str, int]]
    other_fallbacks: int
    figures: list[tuple[str, str]]
    schema: SchemaChange | None


class Failure(NamedTuple):
    """A reason for which turns have no answer, and where."""

    reason: str
    turns: int
    where: list[tuple[str, int]]


def cards(scores: Scores, names: Mapping[str, str]) -> list[Card]:
    """The few numbers that a reader wants first."""
    shown = []
    original = scores.variants[ORIGINAL]
    if "jga" in original:
        jga = original["jga"]
        below = (
            f"{PAGE.interval(jga.low, jga.high)} over {PAGE.number(jga.n)} {original.signature.get('unit', 'turn')}s"
        )
        shown.append(Card("JGA, original", PAGE.percent(jga.value), "%", below))
    if scores.drops:
        worst = min(scores.drops, key=lambda variant: scores.drops[variant].stressed)
        drop = scores.drops[worst]
        below = (
            f"{names.get(worst, worst)}, {PAGE.points(drop.difference)} points"
            if drop.difference
            else "the same under every stressor"
        )
        shown.append(Card("JGA, at its worst", PAGE.percent(drop.stressed), "%", below))
        hurt = sum(significant(drop) and drop.difference < 0 for drop in scores.drops.values())
        below = "beyond chance, Holm, α = 0.05" + (
            f"; {open_} cannot be told" if (open_ := len(undecided(scores))) else ""
        )
        shown.append(Card("stressors that hurt", str(hurt), f"of {len(scores.drops)}", below))
    turns = sum(int(card.signature.get("turns", "0")) for card in scores.variants.values())
    failed = sum(scores.failed.values())
    below = f"{failed:,} without an answer" if failed else "every one has an answer"
    shown.append(Card("turns tracked", f"{turns:,}", "", below))
    return shown


def limits(manifest: Manifest, scores: Scores, left_out: int) -> list[str]:
    """What the run cannot say, in sentences: what it left out, what it could not compute, and how fine it sees."""
    found = []
    if manifest.part:
        found.append(f"It saw a part of the corpus only: {manifest.tracked}.")
    if manifest.only:
        found.append(f"It ran some of the suite's stressors only: {', '.join(manifest.only)}.")
    known = [drop for drop in scores.drops.values() if drop.dialogues and drop.low <= drop.high]
    if known:
        widest = max(known, key=lambda drop: drop.high - drop.low)
        half = PAGE.percent((widest.high - widest.low) / 2)
        found.append(
            f"{widest.dialogues:,} dialogues tell a change in joint goal accuracy to within ±{half} points at worst "
            "(half of the widest 95 % interval); a smaller one may be there and not be seen."
        )
    if failed := sum(scores.failed.values()):
        found.append(f"{failed:,} turns have no answer and count as wrong.")
    missing: dict[str, list[str]] = {}
    for cell in scores.table:
        if not cell.score:
            missing.setdefault(cell.missing, []).append(cell.column)
    found += [f"No value for {', '.join(columns)}: {reason}." for reason, columns in missing.items()]
    if left_out:
        found.append(f"{left_out:,} examples are left out below to keep the page small; every number counts them.")
    return found


def headline(scores: Scores) -> list[Measure]:
    """The suite's own table."""
    rows = []
    for cell in scores.table:
        score = cell.score
        rows.append(
            Measure(
                cell.column,
                cell.variant,
                cell.metric,
                PAGE.with_unit(score.value, measure_of(cell.metric).unit) if score else "–",
                PAGE.measured_interval(score.low, score.high, measure_of(cell.metric).unit) if score else "",
                PAGE.number(score.n) if score else "",
                _bar(score) if score and measure_of(cell.metric).is_share else None,
                cell.missing,
                score.signature if score else "",
                cell.variant if cell.variant in scores.variants else "",
                not measure_of(cell.metric).higher_is_better,
            )
        )
    return rows


def _bar(score: Score) -> tuple[float, float, float] | None:
    if not 0 <= score.value <= 1:
        return None
    low, high = (score.value if math.isnan(end) else end for end in (score.low, score.high))
    return round(100 * score.value, 2), round(100 * low, 2), round(100 * (high - low), 2)


def costs(run: RunFolder, scores: Scores) -> list[Cost]:
    """What each stressor costs, the costly first."""
    rows = []
    for variant, drop in sorted(scores.drops.items(), key=lambda item: item[1].difference):
        changed = _share_changed(run.quality(variant))
        rows.append(
            Cost(
                variant,
                PAGE.percent(drop.stressed),
                PAGE.points(drop.difference),
                PAGE.change_interval(drop.low, drop.high),
                PAGE.probability(drop.p_holm, at_floor=drop.at_floor),
                PAGE.number(drop.dialogues or math.nan),
                significant(drop),
                PAGE.percent(changed, 0),
                (drop.stressed, drop.difference, drop.p_holm),
            )
        )
    return rows


def recoverable(scores: Scores, numbers: NumberFormat = PAGE) -> Table:
    """Joint goal accuracy of misheard turns whose values can still be told, and of those in which one is lost."""
    rows = []
    for variant, card in scores.variants.items():
        parts = card.slices.get("stress", {})
        if "jga" in card and not parts.keys().isdisjoint((RECOVERABLE, LOST)):
            cells = [variant, numbers.percent(card["jga"].value)]
            for key in (RECOVERABLE, LOST):
                part = parts.get(key, {})
                cells += [numbers.percent(_or_nan(part.get("jga"))), numbers.number(_or_nan(part.get(UNITS)))]
            rows.append(tuple(cells))
    columns = ("stressor", "#jga %", "#recoverable %", "#recoverable turns", "#lost %", "#lost turns")
    return Table(columns, rows, "jga of turns whose values can still be told from what was heard, and of lost ones")


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def repeats(scores: Scores, numbers: NumberFormat = PAGE) -> Table:
    """How far the tracker agrees with itself, where every turn was asked several times."""
    ways = [f"#pass^{k} %" for k in range(1, 1 + max((len(found.jga) for found in scores.repeats.values()), default=0))]
    rows = [
        (variant, numbers.percent(found.spread), numbers.percent(found.differing), *map(numbers.percent, found.passed))
        for variant, found in scores.repeats.items()
    ]
    caption = f"{len(ways)} answers to every turn: how far they agree"
    return Table(("variant", "#spread of jga", "#turns that differ %", *ways), rows, caption)


def tasks(scores: Scores, numbers: NumberFormat = PAGE, title: str = "") -> Table:
    """The columns that have a task as in RADDLE's table 2: a row a task, with its mean; then the means over tasks."""
    cells = [cell for cell in scores.table if cell.task]
    measures = list(dict.fromkeys(cell.measure for cell in cells))
    rows, records = [], []
    for task in dict.fromkeys(cell.task for cell in cells):
        found = {cell.measure: (cell.metric, cell.score.value) for cell in cells if cell.task == task and cell.score}
        shown = {name: numbers.measured(value, measure_of(metric).unit) for name, (metric, value) in found.items()}
        points = [measure_of(metric).scale * value for metric, value in found.values()]
        mean = sum(points) / len(points) if points else math.nan
        values = (shown.get(measure, numbers.unknown) for measure in measures)
        rows.append((task, numbers.measured(mean, POINTS), *values))
        records.append({"task": task} | {name: value for name, (_, value) in found.items()} | {"mean": mean})
    for cell in scores.table if cells else ():
        if cell.metric == AVERAGE:
            mean = cell.score.value if cell.score else math.nan
            rows.append((cell.column, numbers.measured(mean, POINTS), *[""] * len(measures)))
            records.append({"task": cell.column, "mean": mean})
    return Table(("task", "#mean", *(f"#{measure}" for measure in measures)), rows, title, records)


def slots(scores: Scores) -> list[SlotRow]:
    """Every slot that gold uses, those that lose most first."""
    stressed = {variant: card.slots for variant, card in scores.variants.items() if variant != ORIGINAL}
    rows = []
    for slot, before in scores.variants[ORIGINAL].slots.items():
        if math.isnan(recall(before)):
            continue
        errors = {variant: slots[slot] for variant, slots in stressed.items() if slot in slots}
        recalls = {variant: recall(found) for variant, found in errors.items() if not math.isnan(recall(found))}
        worst = min(recalls, key=recalls.__getitem__, default=ORIGINAL)
        after = errors[worst] if recalls else before
        gold = before.right + before.wrong + before.missed
        confusion = after.confusions[0] if after.confusions else None
        counts = after.missed, after.wrong, after.extra
        rows.append(SlotRow(slot, gold, recall(before), recall(after), worst, *counts, confusion))
    return sorted(rows, key=lambda row: row.change)


def services(scores: Scores) -> list[tuple[str, float, dict[str, float]]]:
    """Every service: joint goal accuracy on the original, and how it changes under each stressor."""
    values = {variant: card.slices.get("service", {}) for variant, card in scores.variants.items()}
    rows = []
    for service, own in values[ORIGINAL].items():
        before, stressed = own.get("jga"), {name: of.get(service, {}).get("jga") for name, of in values.items()}
        if before is not None:
            changes = {name: after - before for name, after in stressed.items() if after is not None}
            rows.append((service, before, changes))
    return rows


def stressors(run: RunFolder) -> list[StressorRow]:
    """What each stressor did, from the summaries that were written with the dialogues."""
    return [_stressor_row(variant, run.quality(variant)) for variant in run.variants if variant != ORIGINAL]


def _stressor_row(variant: str, about: Mapping[str, Any]) -> StressorRow:
    quality: Mapping[str, Any] = about.get("quality", {})
    words, values = (quality.get(name, 0) for name in ("words", "values"))
    edits = sum(quality.get(name, 0) for name in ("substituted", "deleted", "inserted"))
    changed = _share_changed(about)
    rewritten = edits / words if words and not math.isnan(changed) else math.nan
    fallbacks = list(quality.get("fallbacks", {}).items())
    distinct = quality.get("distinct", {}).get("2")
    similarity = quality.get("similarity")
    schema = msgspec.convert(about["schema"], SchemaChange) if "schema" in about else None
    return StressorRow(
        variant,
        " · ".join(part for part in (about.get("effect", ""), about.get("scope", "")) if part),
        (changed, PAGE.percent(changed, 0)),
        (rewritten, PAGE.percent(rewritten, 0)),
        PAGE.percent(quality.get("values_still_said", 0) / values if values else None),
        f"{distinct[0]:.2f} → {distinct[1]:.2f}" if distinct and not math.isnan(changed) else "–",
        f"{similarity:.2f}" if similarity is not None else "–",
        fallbacks[:_REASONS],
        sum(number for _, number in fallbacks[_REASONS:]),
        [(name, f"{value:.3g}") for name, value in quality.get("figures", {}).items()] + _schema_figures(schema),
        schema,
    )


def _share_changed(about: Mapping[str, Any]) -> float:
    """The share of turns with other words; not a number where only the schema was to change."""
    changed, turns = (about.get("quality", {}).get(name, 0) for name in ("changed", "turns"))
    return changed / turns if turns and (changed or "schema" not in about) else math.nan


def _schema_figures(change: SchemaChange | None) -> list[tuple[str, str]]:
    """What became of the schema."""
    if change is None:
        return []
    figures = [
        ("names changed", f"{change.names_changed:,} of {change.names:,}"),
        ("name distance", f"{change.name_distance:.2f}"),
        ("descriptions changed", f"{change.descriptions_changed:,} of {change.descriptions:,}"),
        ("BLEU of descriptions", f"{change.description_bleu:.1f}"),
    ]
    added = [("services added", f"{len(change.services_added):,}")] if change.services_added else []
    return (figures if change.names_changed or change.descriptions_changed else []) + added


def failures(by_variant: Mapping[str, Counter[str]]) -> list[Failure]:
    """Turns without an answer, the most frequent reasons first."""
    rows = []
    for reason, turns in sum(by_variant.values(), Counter[str]()).most_common():
        where = [(variant, reasons[reason]) for variant, reasons in by_variant.items() if reasons[reason]]
        rows.append(Failure(reason, turns, where))
    return rows


def command(manifest: Manifest) -> str:
    """The command that makes the run again."""
    parts = ["dstress", "run", manifest.suite_name, "--tracker", manifest.tracker, "--corpus", manifest.corpus]
    parts += ["--seed", str(manifest.seed)]
    parts += ["--limit", str(manifest.limit)] if manifest.limit else []
    parts += ["--draw", str(manifest.draw)] if manifest.draw else []
    parts += ["--only", ",".join(manifest.only)] if manifest.only else []
    parts += ["--convention", manifest.convention] if manifest.convention else []
    parts += ["--repeats", str(manifest.repeats)] if manifest.repeats > 1 else []
    parts += manifest.also
    return shlex.join(parts)


def signatures(scores: Scores) -> Iterator[str]:
    """The signature of every number, once."""
    groups = [card.metrics for card in scores.variants.values()]
    groups += [*scores.paired.values(), *scores.across.values()]
    yield from dict.fromkeys(score.signature for group in groups for score in group.values())
