"""What the channel's errors look like, counted: which words become which, and how errors change with noise.

An *error region* is a stretch of words that came out as another stretch, with right words on both sides: "guesthouse"
as "guest house", "east of" as "least of", "the" as nothing. Its *shape* is how many words went in and out (`1>2`).

A name that the recogniser does not know is always misheard, so a fit has the recogniser's vocabulary as a Bloom filter
(Bloom 1970): small, and wrong once in fifty times.

To fit it, utterances go through the real channel at several levels of noise. The models that come with dstress, one for
each recogniser, lie beside this file: fits of utterances of the embedded corpus, which `python -m
benchmarks.fit_confusions` makes again.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import msgspec
from rapidfuzz.distance import Levenshtein

from dstress.dialogue import Dialogue
from dstress.stressors.speech import voice
from dstress.stressors.speech.calibration import draw_sample
from dstress.stressors.speech.channel import ChannelPool, Conditions, Noise, draw_speaker, load_json, save_json
from dstress.stressors.speech.recognizers import Recognizer, RecognizerName, Sphinx, Whisper, known_words
from dstress.stressors.speech.spoken import total, word_errors, words
from dstress.text.utterance import content_key, random_for

LONGEST = 4
"""Words of a region on either side; longer ones are cut into pieces."""

BITS, HASHES = 8, 5
"""Bits of the vocabulary for each word, and places that each word sets."""
_REMEMBERED = 50_000

LEVELS: dict[type[Recognizer], dict[Noise, tuple[float | None, ...]]] = {
    Sphinx: {"white": (None, 31.0, 26.0), "babble": (None, 25.0, 19.0)},
    Whisper: {"white": (None, 10.0), "babble": (None, 5.0)},
}
"""Signal-to-noise ratios at which each recogniser is heard, none first: up to about 50 word errors in a hundred."""

_LAYOUT = 3
"""Raised when a fit says other things than before: older ones in the data home are then made anew."""

Pair = tuple[Sequence[str], Sequence[str]]
"""What was spoken and what was heard."""


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


def pack_words(words: Iterable[str]) -> str:
    """A vocabulary as text."""
    distinct = sorted(set(words))
    bits = bytearray(len(distinct) * BITS // 8 + 1) if distinct else bytearray()
    for word in distinct:
        for place in _places(word, 8 * len(bits)):
            bits[place >> 3] |= 1 << (place & 7)
    return b64encode(bits).decode()


class Vocabulary:
    """Tells whether a word is in a packed vocabulary. An empty one knows every word."""

    def __init__(self, text: str) -> None:
        self._bits = b64decode(text)
        self._seen: dict[object, bool] = {}

    def __contains__(self, word: object) -> bool:
        is_inside = self._seen.get(word)
        if is_inside is None:
            places = _places(str(word), 8 * len(self._bits)) if self._bits else ()
            is_inside = all(self._bits[place >> 3] >> (place & 7) & 1 for place in places)
            if len(self._seen) < _REMEMBERED:
                self._seen[word] = is_inside
        return is_inside


def _places(word: str, size: int) -> Iterator[int]:
    digest = blake2b(word.encode(), digest_size=4 * HASHES).digest()
    for start in range(0, len(digest), 4):
        yield int.from_bytes(digest[start : start + 4], "little") % size


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
    """The error regions of an utterance; a long one is cut evenly."""
    codes = groupby(Levenshtein.opcodes(spoken, heard), key=lambda code: code.tag == "equal")
    for errors in [list(group) for is_equal, group in codes if not is_equal]:
        start, low = errors[0].src_start, errors[0].dest_start
        length, heard_length = errors[-1].src_end - start, errors[-1].dest_end - low
        count = -(-max(length, heard_length) // LONGEST)
        for piece in range(count):
            first, last = (start + length * number // count for number in (piece, piece + 1))
            left, right = (low + heard_length * number // count for number in (piece, piece + 1))
            yield Region(first, tuple(spoken[first:last]), tuple(heard[left:right]))


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


def sample_texts(corpus: Iterable[Dialogue], utterances: int) -> list[str]:
    """So many utterances of a corpus, each once."""
    return sorted({text for text, _, _ in draw_sample(corpus, utterances) if words(text)})


def load_or_fit(
    texts: Sequence[str],
    folder: Path,
    recognizer: Recognizer,
    on_progress: Callable[[str, int], None] = lambda *_: None,
) -> Fit:
    """The confusion model of some texts, kept in `folder` once it is made."""
    levels = LEVELS[type(recognizer)]
    key = content_key(_LAYOUT, voice.version(), *recognizer.version(), levels, *texts).hex()
    path = folder / "fits" / f"{key}.json"
    if (kept := load_json(path, Fit)) is not None:
        return kept
    utterances = [(text, draw_speaker(random_for("fit", text), voice.VOICES)) for text in texts]
    pairs: dict[str, list[list[Pair]]] = {noise: [] for noise in levels}
    with ChannelPool(folder) as pool:
        for noise, ratios in levels.items():
            for snr in ratios:
                heard = pool.transmit(utterances, Conditions(snr, noise, recognizer=recognizer))
                recognised = zip(texts, heard, strict=True)
                pairs[noise].append([(words(text), words(each.text)) for text, each in recognised if not each.problem])
                on_progress(f"{noise} noise at {snr} dB", len(texts))
    if isinstance(recognizer, Sphinx):
        model = fit(pairs, pack_words(known_words(folder)))
    else:
        familiar = fit(pairs, shipped("pocketsphinx").vocabulary, writes=True)
        model = msgspec.structs.replace(familiar, vocabulary="")
    save_json(path, model)
    return model


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
