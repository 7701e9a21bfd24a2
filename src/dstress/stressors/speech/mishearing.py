"""The confusion model at work: mishear words as the channel would, without audio.

Walk through the words. An error begins at a word with the word's own probability. It takes a stretch that the channel
was heard to confuse, in one of the ways that were heard; or, the rarer the stretch, a shape that errors have at this
rate, filled with words that sound alike.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from random import Random
from typing import Generic, NamedTuple, TypeVar

from dstress.stressors.speech.confusions import LONGEST, Fit, Vocabulary, blend
from dstress.stressors.speech.sounds import SoundAlikes, respell
from dstress.stressors.speech.spoken import WordErrors, join_clitics, total, word_errors, words
from dstress.text.writing_style import capitalise

T = TypeVar("T")
Shape = tuple[int, int]

PRIOR = 6.0
"""A word's own rate weighs as much as the rate of words of its length once it was said so often."""

TRUST = 2.0
"""A stretch that was confused so often is confused in the same ways half of the time, else in a new one."""

_ROUNDS = 4
_HALVINGS = 10
_WIDEST = 3.0
_LONG_WORD = 8
_REMEMBERED = 50_000
_MARKS = (".", ",", "?", "!")


class Draw(Generic[T]):
    """A weighted choice, with one random number each time."""

    __slots__ = ("items", "sums", "weight")

    def __init__(self, weights: Sequence[tuple[T, float]]) -> None:
        self.items = [item for item, _ in weights]
        self.sums = list(accumulate(weight for _, weight in weights))
        self.weight = self.sums[-1] if weights else 0.0

    def __call__(self, random: Random) -> T:
        return self.items[bisect(self.sums, random.random() * self.weight, 0, len(self.items) - 1)]


class Knobs(NamedTuple):
    """`bias` is added to every word's log-odds of an error; the others weigh errors that lose and that add words."""

    bias: float = 0.0
    dropping: float = 1.0
    adding: float = 1.0


class Error(NamedTuple):
    """Words `start` to `end` (exclusive) come out as `heard`; words are added where these are the same."""

    start: int
    end: int
    heard: Sequence[str]


