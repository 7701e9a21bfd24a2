"""Make a confusion model that comes with dstress: `python -m benchmarks.fit_confusions`, in about half an hour.

It is fitted on 600 utterances of `reminder:train` through the real channel with pocketsphinx, and written to where
`speech_text` looks for it; `python -m benchmarks.fit_confusions PATH` listens with the Whisper model in a folder.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import msgspec
from rapidfuzz.distance import Levenshtein

from dstress.corpora import load
from dstress.storage.home import home
from dstress.stressors.speech import confusions, voice
from dstress.stressors.speech.calibration import draw_sample
from dstress.stressors.speech.channel import ChannelPool, Conditions, Noise, draw_speaker
from dstress.stressors.speech.confusions import BITS, LONGEST, Fit, Level, Vocabulary, places_of, shipped, shipped_file
from dstress.stressors.speech.recognizers import (
    Recognizer,
    RecognizerName,
    Sphinx,
    Whisper,
    dictionary_in,
    sphinx_decoder,
)
from dstress.stressors.speech.spoken import total, word_errors, words
from dstress.text.utterance import random_for

UTTERANCES: dict[RecognizerName, int] = {"pocketsphinx": 600, "whisper": 120}

LEVELS: dict[type[Recognizer], dict[Noise, tuple[float | None, ...]]] = {
    Sphinx: {"white": (None, 31.0, 26.0), "babble": (None, 25.0, 19.0)},
    Whisper: {"white": (None, 10.0), "babble": (None, 5.0)},
}
"""Signal-to-noise ratios at which each recogniser is heard, none first: up to about 50 word errors in a hundred."""

_IMPOSSIBLE = -1e8
"""Below any log-probability of a word that the model has."""

Pair = tuple[Sequence[str], Sequence[str]]
"""What was spoken and what was heard."""


def run(folder: str = "") -> None:
    name: RecognizerName = "whisper" if folder else "pocketsphinx"
    sample = draw_sample(load("reminder:train"), UTTERANCES[name])
    texts = sorted({text for text, _, _ in sample if words(text)})
    model = fit_texts(texts, home() / "speech", Whisper(folder) if folder else Sphinx())
    path = Path(confusions.__file__).with_name(shipped_file(name))
    path.write_bytes(msgspec.json.encode(model) + b"\n")
    for noise, levels in model.levels.items():
        for level in levels:
            shares = ", ".join(f"{share:.1%}" for share in level.mix)
            print(f"{noise:<8} word error rate {level.wer:6.1%}   of which {shares}")
    print(f"{path}: {path.stat().st_size:,} bytes")


def fit_texts(texts: Sequence[str], folder: Path, recognizer: Recognizer) -> Fit:
    """The confusion model of some texts; audio and hypotheses are kept in `folder`."""
    utterances = [(text, draw_speaker(random_for("fit", text), voice.VOICES)) for text in texts]
    pairs: dict[str, list[list[Pair]]] = {}
    with ChannelPool(folder) as pool:
        for noise, ratios in LEVELS[type(recognizer)].items():
            pairs[noise] = []
            for snr in ratios:
                heard = pool.transmit(utterances, Conditions(snr, noise, recognizer=recognizer))
                recognised = zip(texts, heard, strict=True)
                pairs[noise].append([(words(text), words(each.text)) for text, each in recognised if not each.problem])
                print(f"{noise} noise at {snr} dB", len(texts), flush=True)
    if isinstance(recognizer, Sphinx):
        return fit(pairs, pack_words(known_words(folder)))
    familiar = fit(pairs, shipped("pocketsphinx").vocabulary, writes=True)
    return msgspec.structs.replace(familiar, vocabulary="")


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


def pack_words(words: Iterable[str]) -> str:
    """A vocabulary as text."""
    distinct = sorted(set(words))
    bits = bytearray(len(distinct) * BITS // 8 + 1) if distinct else bytearray()
    for word in distinct:
        for place in places_of(word, 8 * len(bits)):
            bits[place >> 3] |= 1 << (place & 7)
    return b64encode(bits).decode()


def known_words(folder: Path) -> list[str]:
    """The words of English that pocketsphinx can give: those of its language model that it can pronounce."""
    dictionary = dictionary_in(folder)
    model = sphinx_decoder(dictionary).get_lm()
    listed = {line.split(" ", 1)[0] for line in Path(dictionary).read_text(encoding="utf-8").splitlines()}
    return sorted(word for word in listed if "(" not in word and model.prob([word]) > _IMPOSSIBLE)


if __name__ == "__main__":
    run(*sys.argv[1:])
