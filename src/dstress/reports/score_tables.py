"""Scorecards and runs as tables: what the console shows, and the numbers behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dstress.dialogue import LOST, RECOVERABLE
from dstress.display import make_tables
from dstress.reports.numbers import PLAIN, NumberFormat
from dstress.reports.tables import Table
from dstress.runs.folder import Cell, Manifest, RunFolder, Scores
from dstress.scoring.metrics.base import POINTS
from dstress.scoring.metrics.measures import AVERAGE, measure_of
from dstress.scoring.scorecard import UNITS, Score, Scorecard, SlotErrors, signature_text

if TYPE_CHECKING:  # it loads corpora, which a report need not
    from dstress.scoring.draws import DrawScores

_MOST_METRICS = 6


@make_tables.register
def card_tables(card: Scorecard) -> dict[str, Table]:
    """Every table of a card: its metrics, its slots, and its slices by their names."""
    tables = {"metrics": score_table(card), "slots": slot_table(card)}
    for name, keys in card.slices.items():
        if name != "slot":
            metrics = [metric for metric in card.metrics if any(metric in values for values in keys.values())]
            tables[name] = slice_table(name, keys, metrics, [UNITS])
    if card.richness:
        rows = [(name, f"{value:,.4f}".removesuffix(".0000")) for name, value in card.richness.items()]
        tables["richness"] = Table(("richness", "#of all responses"), rows, "", [dict(card.richness)])
    return tables


def score_table(card: Scorecard) -> Table:
    """Every metric with its interval; the signature is the caption."""
    rows = [(name, *_measured(name, score)) for name, score in card.metrics.items()]
    records = [{"metric": name} | _numbers(name, score) for name, score in card.metrics.items()]
    caption = signature_text("signature", card.signature)
    return Table(("metric", "#%", "#95 % interval", "#over"), rows, caption, records)


def _measured(metric: str, score: Score) -> tuple[str, str, str]:
    unit = measure_of(metric).unit
    ends = PLAIN.measured_interval(score.low, score.high, unit)
    return PLAIN.with_unit(score.value, unit), ends, PLAIN.number(score.n)


def _numbers(metric: str, score: Score) -> dict[str, Any]:
    unit = measure_of(metric).data_unit
    return {"value": score.value, "low": score.low, "high": score.high, "n": score.n, "unit": unit}


def draw_table(scored: DrawScores) -> Table:
    """Every metric over several draws of a few-shot task: mean, standard deviation, and each draw's value."""
    rows = []
    for name, over in scored.metrics.items():
        values = (over.mean, over.deviation, *(card[name].value for card in scored.draws.values()))
        rows.append((name, *(PLAIN.with_unit(value, measure_of(name).unit) for value in values)))
    records = [
        {"metric": name} | msgspec.to_builtins(over) | {draw: card[name].value for draw, card in scored.draws.items()}
        for name, over in scored.metrics.items()
    ]
    caption = signature_text("signature", next(iter(scored.draws.values())).signature) + ", the same for each draw"
    return Table(("metric", "#mean %", "#deviation", *(f"#{draw}" for draw in scored.draws)), rows, caption, records)


def slot_table(card: Scorecard) -> Table:
    """The slots, those with the most errors first, each with its most frequent confusion."""
    worst = sorted(card.slots.items(), key=lambda item: -(item[1].wrong + item[1].missed + item[1].extra))
    rows, records = [], []
    for slot, errors in worst:
        counts = {name: getattr(errors, name) for name in ("right", "wrong", "missed", "extra")}
        rows.append((slot, *(f"{number:,}" for number in counts.values()), _confusion(errors)))
        records.append({"slot": slot, **counts, "confusion": _confusion(errors)})
    return Table(("slot", "#right", "#wrong", "#missed", "#extra", "most frequent confusion"), rows, "", records)


def _confusion(errors: SlotErrors) -> str:
    return "".join(f"{gold} -> {predicted} ({times:,})" for gold, predicted, times in errors.confusions[:1])


