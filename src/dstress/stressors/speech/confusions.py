"""What the channel's errors look like, counted: which words become which, and how errors change with noise.

An *error region* is a stretch of words that came out as another stretch, with right words on both sides: "guesthouse"
as "guest house", "east of" as "least of", "the" as nothing. Its *shape* is how many words went in and out (`1>2`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from rapidfuzz.distance import Levenshtein

from dstress.stressors.speech.vocabulary import Vocabulary
from dstress.stressors.speech.word_errors import total, word_errors

LONGEST = 4
"""Words of a region on either side; longer ones are cut into pieces."""

Pair = tuple[Sequence[str], Sequence[str]]
"""What was spoken and what was heard."""

Mix = tuple[float, float, float]


class Level(msgspec.Struct, frozen=True):
    """The errors at one level of noise: rate, shares of substitutions, deletions, insertions, and counts of shapes."""

    wer: float
    mix: Mix
    shapes: dict[str, int]


class Fit(msgspec.Struct, frozen=True):
    """All that the confusion model knows.

    `levels` goes by the kind of noise, the softest first. `regions` are what stretches became, `words` how often a word
    was said and how often an error began at it, `heard` how often the recogniser gave each word. `vocabulary` are the
    words that it knows, packed, and `strange` the shapes of errors that begin at words that it does not know. If it
    `writes`, what it gives looks as people write, and words that it does not know as they sound.
    """

    levels: dict[str, list[Level]]
    regions: dict[str, dict[str, int]]
    words: dict[str, tuple[int, int]]
    heard: dict[str, int]
    vocabulary: str = ""
    strange: dict[str, int] = {}
    writes: bool = False


class Region(NamedTuple):
    """Where errors are: `spoken` words from place `start` came out as `heard`."""

    start: int
    spoken: tuple[str, ...]
    heard: tuple[str, ...]

    @property
    def shape(self) -> str:
        """How many words went in and came out."""
        return f"{len(self.spoken)}>{len(self.heard)}"


def regions(spoken: Sequence[str], heard: Sequence[str]) -> Iterator[Region]:
    """The error regions of an utterance."""
    start = end = heard_start = heard_end = 0
    for code in [*Levenshtein.opcodes(spoken, heard)]:
        if code.tag == "equal":
            yield from _pieces(start, spoken[start:end], heard[heard_start:heard_end])
            start, heard_start = code.src_end, code.dest_end
        end, heard_end = code.src_end, code.dest_end
    yield from _pieces(start, spoken[start:end], heard[heard_start:heard_end])


def _pieces(start: int, spoken: Sequence[str], heard: Sequence[str]) -> Iterator[Region]:
    """A region, cut evenly if it is long."""
    count = -(-max(len(spoken), len(heard)) // LONGEST)
    for piece in range(count):
        first, last = len(spoken) * piece // count, len(spoken) * (piece + 1) // count
        low, high = len(heard) * piece // count, len(heard) * (piece + 1) // count
        yield Region(start + first, tuple(spoken[first:last]), tuple(heard[low:high]))


def fit(pairs: Mapping[str, Sequence[Sequence[Pair]]], vocabulary: str = "", *, writes: bool = False) -> Fit:
    """Count, for each kind and level of noise, what was spoken and heard. `vocabulary` is packed."""
    familiar = Vocabulary(vocabulary)
    table: defaultdict[str, Counter[str]] = defaultdict(Counter)
    strange: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    begun: Counter[str] = Counter()
    output: Counter[str] = Counter()
    levels: dict[str, list[Level]] = {}
    for kind, by_level in pairs.items():
        levels[kind] = []
        for level_pairs in by_level:
            shapes: Counter[str] = Counter()
            for spoken, heard in level_pairs:
                output.update(heard)
                inside: set[int] = set()
                for region in regions(spoken, heard):
                    shapes[region.shape] += 1
                    table[" ".join(region.spoken)][" ".join(region.heard)] += 1
                    inside.update(range(region.start + 1, region.start + len(region.spoken)))
                    if region.spoken:
                        begun[region.spoken[0]] += 1
                        if region.spoken[0] not in familiar:
                            strange[region.shape] += 1
                tried.update(word for place, word in enumerate(spoken) if place not in inside)
            errors = total(word_errors(spoken, heard) for spoken, heard in level_pairs)
            substituted, deleted, inserted = (round(share, 4) for share in errors.mix)
            mix = substituted, deleted, inserted
            levels[kind].append(Level(round(errors.rate, 4), mix, dict(sorted(shapes.items()))))
        levels[kind].sort(key=lambda level: level.wer)
    return Fit(
        levels,
        {spoken: dict(sorted(heard.items())) for spoken, heard in sorted(table.items())},
        {word: (tried[word], begun[word]) for word in sorted(tried)},
        dict(sorted(output.items())),
        vocabulary,
        dict(sorted(strange.items())),
        writes,
    )


class Blend(NamedTuple):
    """What errors are made of at a word error rate between two levels that were heard."""

    mix: Mix
    shapes: dict[str, float]


def blend(levels: Sequence[Level], wer: float) -> Blend:
    """Between the two nearest levels; beyond the last one, as there."""
    above = next((number for number, level in enumerate(levels) if level.wer >= wer), len(levels))
    low, high = levels[max(0, above - 1)], levels[min(above, len(levels) - 1)]
    share = 0.0 if high.wer == low.wer else min(1.0, max(0.0, (wer - low.wer) / (high.wer - low.wer)))
    weights: Counter[str] = Counter()
    for level, part in ((low, 1 - share), (high, share)):
        every = sum(level.shapes.values()) or 1
        for shape, count in level.shapes.items():
            weights[shape] += part * count / every  # type: ignore[assignment]
    substituted, deleted, inserted = (
        (1 - share) * one + share * other for one, other in zip(low.mix, high.mix, strict=True)
    )
    return Blend((substituted, deleted, inserted), dict(weights))
