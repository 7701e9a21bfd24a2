"""The whole channel: said, spoken, drowned in noise, recognised; and kept by content.

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
from dstress.stressors.speech import recognizer, voice
from dstress.stressors.speech.audio_cache import MOST_AUDIO, Shelf, content_key, packed, unpacked
from dstress.stressors.speech.noise import BABBLE_VOICES, Noise, add_noise, babble, babble_bank, babble_sentences, white
from dstress.stressors.speech.recognizer import GENERAL, Language
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
    language: Language = GENERAL


class Heard(NamedTuple):
    """What came out: words, or why there are none."""

    text: str
    problem: str = ""


def speaker(random: Random, voices: Sequence[str]) -> Speaker:
    """A turn's own voice and noise; the same for every level of noise, so that levels can be compared."""
    return Speaker(random.choice(voices), random.getrandbits(32))


class Channel:
    """Speaks and hears under some conditions. `folder` is where its caches are; processes may share it."""

    def __init__(self, folder: Path, conditions: Conditions) -> None:
        self.folder, self.conditions = folder, conditions
        self._heard = Shelf(folder / "heard.sqlite")
        self._audio = Shelf(folder / "audio.sqlite", MOST_AUDIO)

    def hear(self, utterances: Sequence[tuple[str, Speaker]]) -> list[Heard]:
        """What is understood of each utterance, in order."""
        keys = [self._key(text, by) for text, by in utterances]
        known = {key: value.decode() for key, value in self._heard.get(keys).items()}
        new: dict[bytes, bytes] = {}
        outcomes = []
        for (text, by), key in zip(utterances, keys, strict=True):
            if key not in known:
                found = self._hear(text, by)
                if found.problem:
                    outcomes.append(found)
                    continue
                known[key] = found.text
                new[key] = found.text.encode()
            outcomes.append(Heard(known[key]) if known[key] else Heard("", HEARD_NOTHING))
            if len(new) >= _AT_ONCE:
                self._heard.put(new)
                new = {}
        self._heard.put(new)
        return outcomes

    def audio(self, text: str, by: Speaker) -> Samples:
        """What the recogniser gets to hear."""
        clean = self._spoken(text, by.voice)
        snr, kind = self.conditions.snr, self.conditions.noise
        if snr is None:
            return clean
        if kind == "white":
            return add_noise(clean, white(len(clean), by.seed), snr)
        return add_noise(clean, babble(len(clean), by.seed, _bank(self.folder)), snr)

    def close(self) -> None:
        """Give the caches back."""
        self._heard.close()
        self._audio.close()

    def _hear(self, text: str, by: Speaker) -> Heard:
        count = len(words(text))
        if not count:
            return Heard("", NOTHING_SAID)
        if count > MOST_WORDS:
            return Heard("", TOO_LONG)
        try:
            audio = self.audio(text, by)
        except SilentVoice:
            return Heard("", SILENT)
        language = self.conditions.language
        heard = recognizer.hear(audio, recognizer.general(self.folder) if language == GENERAL else language)
        return Heard(" ".join(words(heard)))

    def _spoken(self, text: str, name: str) -> Samples:
        said = script(text)
        key = content_key(voice.version(), name, f"{self.conditions.speed:.4f}", said)
        kept = self._audio.get([key])
        if key in kept:
            return unpacked(kept[key])
        audio = voice.speak(said, name, self.conditions.speed)
        self._audio.put({key: packed(audio)})
        return audio

    def _key(self, text: str, by: Speaker) -> bytes:
        snr, kind, speed, language = self.conditions
        noise = ("clean",) if snr is None else (kind, f"{snr:.3f}", str(by.seed))
        spoken = (voice.version(), by.voice, f"{speed:.4f}", script(text))
        return content_key(*spoken, *noise, recognizer.version(), *language)


@lru_cache(maxsize=2)
def _bank(folder: Path) -> Samples:
    """The babble bank; spoken once for a folder."""
    key = content_key(voice.version(), *BABBLE_VOICES, *babble_sentences()).hex()
    path = folder / f"babble-{key}.npy"
    if path.exists():
        return np.asarray(np.load(path), np.int16)
    bank = babble_bank()
    with replacing(path) as out:
        np.save(out, bank)
    return bank