def slice_table(
    name: str, keys: Mapping[str, Mapping[str, float | None]], metrics: Sequence[str], counts: Sequence[str] = ()
) -> Table:
    """A row for each key of a slice: counts, then metrics; as text the first few of them, as records all."""
    shown = metrics[:_MOST_METRICS]
    rows, records = [], []
    for key, values in keys.items():
        counted = (f"{values.get(count) or 0:,.0f}" for count in counts)
        rows.append((key, *counted, *(PLAIN.with_unit(values.get(name), measure_of(name).unit) for name in shown)))
        records.append({name: key} | {column: values.get(column) for column in (*counts, *metrics)})
    return Table((name, *(f"#{column}" for column in (*counts, *shown))), rows, "", records)


def convention_table(cards: Mapping[str, Scorecard]) -> Table:
    """The same metrics under each convention: a row a convention."""
    names = list(dict.fromkeys(name for card in cards.values() for name in card))
    rows, records = [], []
    for convention, card in cards.items():
        values = {name: card[name].value if name in card else None for name in names}
        unit, units = card.signature["unit"], int(card.signature.get("frames", card.signature["turns"]))
        shown = (PLAIN.with_unit(value, measure_of(name).unit) for name, value in values.items())
        rows.append((convention, f"{units:,} {unit}s", *shown))
        records.append({"convention": convention, "unit": unit, UNITS: units, **values})
    signature = next(iter(cards.values())).signature
    shared = {key: value for key, value in signature.items() if key not in ("conv", "unit", "fuzz", "frames")}
    columns = ("convention", "#over", *(f"#{name}" for name in names))
    return Table(columns, rows, signature_text("%", shared), records)


def run_tables(manifest: Manifest, scores: Scores) -> list[Table]:
    """The suite's own table, and what each stressor costs."""
    rows, records = [], []
    for cell in scores.table:
        rows.append((cell.column, *(_measured(cell.metric, cell.score) if cell.score else ("-", cell.missing, ""))))
        numbers = _numbers(cell.metric, cell.score) if cell.score else {"missing": cell.missing}
        records.append({"measure": cell.column, "variant": cell.variant, "metric": cell.metric, **numbers})
    title = f"{manifest.suite.title}: {manifest.tracker} on {manifest.tracked}"
    terms = manifest.suite.spell_out(*(cell.column for cell in scores.table))
    remarks = [title, *(f"{term}: {meaning}" for term, meaning in terms.items())]
    remarks += dict.fromkeys(measure_of(cell.metric).remark for cell in scores.table)
    headline = Table(("measure", "#%", "#95 % interval", "#over"), rows, "; ".join(filter(None, remarks)), records)
    further = [t for t in (recoverable(scores), repeats(scores), tasks(scores, title=title)) if t.rows]
    if not scores.drops:
        return [headline, *further]
    drops, costs = [], []
    for variant, drop in scores.drops.items():
        tested = *PLAIN.change(drop), PLAIN.probability(drop.p_holm)
        over = PLAIN.number(drop.dialogues or math.nan), PLAIN.differing(drop)
        drops.append((variant, PLAIN.percent(drop.stressed), *tested, *over))
        costs.append({"stressor": variant} | msgspec.structs.asdict(drop))
    columns = ("stressor", f"#{scores.joint} %", "#change", "#95 % interval", "#p (Holm)", "#dialogues", "#differ")
    caption = f"change in points of {scores.joint} on {manifest.tracked}; intervals are before Holm's correction"
    return [headline, Table(columns, drops, caption, costs), *further]


