"""Two small trackers with a weakness each, for tests of search: they know all values, and must find them in words."""

from __future__ import annotations

from collections.abc import Sequence

from dstress.dialogue import first_forms
from dstress.text.mentions import find_value
from dstress.trackers import Context, Tracker
from dstress.trackers.base import Answer


class Spotter(Tracker):
    """Takes a value over where the words at hand say it, and only if every word of theirs is one that it knows.

    So a misspelling anywhere costs all that a turn says.
    """

    sequential = True

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        return [self._answer(context) for context in contexts]

    def _answer(self, context: Context) -> Answer:
        said = f"{context.system} {self.heard(context.user)}"
        before = dict(context.previous or {})
        gold = first_forms(context.gold.state)
        state = {slot: value for slot, value in before.items() if slot in gold}
        for slot, forms in context.gold.state.items():
            if before.get(slot) != gold[slot] and find_value(said, slot, forms):
                state[slot] = gold[slot]
        return state

    def heard(self, words: str) -> str:
        """What it makes of an utterance."""
        vowels = sum(letter in "aeiouy" for letter in words.casefold())
        return words if 3 * vowels >= sum(letter.isalpha() for letter in words) else ""


class ShortSpotter(Spotter):
    """Reads no more than so many words of an utterance."""

    def __init__(self, words: int = 14) -> None:
        self.words = words

    def heard(self, words: str) -> str:
        return " ".join(words.split()[: self.words])
