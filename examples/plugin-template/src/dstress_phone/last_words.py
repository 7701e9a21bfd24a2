"""The tracker `last_words`."""

from collections.abc import Sequence

from dstress.api import Context, Tracker


class LastWords(Tracker):
    """Takes every possible value of the dialogue's services that the user says, and keeps what it knew."""

    sequential = True  # so that context.previous is its own answer to the turn before

    def track(self, contexts: Sequence[Context]) -> list[dict[str, str]]:
        """A state for each context, in order."""
        return [dict(context.previous or {}) | self.find(context) for context in contexts]

    def find(self, context: Context) -> dict[str, str]:
        """What this turn says."""
        words = context.user.lower()
        slots = {id: slot for id, slot in context.schema.slots.items() if id.partition("-")[0] in context.services}
        return {id: value for id, slot in slots.items() for value in slot.values if value in words}
