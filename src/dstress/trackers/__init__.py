"""The trackers room: built-in trackers, and doors to trackers of any kind."""

from __future__ import annotations

from dstress.registry import Registry
from dstress.trackers.base import Answer, Context, Failed, Tracker

trackers = Registry(
    "tracker",
    Tracker,
    {
        "causal": "dstress.trackers.families:Causal",
        "command": "dstress.trackers.command:Command",
        "copy": "dstress.trackers.families:Copy",
        "empty": "dstress.trackers.empty:Empty",
        "gold": "dstress.trackers.gold:Gold",
        "http": "dstress.trackers.http:Http",
        "llm": "dstress.trackers.llm.tracker:Llm",
        "policy": "dstress.trackers.policy.tracker:Policy",
        "rules": "dstress.trackers.rules.tracker:Rules",
        "saved": "dstress.trackers.saved:Saved",
        "schema_reader": "dstress.trackers.families:SchemaReader",
        "seq2seq": "dstress.trackers.families:Seq2Seq",
        "span": "dstress.trackers.families:Span",
    },
)


def create(text: str) -> Tracker:
    """The tracker that a spec describes, known by its shortest spec."""
    tracker = trackers.create(text)
    tracker.spec = str(trackers.shortest(text))
    return tracker


__all__ = ["Answer", "Context", "Failed", "Tracker", "create", "trackers"]
