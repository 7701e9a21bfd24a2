"""A stressed corpus as one page that opens offline: every turn before and after, without any tracker.

The page's explorer is the report's; turns have no answers, and an entry's last place says why a stressor left the turn
alone: `[dialogue, turn, edits, system edits, gold, [], tags, history, "", "", reason]`. A turn without an entry had
nothing to change. `packets.py` and `explorer.py` have the rest of the layout.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from dstress._version import __version__
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, State
from dstress.errors import CorpusError
from dstress.reports.packets import (
    BUDGET,
    Entry,
    Flat,
    Packet,
    Part,
    SlotNumbers,
    encode,
    flat_edits,
    pack,
    pack_within,
    shorten,
)
from dstress.reports.rendering import json_in_script, render_page, write_page
from dstress.runs.suites.base import ORIGINAL
from dstress.schema_names import SAME_NAMES, map_names
from dstress.stressors.quality import Summary
from dstress.text.schema_distance import SchemaChange, changed_slots

_MOST_CHARACTERS = 40_000_000
"""Characters of the originals in a page at most, before they are packed; dialogues beyond them are left out."""
_MOST_SLOTS = 60
_EDITED, _LEFT, _CARRIED = range(3)


class Row(NamedTuple):
    """What one stressor did, for the page's table."""

    spec: str
    kind: str
    changed: float
    left: float
    edited: float
    kept: float | None
    reasons: Mapping[str, int]
    figures: Mapping[str, float]
    schema: SchemaChange | None


class BeforeAfter:
    """The page as it grows: the original first, then each stressor's dialogues as they pass."""

    def __init__(self, original: Corpus, budget: int = BUDGET) -> None:
        self.corpus, self.budget = original, budget
        self.places: dict[str, int] = {}
        self.dialogues: list[Flat] = []
        self.turns = self.left_out = 0
        slots, characters = SlotNumbers({slot: number for number, slot in enumerate(original.schema.slots)}), 0
        for dialogue in original:
            if characters > _MOST_CHARACTERS:
                self.left_out += 1
                continue
            turns, before = [], State()
            for turn in dialogue.turns:
                first = turn.original
                turns.append(shorten([first.system, first.user, slots.changes(before, first.state)]))
                before = first.state
                characters += len(first.system) + len(first.user)
            self.places[dialogue.id] = len(self.places)
            self.dialogues.append([dialogue.id, turns])
            self.turns += len(turns)
        self.first = Packet(ORIGINAL, pack({"slots": slots.names, "dialogues": self.dialogues}), 0, 0)
        self.stressed: dict[str, StressedTurns] = {}

    def stressor(self, spec: str, schema: Schema) -> StressedTurns:
        """A place for the dialogues of the next stressor."""
        self.stressed[spec] = StressedTurns(spec, self.corpus.schema, schema, self.places)
        return self.stressed[spec]

    def write(self, path: Path, descriptions: Mapping[str, Mapping[str, Any]], command: str) -> None:
        """Write the page, whole or not at all. `descriptions` are `pipeline.stress.describe`'s, by spec."""
        rows = [_describe(spec, about) for spec, about in descriptions.items()]
        packets = pack_within(self.first, [own.part() for own in self.stressed.values()], self.budget)
        about = [
            {"variant": packet.variant, "name": packet.variant, "examples": own.changed, "left_out": packet.left_out}
            for own, packet in zip(self.stressed.values(), packets[1:], strict=True)
        ]
        head = {"variant": ORIGINAL, "name": ORIGINAL, "examples": 0, "left_out": 0}
        meta = {"original": ORIGINAL, "first": rows[0].spec, "pair": " → ", "corpus": True, "packets": [head, *about]}
        name = f"{self.corpus.name}:{self.corpus.split}" if self.corpus.split else self.corpus.name
        seed = next(iter(descriptions.values()))["seed"]
        page = render_page(
            "before_after.html.j2",
            ["report.css", "before_after.css"],
            ["report.js", "explorer.js"],
            corpus=name,
            dialogue_count=len(self.dialogues),
            turn_count=self.turns,
            dialogues_left_out=self.left_out,
            left_out=sum(packet.left_out for packet in packets),
            seed=seed,
            rows=rows,
            most_slots=_MOST_SLOTS,
            command=command,
            version=__version__,
            packets=packets,
            meta=json_in_script(meta),
        )
        write_page(path, page)


class StressedTurns:
    """One stressor's turns, as they differ from the original's."""

    def __init__(self, spec: str, original: Schema, schema: Schema, places: Mapping[str, int]) -> None:
        self.spec, self.places, self.changed = spec, places, 0
        names = SAME_NAMES
        with suppress(CorpusError):  # a paraphrase of the schema renames slots in place
            names = map_names([(original, schema)])
        self.slots = SlotNumbers({names.slot_id(slot): number for number, slot in enumerate(original.slots)})
        # With more services than the original has, places no longer tell which slot is which.
        is_paired = len(schema.slots) == len(original.slots)
        self.slot_changes = changed_slots(original, schema) if is_paired else []
        self.entries: list[Entry] = []

    def add(self, dialogue: Dialogue) -> None:
        """Take what changed in a dialogue, and why other turns stayed."""
        place = self.places.get(dialogue.id)
        if place is None:
            return
        for number, turn in enumerate(dialogue.turns):
            stress = turn.stress
            if stress is None or not (turn.changed or stress.fallbacks):
                continue
            edits = flat_edits(stress.edits), flat_edits(stress.system_edits)
            gold = self.slots.changes(stress.original.state, turn.state)
            history = int(stress.alone) if stress.base is None else [stress.base.system, stress.base.user]
            reason = "; ".join(dict.fromkeys(stress.fallbacks))
            rank = _EDITED if any(edits) else _LEFT if reason and not turn.changed else _CARRIED
            self.changed += turn.changed
            content = [place, number, *edits, gold, [], list(stress.tags), history, "", "", reason]
            group = (place, number) if stress.alone else (place, -1)
            self.entries.append(Entry(encode(content), group, rank))

    def part(self) -> Part:
        """All of it, to be packed."""
        head: dict[str, Any] = {"slots": self.slots.names}
        if self.slot_changes:
            head["schema"] = list(map(msgspec.structs.astuple, self.slot_changes))
        return Part(self.spec, head, self.entries)


def _describe(spec: str, about: Mapping[str, Any]) -> Row:
    quality: Summary = about["quality"]
    schema: SchemaChange | None = about.get("schema")
    only_schema = schema is not None and not quality.changed
    turns, left = max(quality.turns, 1), sum(quality.fallbacks.values())
    return Row(
        spec,
        f"{about['effect']} · {about['scope']}",
        math.nan if only_schema else quality.share_changed,
        math.nan if only_schema else left / turns,
        math.nan if only_schema else quality.words_changed,
        quality.values_still_said / quality.values if quality.values else None,
        quality.fallbacks,
        quality.figures,
        schema,
    )
