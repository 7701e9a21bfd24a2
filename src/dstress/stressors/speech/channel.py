"""The whole channel: an utterance is spoken, drowned in noise and recognised; results are kept by content.

The audio-level simulation of RADDLE (Peng et al. 2021, section 4.2, after Gopalakrishnan et al. 2020), with parts that
anyone can install.
"""

from __future__ import annotations

import multiprocessing
import os
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from dstress.engines.base import cores
from dstress.storage.cache import SharedDatabase
from dstress.stressors.speech import voice
from dstress.stressors.speech.recognizers import Recognizer, Sphinx
from dstress.stressors.speech.spoken import script, words
from dstress.stressors.speech.voice import RATE, VOICES, Samples, SilentVoice
from dstress.text.tables import read_table
from dstress.text.utterance import content_key

MOST_AUDIO = 256_000_000
"""Bytes, about three hours of speech. What comes later is spoken anew each time, which costs less than hearing it."""

_TABLE = "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"

Noise = Literal["white", "babble"]
Signal = npt.NDArray[np.float64]

TALKERS = 6
"""Voices that talk at once in babble: enough that no single one can be followed."""

_FRAME = RATE // 50
_ACTIVE = 1e-3
"""A frame is speech if it has at least this share of the loudest frame's power (30 dB below)."""

MOST_WORDS = 200
"""Longer utterances are no utterances; nobody says so much in one turn."""

_GROUP = 6
"""Utterances that travel to a process together: few, so that no process waits long for the last."""

HEARD_NOTHING = "the recogniser heard nothing"
NOTHING_SAID = "nothing in it can be spoken"
TOO_LONG = f"longer than {MOST_WORDS} words"
SILENT = "the voice failed twice"


class Speaker(NamedTuple):
    """Who says an utterance, and the seed of the noise under it."""

    voice: str
    seed: int


Spoken = Sequence[tuple[str, Speaker]]
"""Utterances, each with who says it."""


class Conditions(NamedTuple):
    """What the channel does to an utterance. `snr` None: nothing is added."""

    snr: float | None = None
    noise: Noise = "white"
    speed: float = 1.0
    recognizer: Recognizer = Sphinx()


class Recognition(NamedTuple):
    """What came out: words, or why there are none."""

    text: str
    problem: str = ""


def draw_speaker(random: Random, voices: Sequence[str]) -> Speaker:
    """A turn's own voice and noise; the same for every level of noise, so that levels can be compared."""
    return Speaker(random.choice(voices), random.getrandbits(32))


def transmit(folder: Path, conditions: Conditions, utterances: Spoken) -> list[Recognition]:
    """What is understood of each utterance, in order, with this process's own channel."""
    # The process is a part of the key: a database connection must not be used on both sides of a fork.
    return _channel(folder, conditions, os.getpid()).transmit(utterances)


@lru_cache(maxsize=1)
def _channel(folder: Path, conditions: Conditions, process: int) -> Channel:
    return Channel(folder, conditions)


class ChannelPool:
    """Processes that run the channel; use it in a `with`. With one core, this process does it all."""

    def __init__(self, folder: Path, processes: int = 0) -> None:
        self.folder, self.processes = folder, processes or cores()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> ChannelPool:
        if self.processes > 1:
            # Not forked: whoever shows progress has threads, and those do not survive a fork.
            self._pool = ProcessPoolExecutor(self.processes, multiprocessing.get_context("spawn"))
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def transmit(self, utterances: Spoken, conditions: Conditions) -> list[Recognition]:
        """What is understood of each utterance, in order."""
        if self._pool is None:
            return transmit(self.folder, conditions, utterances)
        groups = [utterances[start : start + _GROUP] for start in range(0, len(utterances), _GROUP)]
        recognised = self._pool.map(transmit, [self.folder] * len(groups), [conditions] * len(groups), groups)
        return [recognition for group in recognised for recognition in group]


