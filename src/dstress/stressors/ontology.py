"""The values of a corpus, and where a text says one that another text does not say."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from dstress.dialogue import Dialogue, Schema, split_values
from dstress.text.word_row import word_lists

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_LONGEST = 6  # words of a value; a longer one is a sentence, such as a reminder's text


class Ontology:
    """The values that a schema lists and those of a corpus's states, in any case.

    A title such as "It" or "Up" is a word of every language's grammar and tells nothing: values of `ignored` words
    alone, by default function words, are left out.
    """

    def __init__(self, schema: Schema, corpus: Iterable[Dialogue], ignored: Collection[str] = ()) -> None:
        ignored = ignored or word_lists().function
        values = {value for slot in schema.slots.values() for value in slot.values}
        for dialogue in corpus:
            values.update(form for turn in dialogue.turns for forms in turn.state.values() for form in forms)
        phrases = (tuple(split_words(each)) for value in values for each in split_values(value))
        self._by_first: dict[str, set[tuple[str, ...]]] = {}
        for phrase in phrases:
            if len(phrase) <= _LONGEST and any(word not in ignored for word in phrase):
                self._by_first.setdefault(phrase[0], set()).add(phrase)

    def values_in(self, text: str) -> Iterator[tuple[str, ...]]:
        """The values that a text says, as words."""
        words = split_words(text)
        for at, word in enumerate(words):
            for phrase in self._by_first.get(word, ()):
                if phrase == tuple(words[at : at + len(phrase)]):
                    yield phrase

    def adds_value(self, before: str, after: str) -> bool:
        """Whether a text says a value that the one before it does not say."""
        added = set(self.values_in(after))
        return bool(added) and not added.issubset(self.values_in(before))


def split_words(text: str) -> list[str]:
    """The words of a text in small letters, contractions whole."""
    return _WORD.findall(text.lower())
