"""What the channel's errors look like, counted: which words become which, and how errors change with noise.

An *error region* is a stretch of words that came out as another stretch, with right words on both sides: "guesthouse"
as "guest house", "east of" as "least of", "the" as nothing. Its *shape* is how many words went in and out (`1>2`).

A name that the recogniser does not know is always misheard, so a fit has the recogniser's vocabulary as a Bloom filter
(Bloom 1970): small, and wrong once in fifty times.

The models, one for each recogniser, lie beside this file. `python -m benchmarks.fit_confusions` made them: it sent
utterances of the embedded corpus through the real channel at several levels of noise.
"""

from __future__ import annotations

from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files

import msgspec

from dstress.stressors.speech.recognizers import RecognizerName

LONGEST = 4
"""Words of a region on either side; longer ones are cut into pieces."""

BITS, HASHES = 8, 5
"""Bits of the vocabulary for each word, and places that each word sets."""
_REMEMBERED = 50_000


class Level(msgspec.Struct, frozen=True):
    """The errors at one level of noise: rate, shares of substitutions, deletions, insertions, and counts of shapes."""

    wer: float
    mix: tuple[float, float, float]
    shapes: dict[str, float]


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


class Vocabulary:
    """Tells whether a word is in a packed vocabulary. An empty one knows every word."""

    def __init__(self, text: str) -> None:
        self._bits = b64decode(text)
        self._seen: dict[object, bool] = {}

    def __contains__(self, word: object) -> bool:
        is_inside = self._seen.get(word)
        if is_inside is None:
            places = places_of(str(word), 8 * len(self._bits)) if self._bits else ()
            is_inside = all(self._bits[place >> 3] >> (place & 7) & 1 for place in places)
            if len(self._seen) < _REMEMBERED:
                self._seen[word] = is_inside
        return is_inside


def places_of(word: str, size: int) -> Iterator[int]:
    """The bits that a word sets, of so many."""
    digest = blake2b(word.encode(), digest_size=4 * HASHES).digest()
    for start in range(0, len(digest), 4):
        yield int.from_bytes(digest[start : start + 4], "little") % size


def blend(levels: Sequence[Level], wer: float) -> Level:
    """What errors are made of at a word error rate between two levels; beyond the last level, as there."""
    above = next((number for number, level in enumerate(levels) if level.wer >= wer), len(levels))
    low, high = levels[max(0, above - 1)], levels[min(above, len(levels) - 1)]
    share = 0.0 if high.wer == low.wer else min(1.0, max(0.0, (wer - low.wer) / (high.wer - low.wer)))
    shapes: defaultdict[str, float] = defaultdict(float)
    for level, part in ((low, 1 - share), (high, share)):
        every = sum(level.shapes.values()) or 1
        for shape, count in level.shapes.items():
            shapes[shape] += part * count / every
    substituted, deleted, inserted = (
        (1 - share) * soft + share * loud for soft, loud in zip(low.mix, high.mix, strict=True)
    )
    return Level(wer, (substituted, deleted, inserted), dict(shapes))


@cache
def shipped(recognizer: RecognizerName) -> Fit:
    """The model that comes with dstress, of the embedded corpus."""
    return complete(msgspec.json.decode(files(__package__).joinpath(shipped_file(recognizer)).read_bytes(), type=Fit))


def shipped_file(recognizer: RecognizerName) -> str:
    """Where it lies."""
    return f"confusions_{recognizer}.json"


def complete(model: Fit) -> Fit:
    """A model of a recogniser that can write any word, with the words of English that pocketsphinx's has.

    Those in its vocabulary are known to everybody, and those that it heard are what words may be taken for.
    """
    if not model.writes:
        return model
    english = shipped("pocketsphinx")
    heard = Counter(english.heard) + Counter(model.heard)
    return msgspec.structs.replace(model, vocabulary=english.vocabulary, heard=dict(heard))