class Channel:
    """Speaks and recognises under some conditions. `folder` is where its caches are; processes may share it."""

    def __init__(self, folder: Path, conditions: Conditions) -> None:
        self.folder, self.conditions = folder, conditions
        self._recognitions = BlobCache(folder / "heard.sqlite")
        self._audio = BlobCache(folder / "audio.sqlite", MOST_AUDIO)

    def transmit(self, utterances: Spoken) -> list[Recognition]:
        """What is understood of each utterance, in order."""
        return [self._transmit(text, speaker) for text, speaker in utterances]

    def _transmit(self, text: str, speaker: Speaker) -> Recognition:
        snr, kind, speed, recognizer = self.conditions
        noise = ("clean",) if snr is None else (kind, f"{snr:.3f}", str(speaker.seed))
        spoken = (voice.version(), speaker.voice, f"{speed:.4f}", script(text))
        key = content_key(*spoken, *noise, *recognizer.version())
        cached = self._recognitions.get(key)
        if cached is None:
            count = len(words(text))
            if not count or count > MOST_WORDS:
                return Recognition("", TOO_LONG if count else NOTHING_SAID)
            try:
                audio = self.audio(text, speaker)
            except SilentVoice:
                return Recognition("", SILENT)
            heard = recognizer.recognize(audio, self.folder)
            cached = heard.encode() if words(heard) else b""
            self._recognitions.put(key, cached)
        return Recognition(cached.decode(), "" if cached else HEARD_NOTHING)

    def audio(self, text: str, speaker: Speaker) -> Samples:
        """What the recogniser gets to hear."""
        snr, kind, speed, _ = self.conditions
        clean = self._speak(script(text), speaker.voice, speed)
        if snr is None:
            return clean
        length, seed = len(clean), speaker.seed
        noise = white(length, seed) if kind == "white" else babble(length, seed, self._babble_bank)
        return add_noise(clean, noise, snr)

    @cached_property
    def _babble_bank(self) -> Samples:
        return babble_bank(self._speak)

    def _speak(self, spoken: str, voice_name: str, speed: float = 1.0) -> Samples:
        key = content_key(voice.version(), voice_name, f"{speed:.4f}", spoken)
        cached = self._audio.get(key)
        if cached is not None:
            return unpack_audio(cached)
        audio = voice.speak(spoken, voice_name, speed)
        self._audio.put(key, pack_audio(audio))
        return audio


def level(samples: Samples | Signal) -> float:
    """The power of the speech, over the frames in which there is any: pauses would make it look softer than it is."""
    whole = samples[: len(samples) // _FRAME * _FRAME].astype(np.float64)
    if not whole.size:
        return float(np.mean(samples.astype(np.float64) ** 2)) if samples.size else 0.0
    powers = np.mean(whole.reshape(-1, _FRAME) ** 2, axis=1)
    loud = powers[powers >= powers.max() * _ACTIVE]
    return float(loud.mean())


def add_noise(speech: Samples, noise: Signal, snr: float) -> Samples:
    """Speech with a noise of power 1 under it, `snr` decibels softer than the speech."""
    scaled = noise * np.sqrt(level(speech) / 10 ** (snr / 10))
    return _as_samples(speech + scaled)


def white(length: int, seed: int) -> Signal:
    """White noise of power 1. This old generator of numpy's gives the same numbers in every version."""
    return np.random.RandomState(seed & 0xFFFFFFFF).standard_normal(length)


def babble(length: int, seed: int, bank: Samples) -> Signal:
    """Babble of power 1: `TALKERS` stretches of the bank at once, each from a place of its own."""
    random = np.random.RandomState(seed & 0xFFFFFFFF)
    mixed = np.zeros(length)
    for start in random.randint(0, len(bank), TALKERS):
        mixed += np.take(bank, np.arange(start, start + length), mode="wrap")
    return mixed / float(np.sqrt(np.mean(mixed**2)) or 1.0)


def babble_bank(say: Callable[[str, str], Samples]) -> Samples:
    """What the babble is mixed from: sentences of our own in three voices, each as loud as the others.

    A fixed bank, and not the corpus's other utterances, so that the noise of a turn hangs on its seed alone.
    """
    spoken = []
    for number, sentence in enumerate(read_table(__package__, "babble.toml")["sentences"]):
        samples = say(sentence, VOICES[number % len(VOICES)])
        spoken.append(samples * (1000.0 / np.sqrt(level(samples))))
    return _as_samples(np.concatenate(spoken))


def _as_samples(signal: Signal) -> Samples:
    return np.asarray(np.clip(np.rint(signal), -32768, 32767), np.int16)


class BlobCache(SharedDatabase):
    """A table from content keys to bytes, in a file that processes share."""

    repair = "if no other dstress is at work, delete the file; it is made again, at the cost of time alone"

    def __init__(self, path: Path, most_bytes: int | None = None) -> None:
        super().__init__(path, _TABLE)
        self.most_bytes = most_bytes

    def get(self, key: bytes) -> bytes | None:
        """What is kept under a key."""
        rows = self.execute("SELECT value FROM kept WHERE key = ?", (key,))
        return bytes(rows[0][0]) if rows else None

    def put(self, key: bytes, value: bytes) -> None:
        """Keep some more, unless the file is full."""
        if self.most_bytes is not None:
            [(pages,)], [(page_size,)] = self.execute("PRAGMA page_count"), self.execute("PRAGMA page_size")
            if pages * page_size >= self.most_bytes:
                return
        self.execute("INSERT OR IGNORE INTO kept VALUES (?, ?)", (key, value))


def pack_audio(audio: Samples) -> bytes:
    """Audio as bytes: differences between neighbours, high bytes apart from low ones, compress best."""
    differences = np.diff(audio, prepend=np.int16(0)).astype("<i2")
    return zlib.compress(differences.view(np.uint8).reshape(-1, 2).T.tobytes(), 1)


def unpack_audio(content: bytes) -> Samples:
    """The audio again, to the bit; sums wrap as the differences did."""
    planes = np.frombuffer(zlib.decompress(content), np.uint8).reshape(2, -1)
    return np.cumsum(np.ascontiguousarray(planes.T).view("<i2")[:, 0], dtype=np.int16)
