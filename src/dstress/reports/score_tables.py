"""Scorecards and runs as tables: what the console shows, and the numbers behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dstress.metrics.measures import measure_of
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.reports.views import recoverable, repeats, tasks
from dstress.runs.folder import Manifest, RunFolder, Scores
from dstress.scoring.draws import DrawScores
from dstress.scoring.scorecard import UNITS, Score, Scorecard, SlotErrors, signature_text

_MOST_METRICS = 6


def card_tables(card: Scorecard) -> dict[str, Table]:
    """Every table of a card: its metrics, its slots, and its slices by their names."""
    slices = {
        name: slice_table(
            name, keys, [metric for metric in card.metrics if any(metric in v for v in keys.values())], [UNITS]
        )
        for name, keys in card.slices.items()
        if name != "slot"
    }
    found = {"metrics": score_table(card), "slots": slot_table(card)} | slices
    if card.richness:
        rows = [(name, f"{value:,.4f}".removesuffix(".0000")) for name, value in card.richness.items()]
        found["richness"] = Table(("richness", "#of all responses"), rows, "", [dict(card.richness)])
    return found


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
    return {"value": score.value, "low": score.low, "high": score.high, "n": score.n, "unit": measure_of(metric).unit}


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
    caption = signature_text("signature", next(iter(scored.draws.values())).signature) + ", and so for each draw"
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
    rows = [
        (
            key,
            *(f"{values.get(count) or 0:,.0f}" for count in counts),
            *(PLAIN.with_unit(values.get(metric), measure_of(metric).unit) for metric in shown),
        )
        for key, values in keys.items()
    ]
    records = [
        {name: key} | {column: values.get(column) for column in (*counts, *metrics)} for key, values in keys.items()
    ]
    return Table((name, *(f"#{column}" for column in (*counts, *shown))), rows, "", records)


def convention_table(cards: Mapping[str, Scorecard]) -> Table:
    """The same metrics under each convention: a row a convention."""
    names = list(dict.fromkeys(name for card in cards.values() for name in card))
    rows, records = [], []
    for convention, card in cards.items():
        values = {name: card[name].value if name in card else None for name in names}
        unit, units = card.signature["unit"], int(card.signature.get("frames", card.signature["turns"]))
        rows.append(
            (
                convention,
                f"{units:,} {unit}s",
                *(PLAIN.with_unit(value, measure_of(name).unit) for name, value in values.items()),
            )
        )
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
    headline = Table(("measure", "#%", "#95 % interval", "#over"), rows, title, records)
    further = [t for t in (recoverable(scores, PLAIN), repeats(scores, PLAIN), tasks(scores, PLAIN, title)) if t.rows]
    if not scores.drops:
        return [headline, *further]
    drops = [
        (
            variant,
            PLAIN.percent(drop.stressed),
            PLAIN.points(drop.difference),
            PLAIN.change_interval(drop.low, drop.high),
            PLAIN.probability(drop.p_holm, at_floor=drop.at_floor),
            PLAIN.number(drop.dialogues or math.nan),
        )
        for variant, drop in scores.drops.items()
    ]
    columns = ("stressor", "#jga %", "#change", "#95 % interval", "#p (Holm)", "#dialogues")
    costs = [{"stressor": variant} | msgspec.structs.asdict(drop) for variant, drop in scores.drops.items()]
    caption = f"change in points of jga on {manifest.tracked}; intervals are before Holm's correction"
    return [headline, Table(columns, drops, caption, costs), *further]


def tables_of_run(run: RunFolder) -> dict[str, Table]:
    """The tables of a run, and every metric of every variant."""
    scores = run.scores
    tables = dict(zip(("measures", "stressors"), run_tables(run.manifest, scores), strict=False))
    return tables | tables_of_scores(scores)


def tables_of_scores(scores: Scores) -> dict[str, Table]:
    """Every metric of every variant, a row each."""
    rows, records = [], []
    for variant, card in scores.variants.items():
        for row, record in zip(score_table(card).rows, score_table(card).records, strict=True):
            rows.append((variant, *row))
            records.append({"variant": variant, **record})
    return {"metrics": Table(("variant", "metric", "#%", "#95 % interval", "#over"), rows, "", records)}
