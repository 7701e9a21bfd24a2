"""What the HTML report's tables show, as plain rows: taken from the scores, the manifest and the quality summaries."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

import msgspec

from dstress.dialogue import Turn
from dstress.reports.findings import Records, recall, significant, slots_at_worst, undecided
from dstress.reports.numbers import PAGE
from dstress.runs.folder import ORIGINAL, Cell, Manifest, RunFolder, Scores
from dstress.scoring.alignment.errors import SlotError, TurnErrors
from dstress.scoring.metrics.measures import Measure, measure_of
from dstress.text.schema_distance import SchemaChange

_REASONS = 3


def cards(scores: Scores, names: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """The few numbers that a reader wants first: label, value, unit, and what stands below."""
    original = scores.variants[ORIGINAL]
    if scores.joint in original:
        joint, unit = original[scores.joint], original.signature.get("unit", "turn")
        below = f"{PAGE.interval(joint.low, joint.high)} over {PAGE.number(joint.n)} {unit}s"
        yield f"{scores.joint_short}, original", PAGE.percent(joint.value), "%", below
    if scores.drops:
        worst = min(scores.drops, key=lambda variant: scores.drops[variant].stressed)
        drop = scores.drops[worst]
        below = f"{names.get(worst, worst)}, {PAGE.points(drop.difference)} points"
        below = below if drop.difference else "the same under every stressor"
        yield f"{scores.joint_short}, at its worst", PAGE.percent(drop.stressed), "%", below
        hurt = sum(significant(drop) and drop.difference < 0 for drop in scores.drops.values())
        doubts = len(undecided(scores))
        below = "significant, Holm, α = 0.05" + (f"; {doubts} undecided" if doubts else "")
        yield "stressors that hurt", str(hurt), f"of {len(scores.drops)}", below
    turns = sum(int(card.signature.get("turns", "0")) for card in scores.variants.values())
    failed = sum(scores.failed.values())
    yield "turns tracked", f"{turns:,}", "", f"{failed:,} without a prediction" if failed else "all have a prediction"


def find_broken_turn(run: RunFolder, errors: Mapping[str, TurnErrors], variant: str) -> dict[str, Any] | None:
    """Return the simplest turn that a stressor breaks: the fewest errors, then edits, then words.

    `turn` counts from 1, as the explorer does; `parts` are the user's utterance in pieces: `same`, `gone` or `new`, and
    the text; `errors` are slot, gold value, predicted value, empty for none.
    """
    journal = run.variant(variant).journal()

    def broken() -> Iterator[tuple[tuple[int, int, int], str, int, Turn, list[SlotError]]]:
        for dialogue in run.variant(variant).dialogues():
            answered = journal.done(dialogue.id)
            for number, turn in enumerate(dialogue.turns):
                place = (dialogue.id, number)
                wrong, was_right = errors[variant].wrong(*place), not errors[ORIGINAL].wrong(*place)
                if wrong and was_right and number in answered and turn.stress and turn.stress.edits:
                    simplicity = len(wrong), len(turn.stress.edits), len(turn.user.split())
                    yield simplicity, dialogue.id, number, turn, wrong

    simplest = min(broken(), key=itemgetter(0), default=None)
    if simplest is None:
        return None
    _, dialogue, number, turn, wrong = simplest
    parts, end, text = [], 0, turn.original.user
    for edit in sorted(turn.stress.edits if turn.stress else (), key=lambda edit: edit.start):
        parts += [("same", text[end : edit.start]), ("gone", edit.before), ("new", edit.after)]
        end = edit.start + len(edit.before)
    parts.append(("same", text[end:]))
    return {
        "variant": variant,
        "dialogue": dialogue,
        "turn": number + 1,
        "system": turn.system,
        "parts": [part for part in parts if part[1]],
        "errors": [(error.slot, turn.state.get(error.slot, ("",))[0], error.value) for error in wrong],
    }


def limits(manifest: Manifest, scores: Scores, left_out: int) -> list[str]:
    """Say what limits the run: what it left out, what it could not compute, and its resolution."""
    sentences = []
    if manifest.part:
        sentences.append(f"Only part of the corpus was used: {manifest.tracked}.")
    if manifest.only:
        sentences.append(f"Only some of the suite's stressors were run: {', '.join(manifest.only)}.")
    tested = [drop for drop in scores.drops.values() if drop.dialogues and drop.low <= drop.high]
    if tested:
        widest = max(tested, key=lambda drop: drop.high - drop.low)
        half = PAGE.percent((widest.high - widest.low) / 2)
        sentences.append(
            f"With {widest.dialogues:,} dialogues, changes in {scores.joint_title} are known to within ±{half} points "
            "at worst (half of the widest 95 % interval); smaller effects may go undetected."
        )
    if failed := sum(scores.failed.values()):
        sentences.append(f"{failed:,} turns have no prediction and count as wrong.")
    missing: dict[str, list[str]] = {}
    for cell in scores.table:
        if not cell.score:
            missing.setdefault(cell.missing, []).append(cell.column)
    sentences += [f"No value for {', '.join(columns)}: {reason}." for reason, columns in missing.items()]
    if left_out:
        sentences.append(f"{left_out:,} examples are not shown, to keep the page small; all numbers include them.")
    return sentences


def headline(scores: Scores) -> Iterator[tuple[Cell, Measure, tuple[float, float, float] | None]]:
    """The suite's own table, with each bar: where its mark and its interval lie, in percent of the width."""
    for cell in scores.table:
        score, measure, bar = cell.score, measure_of(cell.metric), None
        if score and measure.is_share and 0 <= score.value <= 1:
            low, high = (score.value if math.isnan(end) else end for end in (score.low, score.high))
            bar = round(100 * score.value, 2), round(100 * low, 2), round(100 * (high - low), 2)
        yield cell, measure, bar


