"""Fit the confusion model: send utterances through the real channel at several levels of noise, and count.

The models that come with dstress, one for each recogniser, lie beside this file: fits of utterances of the embedded
corpus, which `python -m benchmarks.fit_confusions` makes again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from dstress.dialogue import Dialogue
from dstress.storage.atomic import replacing
from dstress.stressors.speech import voice
from dstress.stressors.speech.audio_cache import content_key
from dstress.stressors.speech.channel import Conditions, draw_speaker
from dstress.stressors.speech.channel_pool import ChannelPool
from dstress.stressors.speech.confusions import Fit, Pair, fit
from dstress.stressors.speech.noise import Noise
from dstress.stressors.speech.recognizer import Recognizer, RecognizerName
from dstress.stressors.speech.sample import draw_sample
from dstress.stressors.speech.sphinx import Sphinx, general_language, known_words
from dstress.stressors.speech.spoken import words
from dstress.stressors.speech.vocabulary import pack_words
from dstress.stressors.speech.whisper import Whisper
from dstress.text.utterance import random_for

VOICES = ("slt", "rms", "awb")
LEVELS: dict[type[Recognizer], dict[Noise, tuple[float | None, ...]]] = {
    Sphinx: {"white": (None, 31.0, 26.0), "babble": (None, 25.0, 19.0)},
    Whisper: {"white": (None, 10.0), "babble": (None, 5.0)},
}
"""Signal-to-noise ratios at which each recogniser is heard, none first: up to about 50 word errors in a hundred."""

_LAYOUT = 3
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
    return [(words(text), words(recognition.text)) for text, recognition in recognised if not recognition.problem]


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
    try:
        return msgspec.json.decode(path.read_bytes(), type=Fit)
    except (OSError, msgspec.DecodeError):
        pass
    pairs: dict[str, list[list[Pair]]] = {}
    with ChannelPool(folder) as pool:
        for noise, ratios in levels.items():
            pairs[noise] = []
            for snr in ratios:
                pairs[noise].append(transmit_pairs(texts, pool, Conditions(snr, noise, recognizer=recognizer)))
                on_progress(f"{noise} noise at {snr} dB", len(texts))
    if isinstance(recognizer, Sphinx):
        model = fit(pairs, pack_words(known_words(general_language(folder))))
    else:
        familiar = fit(pairs, shipped("pocketsphinx").vocabulary, writes=True)
        model = msgspec.structs.replace(familiar, vocabulary="")
    with replacing(path) as out:
        out.write(msgspec.json.encode(model))
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
