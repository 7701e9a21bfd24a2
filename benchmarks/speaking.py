"""The audio channel and its copy in text: speed, word error rate, and whether the two make the same errors.

With the real corpora beside the repository, MultiWOZ's test split too; else the embedded corpus alone.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.timing import best_of, shared
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.stressors.speech import spoken
from dstress.stressors.speech.calibration import count_word_errors, draw_sample
from dstress.stressors.speech.channel import ChannelPool, Conditions, Noise, draw_speaker
from dstress.stressors.speech.confusions import shipped
from dstress.stressors.speech.mishearing import Mishearing
from dstress.stressors.speech.spoken import WordErrors, words
from dstress.stressors.speech.voice import VOICES
from dstress.text.utterance import random_for

UTTERANCES = int(os.environ.get("UTTERANCES", "150"))
NOISES: tuple[tuple[Noise, float | None], ...] = (("white", None), ("white", 30.0), ("white", 27.0), ("babble", 22.0))
TUNED_ON, MOST = 600, 3_000
FASTEST = 5_000


def run() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(os.environ.get("SPEECH_CACHE", scratch))
        _compare(load("reminder:test"), folder)
        real = shared("data/multiwoz21-raw")
        if real is not None:
            _compare(load(f"{real}:test"), folder)


def _compare(corpus: Corpus, folder: Path) -> None:
    """The copy is set on other utterances of the corpus, as `speech_text` is, and measured on these."""
    every = [turn.user for dialogue in corpus for turn in dialogue.turns if words(turn.user)]
    texts = [text for text, _, _ in draw_sample(corpus, UTTERANCES) if words(text)]
    chosen = set(texts)
    others = [words(text) for text in every if text not in chosen][:TUNED_ON]
    utterances = [(text, draw_speaker(random_for("bench", text), VOICES)) for text in texts]
    spoken_words = [words(text) for text in texts]
    with ChannelPool(folder) as pool:
        for noise, snr in NOISES:
            start = time.perf_counter()
            heard = pool.transmit(utterances, Conditions(snr, noise))
            speed = len(utterances) / (time.perf_counter() - start)
            channel = count_word_errors(utterances, heard)
            model = Mishearing(shipped("pocketsphinx"), noise, channel.rate)
            model.tune(others)
            copy = model.measure(spoken_words)
            name = f"{corpus.name} {noise}, {'no noise' if snr is None else f'{snr:g} dB'}"
            print(f"{name:<40} channel {_describe(channel)}   {speed:.1f} utterances/s over {pool.processes} processes")
            print(f"{'':<40} copy    {_describe(copy)}   {_verdict(channel, copy)}")
    _speed(model, every[:MOST])


def _describe(errors: WordErrors) -> str:
    mix = " ".join(f"{share:5.1%}" for share in errors.mix)
    return f"word error rate {errors.rate:5.1%} (substituted, deleted, inserted {mix})"


def _verdict(channel: WordErrors, copy: WordErrors) -> str:
    mix = max(abs(one - other) for one, other in zip(channel.mix, copy.mix, strict=True))
    fine = abs(channel.rate - copy.rate) <= 0.03 and mix <= 0.05
    return (
        f"off by {abs(channel.rate - copy.rate):.1%} and {mix:.1%} (at most 3 % and 5 %: {'ok' if fine else 'TOO FAR'})"
    )


def _speed(model: Mishearing, texts: Sequence[str]) -> None:
    def work() -> None:
        spoken.speak_out.cache_clear()
        for place, text in enumerate(texts):
            model.mishear(words(text), random_for(place))

    speed = len(texts) / best_of(3, work)
    verdict = "ok" if speed >= FASTEST else "TOO SLOW"
    print(f"{'speech_text, one core':<40} {speed:,.0f} utterances/s (at least {FASTEST:,}: {verdict})")


if __name__ == "__main__":
    run()
