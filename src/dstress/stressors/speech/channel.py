"""The whole channel: an utterance is spoken, drowned in noise and recognised; results are kept by content.

The audio-level simulation of RADDLE (Peng et al. 2021, section 4.2, after Gopalakrishnan et al. 2020), with parts that
anyone can install.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from dstress.storage.atomic import replacing
from dstress.stressors.speech import voice
from dstress.stressors.speech.audio_cache import MOST_AUDIO, BlobCache, content_key, pack_audio, unpack_audio
from dstress.stressors.speech.noise import BABBLE_VOICES, Noise, add_noise, babble, babble_bank, babble_sentences, white
from dstress.stressors.speech.recognizer import Recognizer
from dstress.stressors.speech.sphinx import Sphinx
from dstress.stressors.speech.spoken import script, words
from dstress.stressors.speech.voice import Samples, SilentVoice

MOST_WORDS = 200
"""Longer utterances are no utterances; nobody says so much in one turn."""

_AT_ONCE = 8
"""Hypotheses that are kept together: a crash loses no more than these."""

HEARD_NOTHING = "the recogniser heard nothing"
NOTHING_SAID = "nothing in it can be spoken"
TOO_LONG = f"longer than {MOST_WORDS} words"
SILENT = "the voice failed twice"


class Speaker(NamedTuple):
    """Who says an utterance, and the seed of the noise under it."""

    voice: str
    seed: int


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


class Channel:
    """Speaks and recognises under some conditions. `folder` is where its caches are; processes may share it."""

    def __init__(self, folder: Path, conditions: Conditions) -> None:
        self.folder, self.conditions = folder, conditions
        self._recognitions = BlobCache(folder / "heard.sqlite")
        self._audio = BlobCache(folder / "audio.sqlite", MOST_AUDIO)

    def transmit(self, utterances: Sequence[tuple[str, Speaker]]) -> list[Recognition]:
        """What is understood of each utterance, in order."""
        keys = [self._key(text, speaker) for text, speaker in utterances]
        known = {key: value.decode() for key, value in self._recognitions.get(keys).items()}
        new: dict[bytes, bytes] = {}
        outcomes = []
        for (text, speaker), key in zip(utterances, keys, strict=True):
            if key not in known:
                recognition = self._transmit(text, speaker)
                if recognition.problem:
                    outcomes.append(recognition)
                    continue
                known[key] = recognition.text
                new[key] = recognition.text.encode()
            outcomes.append(Recognition(known[key]) if known[key] else Recognition("", HEARD_NOTHING))
            if len(new) >= _AT_ONCE:
                self._recognitions.put(new)
                new = {}
        self._recognitions.put(new)
        return outcomes

    def audio(self, text: str, speaker: Speaker) -> Samples:
        """What the recogniser gets to hear."""
        clean = self._speak(text, speaker.voice)
        snr, kind = self.conditions.snr, self.conditions.noise
        if snr is None:
            return clean
        if kind == "white":
            return add_noise(clean, white(len(clean), speaker.seed), snr)
        return add_noise(clean, babble(len(clean), speaker.seed, _babble_bank(self.folder)), snr)

    def close(self) -> None:
        """Give the caches back."""
        self._recognitions.close()
        self._audio.close()

    def _transmit(self, text: str, speaker: Speaker) -> Recognition:
        count = len(words(text))
        if not count:
            return Recognition("", NOTHING_SAID)
        if count > MOST_WORDS:
            return Recognition("", TOO_LONG)
        try:
            audio = self.audio(text, speaker)
        except SilentVoice:
            return Recognition("", SILENT)
        heard = self.conditions.recognizer.recognize(audio, self.folder)
        return Recognition(heard if words(heard) else "")

    def _speak(self, text: str, voice_name: str) -> Samples:
        spoken = script(text)
        key = content_key(voice.version(), voice_name, f"{self.conditions.speed:.4f}", spoken)
        cached = self._audio.get([key])
        if key in cached:
            return unpack_audio(cached[key])
        audio = voice.speak(spoken, voice_name, self.conditions.speed)
        self._audio.put({key: pack_audio(audio)})
        return audio

    def _key(self, text: str, speaker: Speaker) -> bytes:
        snr, kind, speed, recognizer = self.conditions
        noise = ("clean",) if snr is None else (kind, f"{snr:.3f}", str(speaker.seed))
        spoken = (voice.version(), speaker.voice, f"{speed:.4f}", script(text))
        return content_key(*spoken, *noise, *recognizer.version())


@lru_cache(maxsize=2)
def _babble_bank(folder: Path) -> Samples:
    """The babble bank; spoken once for a folder."""
    key = content_key(voice.version(), *BABBLE_VOICES, *babble_sentences()).hex()
    path = folder / f"babble-{key}.npy"
    if path.exists():
        return np.asarray(np.load(path), np.int16)
    bank = babble_bank()
    with replacing(path) as out:
        np.save(out, bank)
    return bank
