"""Shrunk examples as tables: what breaks a tracker most, and each example in a row."""

from __future__ import annotations

from collections.abc import Sequence

from dstress.pipeline.shrink.changes import PlacedEdit
from dstress.pipeline.shrink.shrink import Pattern, Shrinkage, ShrunkExample
from dstress.reports.tables import Table

_SHOWN_PATTERNS = 10


def shrinkage_tables(shrinkage: Shrinkage) -> dict[str, Table]:
    """What the smallest edits have in common, and every example."""
    over = f"of {sum(bool(example.edits) for example in shrinkage.examples):,} examples"
    return {
        "kinds": _pattern_table(shrinkage.kinds, f"which edits break {shrinkage.tracker}, {over}"),
        "words": _pattern_table(shrinkage.words, f"which words, {over}"),
        "slots": _pattern_table(shrinkage.slots, f"which slots are then wrong, {over}"),
        "examples": _example_table(shrinkage),
    }


def _pattern_table(patterns: Sequence[Pattern], caption: str) -> Table:
    columns = list(patterns[0].of) if patterns else ["pattern"]
    rows = [(*pattern.of.values(), f"{pattern.examples:,}") for pattern in patterns[:_SHOWN_PATTERNS]]
    if len(patterns) > _SHOWN_PATTERNS:
        caption += f"; {len(patterns) - _SHOWN_PATTERNS:,} more are rarer"
    records = [{**pattern.of, "examples": pattern.examples} for pattern in patterns]
    return Table((*columns, "#examples"), rows, caption, records)


def _example_table(shrinkage: Shrinkage) -> Table:
    rows = [
        (
            example.id,
            example.status,
            f"{example.words_changed:,}",
            f"{example.words_needed:,}",
            f"{example.asked:,}",
            "; ".join(describe_edit(edit) for edit in example.edits),
        )
        for example in shrinkage.examples
    ]
    caption = f"{len(rows):,} of {shrinkage.failures:,} examples; {shrinkage.asked:,} turns were asked"
    return Table(("example", "status", "#words changed", "#needed", "#asked", "edits needed"), rows, caption)


def describe_edit(edit: PlacedEdit) -> str:
    """An edit in one line, as `wdiff` writes it."""
    return "".join(f"{mark[0]}{words.strip()}{mark[1]}" for words, mark in _sides(edit.before, edit.after))


def mark_edits(text: str, edits: Sequence[PlacedEdit]) -> str:
    """An utterance of the original with its edits marked, as `wdiff` does: `a [-table-]{+tabel+} for two`."""
    parts, done = [], 0
    for edit in edits:
        parts.append(text[done : edit.start])
        for words, (left, right) in _sides(edit.before, edit.after):
            inner = words.strip()
            lead, trail = words[: len(words) - len(words.lstrip())], words[len(words.rstrip()) :]
            parts.append(f"{lead}{left}{inner}{right}{trail}" if inner else words)
        done = edit.start + len(edit.before)
    return "".join(parts) + text[done:]


def _sides(before: str, after: str) -> list[tuple[str, tuple[str, str]]]:
    return [(words, mark) for words, mark in ((before, ("[-", "-]")), (after, ("{+", "+}"))) if words]


def edits_of(example: ShrunkExample, turn: int, speaker: str) -> list[PlacedEdit]:
    """The needed edits of one utterance, in order."""
    return [edit for edit in example.edits if edit.place == (turn, speaker)]
