"""Beam search in which every value that must be said is said, once.

A beam keeps only the likeliest hypotheses, and where a goal combines slots that people seldom say together, none of
those may ever get to a value. Then a wider beam can be `shared` out among hypotheses that have said none, one, two ...
of the values that must be said, with a value always as a possible next word (dynamic beam allocation, Post and Vilar
2018). That takes longer, and is only for goals that a plain beam cannot say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import torch

from dstress.generators.network.transformer import Decoding, Network
from dstress.generators.network.vocabulary import SPECIAL, Vocabulary

LONGEST = 40
"""Words of an utterance."""
_LENGTH = 0.8
"""Scores are log-probabilities over length to this power: sums would favour short texts, means long ones."""
_PATIENCE = 10
"""So many words beyond the best text no better one is looked for."""
_SHARED = 3
"""A beam that is shared out is so many times wider."""
_NEVER = float("-inf")


class Constraints(NamedTuple):
    """A source, the placeholders that must be said, and those that may be."""

    source: list[int]
    required: list[int]
    allowed: list[int]


class Hypothesis(NamedTuple):
    """A whole text: the numbers of its words, and its score."""

    words: tuple[int, ...]
    score: float


class _Extension(NamedTuple):
    """A hypothesis's row, the next word, the log-probability with it, and how many required values are then said."""

    row: int
    word: int
    total: float
    met: int


def search(
    network: Network, vocabulary: Vocabulary, sources: Sequence[Constraints], beams: int, *, shared: bool = False
) -> list[list[Hypothesis]]:
    """For each source up to `beams` texts, the best first."""
    with torch.inference_mode():
        hypotheses = _Search(network, vocabulary, sources, beams * _SHARED if shared else beams, shared).run()
    return [texts[:beams] for texts in hypotheses]


