"""What a stressor did to a corpus, in figures: how much changed, why turns stayed, and whether the language suffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec
from rapidfuzz.distance import Levenshtein

from dstress.dialogue import Dialogue, State, Turn
from dstress.stressors.base import Stressor
from dstress.stressors.composition import Composition
from dstress.text import mentions as values
from dstress.text.ngrams import LONGEST_GRAM, Grams
from dstress.text.similarity import Encoder
from dstress.text.tokens import words_in

_SAMPLED_TURNS = 20_000
"""Distinct n-grams are counted over so many turns at most: their sets are all that would grow with the corpus."""

_COMPARED = 200
"""So many changed turns are compared by the encoder: a mean over more would say no more, and take longer."""


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """The quality summary; `distinct` maps n to the share of distinct n-grams before and after.

    `counts` are a stressor's own, such as the candidates that each of its filters rejected.
    """

    turns: int
    changed: int
    fallbacks: dict[str, int]
    tags: dict[str, int]
    words: int
    substituted: int
    deleted: int
    inserted: int
    values: int
    values_still_said: int
    distinct: dict[str, tuple[float, float]]
    figures: dict[str, float] = {}
    similarity: float | None = None
    compared: int = 0
    counts: dict[str, int] = {}

    @property
    def share_changed(self) -> float:
        """Changed turns among all."""
        return self.changed / self.turns if self.turns else 0.0

    @property
    def words_changed(self) -> float:
        """Word edits for each word of the original, over all turns."""
        return (self.substituted + self.deleted + self.inserted) / self.words if self.words else 0.0


class Quality:
    """Sees stressed dialogues pass, and sums up: its own totals, what each part counts, and what turns carry."""

    def __init__(self, stressor: Stressor, *, meanings: bool = False) -> None:
        """With `meanings` an encoder compares what rephrased turns mean, which takes seconds to load."""
        self._encoder = Encoder.require() if meanings else None
        self.parts = stressor.parts if isinstance(stressor, Composition) else [stressor]
        self.totals, self.fallbacks, self.tags, self.turn_counts = (Counter[str]() for _ in range(4))
        self.part_counts = [Counter[str]() for _ in self.parts]
        self.before, self.after = Grams(), Grams()
        self.rephrased: list[tuple[str, str]] = []

    def watching(self, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        """The dialogues, each counted as it passes."""
        for dialogue in dialogues:
            self.add(dialogue)
            yield dialogue

    def add(self, dialogue: Dialogue) -> None:
        """Count one dialogue."""
        before: State = {}
        for turn in dialogue.turns:
            self._add_turn(turn, before)
            before = turn.remembered.state

    def _add_turn(self, turn: Turn, before: State) -> None:
        original = turn.original
        words = words_in(original.user)
        new = words_in(turn.user) if turn.changed else words
        self.totals.update(turns=1, words=len(words), changed=int(turn.changed))
        if self.totals["turns"] <= _SAMPLED_TURNS:
            self.before.add(words)
            self.after.add(new)
        if turn.stress is not None:
            self.fallbacks.update(turn.stress.fallbacks)
            self.tags.update(turn.stress.tags)
            self.turn_counts.update(turn.stress.counts)
        for part, counts in zip(self.parts, self.part_counts, strict=True):
            counts.update(part.counts(original.user, turn.user))
        if not turn.changed:
            return
        folded = [word.casefold() for word in words], [word.casefold() for word in new]
        for code in Levenshtein.opcodes(*folded):
            if code.tag != "equal":
                self.totals[code.tag] += max(code.src_end - code.src_start, code.dest_end - code.dest_start)
        for mention in values.find_mentions(original, before):
            forms = turn.state.get(mention.slot, ())
            if forms != before.get(mention.slot, ()):  # else the turn is no longer about it: dropped on purpose
                self.totals.update(values=1, still_said=bool(values.find_value(turn.user, mention.slot, forms)))
        if self._encoder and len(self.rephrased) < _COMPARED and any(part.rephrases for part in self.parts):
            self.rephrased.append((original.user, turn.user))

    def summary(self) -> Summary:
        """All of it."""
        totals = self.totals
        similarity = float(self._encoder.cosines(self.rephrased).mean()) if self._encoder and self.rephrased else None
        figures = [part.figures(counts) for part, counts in zip(self.parts, self.part_counts, strict=True)]
        return Summary(
            turns=totals["turns"],
            changed=totals["changed"],
            fallbacks=dict(self.fallbacks.most_common()),
            tags=dict(self.tags.most_common()),
            words=totals["words"],
            substituted=totals["replace"],
            deleted=totals["delete"],
            inserted=totals["insert"],
            values=totals["values"],
            values_still_said=totals["still_said"],
            distinct={str(n): (self.before.distinct(n), self.after.distinct(n)) for n in range(1, LONGEST_GRAM + 1)},
            figures={name: value for part in figures for name, value in part.items()},
            similarity=similarity,
            compared=len(self.rephrased) if similarity is not None else 0,
            counts=dict(sorted(self.turn_counts.items())),
        )