def recoverable(scores: Scores, numbers: NumberFormat = PLAIN) -> Table:
    """Joint goal accuracy of misheard turns whose values can still be told, and of those in which one is lost."""
    rows = []
    for variant, card in scores.variants.items():
        parts = card.slices.get("stress", {})
        if "jga" in card and not parts.keys().isdisjoint((RECOVERABLE, LOST)):
            cells = [variant, numbers.percent(card["jga"].value)]
            for key in (RECOVERABLE, LOST):
                part = parts.get(key, {})
                units = part.get(UNITS)
                cells += [numbers.percent(part.get("jga")), numbers.number(math.nan if units is None else units)]
            rows.append(tuple(cells))
    columns = ("stressor", "#jga %", "#recoverable %", "#recoverable turns", "#lost %", "#lost turns")
    return Table(columns, rows, "jga of turns whose values can still be recovered, and of turns with lost values")


def repeats(scores: Scores, numbers: NumberFormat = PLAIN) -> Table:
    """How far the tracker agrees with itself, where every turn was asked several times."""
    ways = [f"#pass^{k} %" for k in range(1, 1 + max((len(own.jga) for own in scores.repeats.values()), default=0))]
    rows = [
        (variant, *map(numbers.percent, (own.spread, own.differing, *own.passed)))
        for variant, own in scores.repeats.items()
    ]
    caption = f"{len(ways)} answers to every turn: how often they agree"
    return Table(("variant", f"#spread of {scores.joint}", "#turns that differ %", *ways), rows, caption)


def tasks(
    scores: Scores,
    numbers: NumberFormat = PLAIN,
    title: str = "",
    by: Literal["task", "aspect"] = "task",
    floors: Mapping[str, float] = MappingProxyType({}),
) -> Table:
    """The columns that have a task as in RADDLE's table 2: a row a task, with its mean; then the means over tasks.

    By aspect it is coarser: a row has the means of the aspect's tasks. Floors, by column, are named beside the values.
    """
    cells = [cell for cell in scores.table if cell.task]
    measures = list(dict.fromkeys(cell.measure for cell in cells))
    rows, records = [], []
    for name in dict.fromkeys(getattr(cell, by) for cell in cells):
        scored: dict[str, list[tuple[Cell, float]]] = {}
        for cell in cells:
            if getattr(cell, by) == name and cell.score:
                scored.setdefault(cell.measure, []).append((cell, cell.score.value))
        means = {measure: fmean(value for _, value in own) for measure, own in scored.items()}
        shown = {
            measure: numbers.measured(means[measure], measure_of(own[0][0].metric).unit)
            for measure, own in scored.items()
        }
        for measure, own in scored.items():
            if all(cell.column in floors for cell, _ in own):
                floor = fmean(floors[cell.column] for cell, _ in own)
                shown[measure] += f" (floor {numbers.measured(floor, POINTS)})"
        points = [measure_of(cell.metric).scale * value for own in scored.values() for cell, value in own]
        mean = fmean(points) if points else math.nan
        rows.append(
            (name, numbers.measured(mean, POINTS), *(shown.get(measure, numbers.unknown) for measure in measures))
        )
        records.append({by: name} | means | {"mean": mean})
    for cell in scores.table if cells else ():
        if cell.metric == AVERAGE:
            mean = cell.score.value if cell.score else math.nan
            rows.append((cell.column, numbers.measured(mean, POINTS), *[""] * len(measures)))
            records.append({by: cell.column, "mean": mean})
    return Table((by, "#mean", *(f"#{measure}" for measure in measures)), rows, title, records)


@make_tables.register
def tables_of_run(run: RunFolder) -> dict[str, Table]:
    """The tables of a run, and every metric of every variant."""
    scores = run.scores
    tables = dict(zip(("measures", "stressors"), run_tables(run.manifest, scores), strict=False))
    return tables | tables_of_scores(scores)


@make_tables.register
def tables_of_scores(scores: Scores) -> dict[str, Table]:
    """Every metric of every variant, a row each."""
    cards = {variant: score_table(card) for variant, card in scores.variants.items()}
    rows = [(variant, *row) for variant, card in cards.items() for row in card.rows]
    records = [{"variant": variant, **record} for variant, card in cards.items() for record in card.records]
    return {"metrics": Table(("variant", "metric", "#%", "#95 % interval", "#over"), rows, "", records)}
