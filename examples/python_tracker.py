"""A tracker in Python:  PYTHONPATH=examples dstress run quick --tracker python_tracker:WordTracker --corpus reminder"""

from dstress.api import Tracker


class WordTracker(Tracker):
    """Takes every possible value that the user says, and keeps what it knew."""

    sequential = True  # so that context.previous is its own answer to the turn before

    def track(self, contexts):
        return [context.previous | self.said(context) for context in contexts]

    def said(self, context):
        words = {word.strip(".,?!") for word in context.user.lower().split()}
        return {id: value for id, slot in context.schema.slots.items() for value in slot.values if value in words}
