"""Training utterances once more, with values that no training corpus has.

Counterfactuals name hotels, dates and numbers that nobody has seen. A classifier that has learnt the names by heart
does not see the slot then, or sees another. So it also learns from utterances in which values that the user says are
made up: names of blended words, other numbers, times and dates. The label stays, as the slot is the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from random import Random

from dstress.dialogue import DONTCARE
from dstress.stressors.counterfactual.classifier.examples import Labelled
from dstress.text.letters import words_of
from dstress.text.numbers import number_of, ordinal
from dstress.text.times import CLOCK, calendar_words, clock_time, half_day_time, time_of

_OPEN = 10  # a slot with fewer different values has no others: an area, a price range
_COMMON = 300  # so many of the most frequent words make no names
_CLOCK = re.compile(CLOCK)


class UnseenValues:
    """Makes up values, from the words of a training corpus."""

    def __init__(self, examples: Sequence[Labelled]) -> None:
        words = Counter(word for example in examples for word in words_of(example.exchange.user) if word.isalpha())
        ranked = sorted(words, key=lambda word: (-words[word], word))
        self._words = [word for word in islice(ranked, _COMMON, None) if len(word) > 2] or ranked
        values: dict[str, set[str]] = {}
        for example in examples:
            for slot, value, _, _ in example.mentions:
                values.setdefault(slot, set()).add(value)
        self._open = {slot for slot, slot_values in values.items() if len(slot_values) >= _OPEN}

    def rewrite_utterance(self, example: Labelled, random: Random) -> str:
        """The user's words with other values; the same words where none can be made up."""
        text, end = example.exchange.user, len(example.exchange.user)
        for slot, value, start, stop in sorted(example.mentions, key=lambda mention: -mention.start):
            new = self._draw_value(slot, value, text[start:stop], random) if stop <= end else ""
            if new:
                text, end = text[:start] + new + text[stop:], start
        return text

    def _draw_value(self, slot: str, value: str, words: str, random: Random) -> str:
        """Another value of this kind; empty if the words must stay as they are."""
        if value == DONTCARE:
            return ""
        if _CLOCK.search(value) and time_of(value) is not None:
            minutes = 60 * random.randint(0, 23) + random.randint(0, 59)
            return clock_time(minutes) if random.random() < 0.5 else half_day_time(minutes, whole=True)
        if number_of(value) is not None:
            return str(random.randint(1, 60)) if number_of(words.casefold()) is not None else ""
        days = calendar_words("weekdays")
        if words.casefold() in days:
            return f"{random.choice(calendar_words('months'))} {ordinal(random.randint(1, 31))}"
        return self._draw_name(words, random) if slot in self._open and value.casefold() not in days else ""

    def _draw_name(self, old: str, random: Random) -> str:
        """One to three words; what a name ends in often says what it is, and may stay."""
        words = []
        for _ in range(random.choice((1, 1, 2, 2, 3))):
            # a word of the corpus, or two halves of its words.
            first, second = random.choice(self._words), random.choice(self._words)
            blend = first[: (len(first) + 1) // 2] + second[len(second) // 2 :]
            words.append(first if random.random() < 0.5 else blend)
        last = old.split()[-1:] if " " in old and random.random() < 0.5 else []
        return " ".join((*words, *last))
