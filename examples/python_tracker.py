"""A tracker in Python:  PYTHONPATH=examples dstress run quick --tracker python_tracker:WordTracker ..."""

import re

from dstress.trackers import Tracker


class WordTracker(Tracker):
    """Takes every possible value that the user says, and keeps what it knew."""

    sequential = True

    def track(self, contexts):
        return [(context.previous or {}) | self.said(context) for context in contexts]

    def said(self, context):
        words = re.findall(r"\w+", context.user.lower())
        return {id: value for id, slot in context.schema.slots.items() for value in slot.values if value in words}