class Mishearing:
    """Mishears at a word error rate, with the errors that a kind of noise makes at that rate."""

    def __init__(self, fit: Fit, noise: str, wer: float) -> None:
        self.fit, self.wer, self.target = fit, wer, blend(fit.levels[noise], wer)
        self._alike = SoundAlikes(fit.heard)
        self._substitutes: dict[str, Draw[str]] = {}
        self._vocabulary = Vocabulary(fit.vocabulary)
        self._by_length, self._strange_rate, self._rates = _rates(fit, self._vocabulary)
        self._strange_shapes = [(_shape(name), float(count)) for name, count in fit.strange.items()]
        self._average = sum(errors for _, errors in fit.words.values()) / sum(times for times, _ in fit.words.values())
        counts: defaultdict[str, float] = defaultdict(float)
        for level in chain.from_iterable(fit.levels.values()):
            for shape, count in level.shapes.items():
                counts[shape] += count
        every = sum(counts.values())
        self._usual = {shape: count / every for shape, count in counts.items()}
        """Each shape's share over all that was heard."""
        self.set(Knobs())

    def set(self, knobs: Knobs) -> None:
        """Turn the knobs."""
        self.knobs = knobs
        self._begins = {word: _shifted(rate, knobs.bias) for word, rate in self._rates.items()}
        self._seen: dict[str, Draw[tuple[str, ...]]] = {}
        weights = [(_shape(name), weight) for name, weight in self.target.shapes.items()]
        # By how many words are left in the utterance, errors that begin at a word, and those at a strange one.
        self._shapes, self._strange = (
            [
                Draw([(shape, self._weigh(shape) * weight) for shape, weight in shapes if 0 < shape[0] <= ahead])
                for ahead in range(LONGEST + 1)
            ]
            for shapes in (weights, self._strange_shapes)
        )
        regions = sum(weight for (spoken, _), weight in weights if spoken)
        self._slip = min(0.5, knobs.adding * _shifted(self._average, knobs.bias) * (1 - regions) / (regions or 1.0))
        self._extra = Draw(
            [(tuple(heard.split()), float(count)) for heard, count in self.fit.regions.get("", {}).items()]
        )

    def mishear(self, words: Sequence[str], random: Random) -> list[str]:
        """What might be heard."""
        heard: list[str] = []
        at = 0
        for error in self.errors(words, random):
            heard += words[at : error.start]
            heard += error.heard
            at = error.end
        return heard + list(words[at:])

    def errors(self, words: Sequence[str], random: Random) -> Iterator[Error]:
        """What might be heard otherwise."""
        at, count = 0, len(words)
        chance, begins, slip = random.random, self._begins, self._slip if self._extra.items else 0.0
        while at < count:
            if chance() < slip:
                yield Error(at, at, self._extra(random))
            word = words[at]
            if chance() < (begins.get(word) or self._begin(word)):
                size, confused = self._confuse(words[at : at + LONGEST], random)
                yield Error(at, at + size, confused)
                at += size
            else:
                at += 1

    def tune(self, sample: Sequence[Sequence[str]]) -> WordErrors:
        """Turn the knobs until rate and mix come out right on some utterances; what comes out then."""
        for _ in range(_ROUNDS):
            _, deleted, inserted = self._tune_rate(sample).mix
            _, target_deleted, target_inserted = self.target.mix
            bias, dropping, adding = self.knobs
            dropping *= _ratio(target_deleted, deleted)
            self.set(Knobs(bias, dropping, adding * _ratio(target_inserted, inserted)))
        return self._tune_rate(sample)

    def measure(self, sample: Sequence[Sequence[str]]) -> WordErrors:
        """The errors on some utterances, always with the same random numbers."""
        return total(word_errors(words, self.mishear(words, Random(place))) for place, words in enumerate(sample))

    def _tune_rate(self, sample: Sequence[Sequence[str]]) -> WordErrors:
        low, high = self.knobs.bias - _WIDEST, self.knobs.bias + _WIDEST
        errors = WordErrors()
        for _ in range(_HALVINGS):
            self.set(self.knobs._replace(bias=(low + high) / 2))
            errors = self.measure(sample)
            low, high = (low, self.knobs.bias) if errors.rate > self.wer else (self.knobs.bias, high)
        return errors

    def _weigh(self, shape: Shape) -> float:
        spoken, heard = shape
        return self.knobs.dropping if heard < spoken else self.knobs.adding if heard > spoken else 1.0

    def _begin(self, word: str) -> float:
        """For a word that was never said to the channel: as for words of its length, or as for strange words."""
        familiar = word in self._vocabulary
        rate = self._by_length[min(len(word), _LONG_WORD)] if familiar else self._strange_rate
        if len(self._begins) < _REMEMBERED:
            self._begins[word] = _shifted(rate, self.knobs.bias)
        return _shifted(rate, self.knobs.bias)

    def _confuse(self, ahead: Sequence[str], random: Random) -> tuple[int, Sequence[str]]:
        """How many of the words ahead go wrong together, and what is heard for them."""
        stretches = [" ".join(ahead[:size]) for size in range(1, len(ahead) + 1)]
        heard_before = [(size, self._ways(text)) for size, text in enumerate(stretches, 1) if text in self.fit.regions]
        chosen = random.random() * (TRUST + sum(ways.weight for _, ways in heard_before))
        for size, ways in heard_before:
            chosen -= ways.weight
            if chosen < 0:
                return size, ways(random)
        usual, strange = self._shapes[len(ahead)], self._strange[len(ahead)]
        shapes = strange if strange.items and ahead[0] not in self._vocabulary else usual
        # Where all was misheard in longer stretches, no error of so few words was seen: one word for one.
        spoken, heard = shapes(random) if shapes.items else (1, 1)
        return spoken, self._fill(ahead[:spoken], heard, random)

    def _ways(self, stretch: str) -> Draw[tuple[str, ...]]:
        """What a stretch was heard as, weighed by how usual each shape is at this error rate."""
        ways = self._seen.get(stretch)
        if ways is None:
            size = stretch.count(" ") + 1
            weights = []
            for text, count in self.fit.regions[stretch].items():
                heard = tuple(text.split())
                name = f"{size}>{len(heard)}"
                usual = self.target.shapes.get(name, 0.0) / self._usual[name]
                weights.append((heard, count * usual * self._weigh((size, len(heard)))))
            self._seen[stretch] = ways = Draw(weights)
        return ways

    def _fill(self, stretch: Sequence[str], count: int, random: Random) -> list[str]:
        """So many words for a stretch: its longest words, or the pieces of long ones, as others that sound alike."""
        pieces = list(stretch)
        if len(pieces) > count:
            places = sorted(sorted(range(len(stretch)), key=lambda place: -len(stretch[place]))[:count])
            pieces = [stretch[place] for place in places]
        while len(pieces) < count:
            longest = max(range(len(pieces)), key=lambda place: len(pieces[place]))
            word = pieces[longest]
            middle = max(1, len(word) // 2)
            pieces[longest : longest + 1] = [word[:middle] or word, word[middle:] or word]
        heard = []
        for piece in pieces:
            others = self._substitutes_of(piece)
            heard.append(others(random) if others.items else piece)
        return heard

    def _substitutes_of(self, word: str) -> Draw[str]:
        """Other words for a word: those that were heard for it, and those that sound alike, or are spelt otherwise."""
        substitutes = self._substitutes.get(word)
        if substitutes is None:
            heard = self.fit.regions.get(word, {}).items()
            weights = [(other, float(count)) for other, count in heard if other and " " not in other]
            alike = self._alike.find(word)
            scale = TRUST / (sum(weight for _, weight in alike) or 1.0)
            weights += [(other, weight * scale) for other, weight in alike]
            if self.fit.writes and word not in self._vocabulary:
                weights += [(spelt, TRUST) for spelt in respell(word)]
            substitutes = Draw(weights)
            if len(self._substitutes) >= _REMEMBERED:
                self._substitutes.clear()
            self._substitutes[word] = substitutes
        return substitutes


def _rates(fit: Fit, vocabulary: Vocabulary) -> tuple[list[float], float, dict[str, float]]:
    """How often an error begins at words of each length, at strange ones, and at each; rare ones lean on the others."""
    tried: Counter[int] = Counter()
    begun: Counter[int] = Counter()
    strange = [1.0, 1.0]
    for word, (times, errors) in fit.words.items():
        if word in vocabulary:
            size = min(len(word), _LONG_WORD)
            tried[size] += times
            begun[size] += errors
        else:
            strange[0] += times
            strange[1] += errors
    overall = (sum(begun.values()) + 1) / (sum(tried.values()) + 2)
    by_length = [(begun[size] + PRIOR * overall) / (tried[size] + PRIOR) for size in range(_LONG_WORD + 1)]
    unfamiliar = strange[1] / strange[0]
    rates = {}
    for word, (times, errors) in fit.words.items():
        usual = by_length[min(len(word), _LONG_WORD)] if word in vocabulary else unfamiliar
        rates[word] = (errors + PRIOR * usual) / (times + PRIOR)
    return by_length, unfamiliar, rates


def _shape(name: str) -> Shape:
    spoken, _, heard = name.partition(">")
    return int(spoken), int(heard)


def _shifted(rate: float, bias: float) -> float:
    """A probability with its log-odds raised."""
    rate = min(max(rate, 1e-4), 1 - 1e-4)
    return 1 / (1 + math.exp(-math.log(rate / (1 - rate)) - bias))


def _ratio(target: float, measured: float) -> float:
    """How much more there should be, in a step that never overshoots far."""
    return min(3.0, max(1 / 3, (target + 0.005) / (measured + 0.005)))


def write_errors(text: str, errors: Iterable[Error]) -> str:
    """The text with its misheard words; what was heard right stays as it was written.

    So do recognisers write that give capitals, digits and marks, in place of the spoken words alone.
    """
    heard: dict[int, Sequence[str]] = {}
    added: dict[int, Sequence[str]] = {}
    for start, end, new in errors:
        if start == end:
            added[start] = new
        heard |= {place: new if place == start else () for place in range(start, end)}
    if not heard and not added:
        return text
    spoken = words(text)
    chunks = [(chunk, words(chunk)) for chunk in join_clitics(text).split()]
    if tuple([word for _, own in chunks for word in own]) != spoken:  # what is said hangs on two chunks: `$ 5`
        chunks = [(word, (word,)) for word in spoken]
    written: list[str] = []
    touched = heard.keys() | added.keys()
    at = 0
    for chunk, own in chunks:
        places = range(at, at + len(own))
        at += len(own)
        if touched.isdisjoint(places):
            written.append(chunk)
            continue
        written += [word for place in places for word in added.get(place, ())]
        if heard.keys().isdisjoint(places):
            written.append(chunk)
        elif new := [word for place in places for word in heard.get(place, spoken[place : place + 1])]:
            shown = " ".join(new) + (chunk[-1] if chunk.endswith(_MARKS) else "")
            written.append(capitalise(shown) if chunk[0].isupper() else shown)
    return " ".join(written)
