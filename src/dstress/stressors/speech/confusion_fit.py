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
from dstress.stressors.speech.channel import Conditions, draw_speaker
from dstress.stressors.speech.channel_pool import ChannelPool
from dstress.stressors.speech.confusions import Fit, Pair, fit
from dstress.stressors.speech.noise import Noise
from dstress.stressors.speech.sample import draw_sample
from dstress.stressors.speech.spoken import words
from dstress.text.utterance import random_for

VOICES = ("slt", "rms", "awb")
LEVELS: dict[Noise, tuple[float | None, ...]] = {"white": (None, 31.0, 26.0), "babble": (None, 25.0, 19.0)}
"""Signal-to-noise ratios at which the channel is heard, none first: from about 15 to 50 word errors in a hundred."""

FILE = "confusions.json"
_LAYOUT = 2
"""Raised when a fit says other things than before: older ones in the data home are then made anew."""


def sample_texts(corpus: Iterable[Dialogue], utterances: int) -> list[str]:
    """So many utterances of a corpus, each once."""
    return sorted({sampled.text for sampled in draw_sample(corpus, utterances) if words(sampled.text)})


def transmit_pairs(
    texts: Sequence[str], pool: ChannelPool, conditions: Conditions, voices: Sequence[str] = VOICES
) -> list[Pair]:
    """What was spoken and heard of each text, without those of which nothing was."""
    utterances = [(text, draw_speaker(random_for("fit", text), voices)) for text in texts]
    recognised = zip(texts, pool.transmit(utterances, conditions), strict=True)
    return [(words(text), recognition.text.split()) for text, recognition in recognised if not recognition.problem]


def load_or_fit(texts: Sequence[str], folder: Path, on_progress: Callable[[str, int], None] = lambda *_: None) -> Fit:
    """The confusion model of some texts, kept in `folder` once it is made."""
    key = content_key(_LAYOUT, voice.version(), recognizer.version(), LEVELS, *texts).hex()
    path = folder / "fits" / f"{key}.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Fit)
    except (OSError, msgspec.DecodeError):
        pass
    pairs: dict[str, list[list[Pair]]] = {}
    with ChannelPool(folder) as pool:
        for noise, ratios in LEVELS.items():
            pairs[noise] = []
            for snr in ratios:
                pairs[noise].append(transmit_pairs(texts, pool, Conditions(snr, noise)))
                on_progress(f"{noise} noise at {snr} dB", len(texts))
    model = fit(pairs, recognizer.known_words(recognizer.general_language(folder)))
    with replacing(path) as out:
        out.write(msgspec.json.encode(model))
    return model


@cache
def shipped() -> Fit:
    """The model that comes with dstress, of the embedded corpus."""
    return msgspec.json.decode(files(__package__).joinpath(FILE).read_bytes(), type=Fit)
