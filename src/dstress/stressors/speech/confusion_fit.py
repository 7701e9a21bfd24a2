"""Fit the confusion model: send utterances through the real channel at several levels of noise, and count.

The model that comes with dstress, `confusions.json` beside this file, is the fit of 600 utterances of the embedded
corpus; `python -m benchmarks.fit_confusions` makes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from dstress.dialogue import Dialogue
from dstress.storage.atomic import replacing
from dstress.stressors.speech import recognizer, voice
from dstress.stressors.speech.audio_cache import content_key
from dstress.stressors.speech.channel import Conditions, speaker
from dstress.stressors.speech.channel_pool import Listeners
from dstress.stressors.speech.confusions import Fit, Pair, fit
from dstress.stressors.speech.noise import Noise
from dstress.stressors.speech.sample import drawn
from dstress.stressors.speech.spoken import words
from dstress.text.utterance import random_for

VOICES = ("slt", "rms", "awb")
LEVELS: dict[Noise, tuple[float | None, ...]] = {"white": (None, 31.0, 26.0), "babble": (None, 25.0, 19.0)}
"""Signal-to-noise ratios at which the channel is heard, none first: from about 15 to 50 word errors in a hundred."""

FILE = "confusions.json"
_LAYOUT = 2
"""Raised when a fit says other things than before: older ones in the data home are then made anew."""


def texts_of(corpus: Iterable[Dialogue], utterances: int) -> list[str]:
    """So many utterances of a corpus, each once."""
    return sorted({one.text for one in drawn(corpus, utterances) if words(one.text)})


def heard_pairs(
    texts: Sequence[str], listeners: Listeners, conditions: Conditions, voices: Sequence[str] = VOICES
) -> list[Pair]:
    """What was said and heard of each text, without those of which nothing was."""
    asked = [(text, speaker(random_for("fit", text), voices)) for text in texts]
    heard = listeners.hear(asked, conditions)
    return [(words(text), one.text.split()) for text, one in zip(texts, heard, strict=True) if not one.problem]


def fitted(texts: Sequence[str], folder: Path, told: Callable[[str, int], None] = lambda *_: None) -> Fit:
    """The confusion model of some texts, kept in `folder` once it is made."""
    path = folder / "fits" / f"{_key(texts)}.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Fit)
    except (OSError, msgspec.DecodeError):
        pass
    found: dict[str, list[list[Pair]]] = {}
    with Listeners(folder) as listeners:
        for noise, ratios in LEVELS.items():
            found[noise] = []
            for snr in ratios:
                found[noise].append(heard_pairs(texts, listeners, Conditions(snr, noise)))
                told(f"{noise} noise at {snr} dB", len(texts))
    made = fit(found, recognizer.known_words(recognizer.general(folder)))
    with replacing(path) as out:
        out.write(msgspec.json.encode(made))
    return made


def _key(texts: Sequence[str]) -> str:
    return content_key(_LAYOUT, voice.version(), recognizer.version(), LEVELS, *texts).hex()


@cache
def shipped() -> Fit:
    """The model that comes with dstress, of the embedded corpus."""
    return msgspec.json.decode(files(__package__).joinpath(FILE).read_bytes(), type=Fit)