class _Search:
    """The state of a search. A row is one hypothesis; each source has `beams` rows in a block."""

    def __init__(
        self, network: Network, vocabulary: Vocabulary, sources: Sequence[Constraints], beams: int, shared: bool
    ) -> None:
        self.vocabulary, self.beams, self.sources, self.shared = vocabulary, beams, sources, shared
        self.device, dtype = network.token_embedding.weight.device, network.token_embedding.weight.dtype
        length, rows = max(len(each.source) for each in sources), len(sources) * beams
        padded = [each.source + [vocabulary.pad] * (length - len(each.source)) for each in sources]
        self.decoding = Decoding(network, torch.tensor(padded, device=self.device), beams)
        self.values = torch.tensor(vocabulary.values, device=self.device)
        self.open, self.due = (
            torch.tensor([[word in words for word in vocabulary.values] for words in listed], device=self.device)
            .reshape(len(sources), -1)
            .repeat_interleave(beams, dim=0)
            for listed in ([each.allowed for each in sources], [each.required for each in sources])
        )
        banned = [number for number, word in enumerate(vocabulary.words[: len(SPECIAL)]) if number != vocabulary.end]
        self.banned = torch.zeros(len(vocabulary), device=self.device, dtype=dtype)
        self.banned[banned] = _NEVER
        self.scores = torch.full((rows,), _NEVER, device=self.device, dtype=dtype)
        self.scores[::beams] = 0.0
        self.texts: list[tuple[int, ...]] = [()] * rows
        self.met = [0] * rows
        self.finished: list[list[Hypothesis]] = [[] for _ in sources]
        self.done = [False] * len(sources)

    def run(self) -> list[list[Hypothesis]]:
        last = torch.full((len(self.texts),), self.vocabulary.start, device=self.device)
        for length in range(1, LONGEST + 1):
            log_probabilities = self.decoding.step(last) + self.banned
            # Nobody says a word twice in a row, but small networks stutter.
            last = self._advance(log_probabilities.scatter(1, last[:, None], _NEVER), length)
            if all(self.done):
                break
        return [self._best(hypotheses) for hypotheses in self.finished]

    def _best(self, hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
        return sorted(hypotheses, key=lambda each: (-each.score, each.words))[: self.beams]

    def _advance(self, log_probabilities: Any, length: int) -> Any:
        """Every hypothesis one word longer; the last words of those that are kept."""
        values = log_probabilities[:, self.values].masked_fill(~self.open, _NEVER)
        log_probabilities[:, self.values] = values
        due = self.due & self.open
        end = self.vocabulary.end
        log_probabilities[:, end] = log_probabilities[:, end].masked_fill(due.any(dim=1), _NEVER)
        totals = self.scores[:, None] + log_probabilities
        best, words = totals.topk(self.beams + 1, dim=1)
        forced = (self.scores[:, None] + values).masked_fill(~due, _NEVER)
        listed = [part.tolist() for part in (best, words, forced, totals[:, end])]
        kept: list[_Extension] = []
        for number in range(len(self.sources)):
            extensions = self._extensions(number, listed) if not self.done[number] else []
            kept += self._prune(number, extensions, length)
        return self._extend(kept)

    def _extensions(self, number: int, listed: list[Any]) -> list[_Extension]:
        """Where a source's hypotheses may go: to the likeliest words, to a value that is due, to the end."""
        best, words, forced, ends = listed
        required = self.sources[number].required if self.shared else ()
        extensions: dict[tuple[int, int], _Extension] = {}
        for row in range(number * self.beams, (number + 1) * self.beams):
            ways = chain(
                zip(words[row], best[row], strict=True),
                zip(self.vocabulary.values, forced[row], strict=True) if self.shared else (),
                [(self.vocabulary.end, ends[row])],
            )
            for word, total in ways:
                if total != _NEVER:
                    extensions[row, word] = _Extension(row, word, total, self.met[row] + (word in required))
        return sorted(extensions.values(), key=lambda each: (-each.total, each.row, each.word))

    def _prune(self, number: int, extensions: Sequence[_Extension], length: int) -> list[_Extension]:
        """What ends is finished; what goes on is given back, as many of each bank as of the others."""
        banks: dict[int, list[_Extension]] = {}
        for extension in extensions:
            bank = banks.setdefault(extension.met, [])
            if len(bank) == self.beams:
                continue
            if extension.word == self.vocabulary.end:
                score = extension.total / length**_LENGTH
                self.finished[number].append(Hypothesis(self.texts[extension.row], score))
            else:
                bank.append(extension)
        lists = [bank for _, bank in sorted(banks.items(), reverse=True)]
        going_on = [each for places in zip_longest(*lists) for each in places if each is not None][: self.beams]
        self.done[number] = self.done[number] or not going_on or self._is_done(number, going_on, length)
        nothing = _Extension(number * self.beams, self.vocabulary.pad, _NEVER, 0)
        return going_on + [nothing] * (self.beams - len(going_on))

    def _is_done(self, number: int, going_on: Sequence[_Extension], length: int) -> bool:
        """Whether enough is finished, and nothing that goes on is better."""
        best = self._best(self.finished[number])
        if not best:
            return False
        open_score = max(extension.total for extension in going_on) / length**_LENGTH
        return (len(best) == self.beams and best[-1].score >= open_score) or length > len(best[0].words) + _PATIENCE

    def _extend(self, kept: Sequence[_Extension]) -> Any:
        """The beam is now these; their last words."""
        self.texts = [(*self.texts[extension.row], extension.word) for extension in kept]
        self.met = [extension.met for extension in kept]
        rows = torch.tensor([extension.row for extension in kept], device=self.device)
        last = torch.tensor([extension.word for extension in kept], device=self.device)
        scores = [extension.total for extension in kept]
        self.decoding.select(rows)
        self.open = self.open[rows] & (self.values[None, :] != last[:, None])
        self.scores = torch.tensor(scores, device=self.device, dtype=self.scores.dtype)
        return last
