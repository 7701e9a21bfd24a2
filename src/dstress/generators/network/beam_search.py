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


class Sought(NamedTuple):
    """A source, the placeholders that must be said, and those that may be."""

    source: list[int]
    required: list[int]
    allowed: list[int]


class Found(NamedTuple):
    """The numbers of a text's words, and its score."""

    words: tuple[int, ...]
    score: float


class _Step(NamedTuple):
    """A hypothesis, the next word, the log-probability with it, and how many required values are then said."""

    row: int
    word: int
    total: float
    met: int


def search(
    network: Network, vocabulary: Vocabulary, sought: Sequence[Sought], beams: int, *, shared: bool = False
) -> list[list[Found]]:
    """For each source up to `beams` texts, the best first."""
    with torch.inference_mode():
        found = _Search(network, vocabulary, sought, beams * _SHARED if shared else beams, shared).run()
    return [texts[:beams] for texts in found]


class _Search:
    """The state of a search. A row is one hypothesis; each source has `beams` rows in a block."""

    def __init__(
        self, network: Network, vocabulary: Vocabulary, sought: Sequence[Sought], beams: int, shared: bool
    ) -> None:
        self.vocabulary, self.beams, self.sought, self.shared = vocabulary, beams, sought, shared
        self.device, kind = network.words.weight.device, network.words.weight.dtype
        length, rows = max(len(one.source) for one in sought), len(sought) * beams
        padded = [one.source + [vocabulary.pad] * (length - len(one.source)) for one in sought]
        self.decoding = Decoding(network, torch.tensor(padded, device=self.device), beams)
        self.values = torch.tensor(vocabulary.values, device=self.device)
        self.open, self.due = (
            torch.tensor([[word in one for word in vocabulary.values] for one in listed], device=self.device)
            .reshape(len(sought), -1)
            .repeat_interleave(beams, dim=0)
            for listed in ([one.allowed for one in sought], [one.required for one in sought])
        )
        banned = [number for number, word in enumerate(vocabulary.words[: len(SPECIAL)]) if number != vocabulary.end]
        self.banned = torch.zeros(len(vocabulary), device=self.device, dtype=kind)
        self.banned[banned] = _NEVER
        self.scores = torch.full((rows,), _NEVER, device=self.device, dtype=kind)
        self.scores[::beams] = 0.0
        self.texts: list[tuple[int, ...]] = [()] * rows
        self.met = [0] * rows
        self.found: list[list[Found]] = [[] for _ in sought]
        self.done = [False] * len(sought)

    def run(self) -> list[list[Found]]:
        last = torch.full((len(self.texts),), self.vocabulary.start, device=self.device)
        for length in range(1, LONGEST + 1):
            likely = self.decoding.step(last) + self.banned
            # Nobody says a word twice in a row, but small networks stutter.
            last = self._further(likely.scatter(1, last[:, None], _NEVER), length)
            if all(self.done):
                break
        return [self._best(found) for found in self.found]

    def _best(self, found: Iterable[Found]) -> list[Found]:
        return sorted(found, key=lambda one: (-one.score, one.words))[: self.beams]

    def _further(self, likely: Any, length: int) -> Any:
        """Every hypothesis one word longer; the last words of those that are kept."""
        values = likely[:, self.values].masked_fill(~self.open, _NEVER)
        likely[:, self.values] = values
        due = self.due & self.open
        end = self.vocabulary.end
        likely[:, end] = likely[:, end].masked_fill(due.any(dim=1), _NEVER)
        totals = self.scores[:, None] + likely
        best, words = totals.topk(self.beams + 1, dim=1)
        forced = (self.scores[:, None] + values).masked_fill(~due, _NEVER)
        listed = [part.tolist() for part in (best, words, forced, totals[:, end])]
        kept: list[_Step] = []
        for number in range(len(self.sought)):
            steps = self._steps(number, listed) if not self.done[number] else []
            kept += self._sorted_out(number, steps, length)
        return self._moved(kept)

    def _steps(self, number: int, listed: list[Any]) -> list[_Step]:
        """Where a source's hypotheses may go: to the likeliest words, to a value that is due, to the end."""
        best, words, forced, ends = listed
        required = self.sought[number].required if self.shared else ()
        found: dict[tuple[int, int], _Step] = {}
        for row in range(number * self.beams, (number + 1) * self.beams):
            ways = chain(
                zip(words[row], best[row], strict=True),
                zip(self.vocabulary.values, forced[row], strict=True) if self.shared else (),
                [(self.vocabulary.end, ends[row])],
            )
            for word, total in ways:
                if total != _NEVER:
                    found[row, word] = _Step(row, word, total, self.met[row] + (word in required))
        return sorted(found.values(), key=lambda step: (-step.total, step.row, step.word))

    def _sorted_out(self, number: int, steps: Sequence[_Step], length: int) -> list[_Step]:
        """What ends is found; what goes on is given back, as many of each bank as of the others."""
        banks: dict[int, list[_Step]] = {}
        for step in steps:
            bank = banks.setdefault(step.met, [])
            if len(bank) == self.beams:
                continue
            if step.word == self.vocabulary.end:
                self.found[number].append(Found(self.texts[step.row], step.total / length**_LENGTH))
            else:
                bank.append(step)
        lists = [bank for _, bank in sorted(banks.items(), reverse=True)]
        going_on = [step for steps in zip_longest(*lists) for step in steps if step is not None][: self.beams]
        self.done[number] = self.done[number] or not going_on or self._is_settled(number, going_on, length)
        nothing = _Step(number * self.beams, self.vocabulary.pad, _NEVER, 0)
        return going_on + [nothing] * (self.beams - len(going_on))

    def _is_settled(self, number: int, going_on: Sequence[_Step], length: int) -> bool:
        """Whether enough was found, and nothing that goes on is better."""
        best = self._best(self.found[number])
        if not best:
            return False
        open_score = max(step.total for step in going_on) / length**_LENGTH
        return (len(best) == self.beams and best[-1].score >= open_score) or length > len(best[0].words) + _PATIENCE

    def _moved(self, kept: Sequence[_Step]) -> Any:
        rows, words, scores = ([step[part] for step in kept] for part in range(3))
        self.texts = [(*self.texts[step.row], step.word) for step in kept]
        self.met = [step.met for step in kept]
        moved, last = torch.tensor(rows, device=self.device), torch.tensor(words, device=self.device)
        self.decoding.go_on_from(moved)
        self.open = self.open[moved] & (self.values[None, :] != last[:, None])
        self.scores = torch.tensor(scores, device=self.device, dtype=self.scores.dtype)
        return last