def slots(scores: Scores) -> Records:
    """Every slot that gold uses, on the original and under the stressor that hurts it most; those that lose most first.

    The errors are those at its worst.
    """
    rows = []
    for slot, before, worst, after in slots_at_worst(scores):
        start, end = recall(before), recall(after)
        shares = {"original": start, "worst": end, "change": end - start}
        gold = before.right + before.wrong + before.missed
        rows.append({"slot": slot, "gold": gold, **shares, "variant": worst, "errors": after})
    return sorted(rows, key=itemgetter("change"))


def services(scores: Scores) -> list[tuple[str, float, dict[str, float]]]:
    """Every service: how much is right on the original, and how it changes under each stressor."""
    by_variant = {variant: card.slices.get("service", {}) for variant, card in scores.variants.items()}
    rows = []
    for service, metrics in by_variant[ORIGINAL].items():
        before = metrics.get(scores.joint)
        if before is not None:
            stressed = {
                variant: services.get(service, {}).get(scores.joint) for variant, services in by_variant.items()
            }
            changes = {variant: after - before for variant, after in stressed.items() if after is not None}
            rows.append((service, before, changes))
    return rows


def stressors(run: RunFolder) -> Records:
    """What each stressor did, from the summaries that were written with the dialogues."""
    rows = []
    for variant in run.variants[1:]:
        about = run.variant(variant).quality
        with run.reading(run.variant(variant).path.with_suffix(".json")):
            schema = msgspec.convert(about["schema"], SchemaChange) if "schema" in about else None
        quality: Mapping[str, Any] = about.get("quality", {})
        changed, turns, words, values = (quality.get(name, 0) for name in ("changed", "turns", "words", "values"))
        # Where only the schema was to change, nothing is said of turns.
        has_changed = bool(turns and (changed or schema is None))
        edits = sum(quality.get(name, 0) for name in ("substituted", "deleted", "inserted"))
        shares = changed / turns if has_changed else math.nan, edits / words if words and has_changed else math.nan
        fallbacks = list(quality.get("fallbacks", {}).items())
        distinct, similarity = quality.get("distinct", {}).get("2"), quality.get("similarity")
        figures = [(name, f"{value:.3g}") for name, value in quality.get("figures", {}).items()]
        if schema and (schema.names_changed or schema.descriptions_changed):
            figures += [
                ("names changed", f"{schema.names_changed:,} of {schema.names:,}"),
                ("name distance", f"{schema.name_distance:.2f}"),
                ("descriptions changed", f"{schema.descriptions_changed:,} of {schema.descriptions:,}"),
                ("BLEU of descriptions", f"{schema.description_bleu:.1f}"),
            ]
        if schema and schema.services_added:
            figures.append(("services added", f"{len(schema.services_added):,}"))
        row = {
            "variant": variant,
            "kind": " · ".join(filter(None, (about.get("effect", ""), about.get("scope", "")))),
            "changed": (shares[0], PAGE.percent(shares[0], 0)),
            "words": (shares[1], PAGE.percent(shares[1], 0)),
            "values_kept": PAGE.percent(quality.get("values_still_said", 0) / values if values else None),
            "distinct": f"{distinct[0]:.2f} → {distinct[1]:.2f}" if distinct and has_changed else "–",
            "similarity": f"{similarity:.2f}" if similarity is not None else "–",
            "fallbacks": fallbacks[:_REASONS],
            "other_fallbacks": sum(number for _, number in fallbacks[_REASONS:]),
            "figures": figures,
            "schema": schema,
        }
        rows.append(row)
    return rows


def command(manifest: Manifest) -> str:
    """The command that makes the run again."""
    parts = ["dstress", "run", manifest.suite_name, "--tracker", manifest.tracker, "--corpus", manifest.corpus]
    parts += ["--seed", str(manifest.seed)]
    parts += ["--tools", manifest.tools] if manifest.tools else []
    parts += ["--limit", str(manifest.limit)] if manifest.limit else []
    parts += ["--draw", str(manifest.draw)] if manifest.draw else []
    parts += ["--only", ",".join(manifest.only)] if manifest.only else []
    parts += ["--convention", manifest.convention] if manifest.convention else []
    parts += ["--repeats", str(manifest.repeats)] if manifest.repeats > 1 else []
    return shlex.join([*parts, *manifest.also])


def signatures(scores: Scores) -> list[str]:
    """The signature of every number, once."""
    groups = [card.metrics for card in scores.variants.values()]
    groups += [*scores.paired.values(), *scores.across.values()]
    return list(dict.fromkeys(score.signature for group in groups for score in group.values()))
