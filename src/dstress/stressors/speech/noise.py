"""Noise at a signal-to-noise ratio: white, or babble of other people talking."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from dstress.stressors.speech.voice import RATE, Samples, speak
from dstress.text.tables import read_table

Noise = Literal["white", "babble"]
Signal = npt.NDArray[np.float64]

TALKERS = 6
"""Voices that talk at once in babble: enough that no single one can be followed."""

BABBLE_VOICES = ("slt", "rms", "awb")
_FRAME = RATE // 50
_ACTIVE = 1e-3
"""A frame is speech if it has at least this share of the loudest frame's power (30 dB below)."""


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


@cache
def babble_sentences() -> tuple[str, ...]:
    """What the people in the babble say."""
    return tuple(read_table(__package__, "babble.toml")["sentences"])


def babble_bank(say: Callable[[str, str], Samples] = speak) -> Samples:
    """What the babble is mixed from: sentences of our own in three voices, each as loud as the others.

    A fixed bank, and not the corpus's other utterances, so that the noise of a turn hangs on its seed alone.
    """
    spoken = []
    for number, sentence in enumerate(babble_sentences()):
        samples = say(sentence, BABBLE_VOICES[number % len(BABBLE_VOICES)])
        spoken.append(samples * (1000.0 / np.sqrt(level(samples))))
    return _as_samples(np.concatenate(spoken))


def _as_samples(signal: Signal) -> Samples:
    return np.asarray(np.clip(np.rint(signal), -32768, 32767), np.int16)
