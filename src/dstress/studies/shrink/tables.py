"""Shrunk examples as tables: what breaks a tracker most, and each example in a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from dstress.display import make_tables
from dstress.reports.small_page import Example, Part, SmallPage
from dstress.reports.tables import Table
from dstress.studies.shrink.changes import PlacedEdit
from dstress.studies.shrink.shrink import Pattern, Shrinkage, ShrunkExample, WrongSlot

STATUSES = {
    "minimal": "to an edit of which no part can be left out",
    "budget ended": "not finished when the budget ended",
    "not reproduced": "not wrong, or wrong on the original too, when asked again",
}
"""How an example ended, in words."""

_MARKS = {"same": ("", ""), "gone": ("[-", "-]"), "new": ("{+", "+}")}
_SHOWN_PATTERNS = 10


@make_tables.register
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
    rows = []
    for example in shrinkage.examples:
        counts = example.words_changed, example.words_needed, example.asked
        edits = "; ".join(map(describe_edit, example.edits))
        rows.append((example.id, example.status, *(f"{count:,}" for count in counts), edits))
    caption = f"{len(rows):,} of {shrinkage.failures:,} examples; {shrinkage.asked:,} turns were asked"
    return Table(("example", "status", "#words changed", "#needed", "#asked", "edits needed"), rows, caption)


def describe_edit(edit: PlacedEdit) -> str:
    """An edit in one line, as `wdiff` writes it."""
    return mark_edits(edit.before, [msgspec.structs.replace(edit, start=0)]).strip()


def mark_edits(text: str, edits: Sequence[PlacedEdit]) -> str:
    """An utterance of the original with its edits marked, as `wdiff` does: `a [-table-]{+tabel+} for two`."""
    return "".join(f"{_MARKS[part.kind][0]}{part.text}{_MARKS[part.kind][1]}" for part in part_edits(text, edits))


def part_edits(text: str, edits: Sequence[PlacedEdit]) -> list[Part]:
    """An utterance of the original in parts, as it was, left out or added; blanks around an edit are no part of it."""
    parts, done = [], 0
    for edit in edits:
        parts.append(Part("same", text[done : edit.start]))
        sides: tuple[Part, ...] = (Part("gone", edit.before), Part("new", edit.after))
        for kind, words in sides:
            inner = words.strip()
            start = len(words) - len(words.lstrip())
            lead, trail = words[:start], words[start + len(inner) :]
            parts += [Part("same", lead), Part(kind, inner), Part("same", trail)]
        done = edit.start + len(edit.before)
    return [part for part in (*parts, Part("same", text[done:])) if part.text]


def shrinkage_page(shrinkage: Shrinkage) -> SmallPage:
    """All examples with what is needed to break them, under what they have in common."""
    tables = shrinkage_tables(shrinkage)
    counts = Counter(example.status for example in shrinkage.examples)
    summary = ", ".join(f"{count:,} {STATUSES[status]}" for status, count in counts.items())
    examples = []
    for example in shrinkage.examples:
        went = f"changed words: {example.words_changed:,}, needed: {example.words_needed:,}; {example.status}"
        utterances = [
            (f"turn {line.turn}, {line.speaker}:", part_edits(line.original, edits), line.stressed)
            for line in example.utterances
            if (edits := edits_of(example, line.turn, line.speaker))
        ]
        failed = [f"no answer: {example.failed}"] if example.failed else []
        examples.append(Example(example.id, went, utterances, [*map(describe_wrong, example.wrong), *failed]))
    asked = f"{summary or 'nothing to shrink'}; {shrinkage.asked:,} turns were asked"
    about = [f"{shrinkage.run}: {asked}", *shrinkage.notes]
    shown = {"Kinds of edits": tables["kinds"], "Words": tables["words"], "Slots": tables["slots"]}
    return SmallPage(f"The smallest edits that break {shrinkage.tracker}", about, {}, shown, examples)


def describe_wrong(slot: WrongSlot) -> str:
    """Gold against prediction in one line."""
    return f"{slot.slot}: gold {slot.gold or '(none)'}, predicted {slot.predicted or '(none)'}"


def edits_of(example: ShrunkExample, turn: int, speaker: str) -> list[PlacedEdit]:
    """The needed edits of one utterance, in order."""
    return [edit for edit in example.edits if edit.place == (turn, speaker)]
