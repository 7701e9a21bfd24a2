"""Speech errors by a real audio channel, after RADDLE (Peng et al. 2021, section 4.2), or by its own confusions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from dstress.dialogue import Dialogue, Schema
from dstress.errors import DstressError, SpecError, unknown
from dstress.resources import Resources
from dstress.storage.atomic import replacing
from dstress.stressors.base import LONGEST, Outcome, TurnStressor, Unchanged
from dstress.stressors.speech import calibration, channel
from dstress.stressors.speech.confusions import shipped
from dstress.stressors.speech.mishearing import Mishearing, write_errors
from dstress.stressors.speech.recognizers import RecognizerName, Sphinx, Whisper
from dstress.stressors.speech.recoverability import Recoverability
from dstress.stressors.speech.spoken import WordErrors, word_errors, words
from dstress.stressors.speech.voice import VOICES, check_voices
from dstress.text.utterance import Utterance

SLOWEST, FASTEST = 0.5, 2.0

_TUNED_ON = 600
"""Utterances of the corpus on which rate and mix are set, the first ones: a large corpus need not be read twice."""


def check_wer(name: str, wer: float) -> None:
    """A word error rate that can be asked for."""
    if not 0 < wer < 1:
        raise SpecError(f"{name}: wer={wer} is no word error rate", fix="give one between 0 and 1; RADDLE has 0.30")


class MisheardSpeech(TurnStressor):
    """What the two stressors of whole utterances share: English, values that may be lost, and a word error rate."""

    languages = ("en",)
    guarded = False

    def counts(self, before: str, after: str) -> dict[str, int]:
        """Word errors of one utterance; what was said and what came out are compared as spoken words."""
        return dict(word_errors(words(before), words(after))._asdict())

    def figures(self, counts: Mapping[str, int]) -> dict[str, float]:
        """The word error rate over all utterances, and what it is made of."""
        errors = WordErrors(**{name: counts.get(name, 0) for name in WordErrors._fields})
        names = ("wer", "wer substitutions", "wer deletions", "wer insertions")
        return dict(zip(names, (errors.rate, *(share * errors.rate for share in errors.mix)), strict=True))


class Speech(MisheardSpeech):
    """Spoken with flite, drowned in noise, and recognised with pocketsphinx or Whisper; the state stays as it was.

    `snr` is the signal-to-noise ratio in decibels; none adds no noise, and leaves only the recogniser's own mistakes.
    `noise` is white, or babble of six people. Each turn has one of the `voices`. `wer` uses the noise level that
    `--calibrate wer=0.30` found and stored. `recognizer=whisper` listens with a Whisper `model`: a folder, or a name
    that faster-whisper downloads. Turns are tagged `recoverable` if what the label takes from them can still be told
    from what was heard, else `lost`.
    """

    heavy = True
    needs = ("flite", "pocketsphinx")

    def __init__(
        self,
        snr: float | None = None,
        noise: channel.Noise = "white",
        voices: tuple[str, ...] = VOICES,
        speed: float = 1.0,
        wer: float | None = None,
        recognizer: RecognizerName = "pocketsphinx",
        model: str | None = None,
    ) -> None:
        if snr is not None and not -50 <= snr <= 100:
            raise SpecError(
                f"speech: snr={snr} is out of range", fix="give decibels between -50 and 100; 30 is soft noise"
            )
        if not SLOWEST <= speed <= FASTEST:
            raise SpecError(f"speech: speed={speed} is out of range", fix=f"give {SLOWEST} to {FASTEST}; 1 is natural")
        if not voices:
            raise SpecError("speech: voices is empty", fix="name some: voices=[slt, rms, awb]")
        if snr is not None and wer is not None:
            raise SpecError("speech: snr and wer both say how much noise there is", fix="give one of them")
        if wer is not None:
            check_wer("speech", wer)
        if model and recognizer != "whisper":
            raise SpecError(f"speech: pocketsphinx has no model={model}", fix="add recognizer=whisper, or leave it out")
        self.voices, self.wer = tuple(voices), wer
        listener = Whisper(model or "base") if recognizer == "whisper" else Sphinx()
        self.conditions = channel.Conditions(snr, noise, speed, listener)

    def key(self) -> str:
        """The same for every level of noise: each turn keeps its voice and the course of its noise."""
        return "speech"

    def prepare(self, resources: Resources) -> None:
        """Look for program, voices and package; look up a calibration."""
        super().prepare(resources)
        check_voices([*self.voices, *(VOICES if self.conditions.noise == "babble" else ())])
        self.conditions.recognizer.check()
        self.folder = resources.folder / "speech"
        if self.wer is not None:
            _, stored = self._stored(self.wer, calibration.draw_sample(resources.corpus, calibration.SAMPLES[-1]))
            if stored is None:
                raise DstressError(
                    f"no noise level is stored for a word error rate of {self.wer:.0%} on these dialogues",
                    fix=f"find it first: dstress stress CORPUS:SPLIT --with speech --calibrate wer={self.wer:g} --out "
                    "DIR, with the same noise, voices, speed and limit; or give snr= yourself",
                )
            self.conditions = self.conditions._replace(snr=stored.snr)
        self._recoverability = Recoverability(resources.corpus, resources.schema)

    def rewrite_utterances(self, utterances: Sequence[Utterance]) -> Sequence[Outcome]:
        """What the recogniser understands of each utterance."""
        spoken = [(utterance.text, channel.draw_speaker(utterance.random, self.voices)) for utterance in utterances]
        recognitions = channel.transmit(self.folder, self.conditions, spoken)
        return [
            Unchanged(heard.problem) if heard.problem else self._recoverability.tagged(utterance, heard.text)
            for utterance, heard in zip(utterances, recognitions, strict=True)
        ]

    def calibrate(
        self,
        corpus: Iterable[Dialogue],
        target: Mapping[str, float],
        seed: int,
        progress: calibration.Progress | None = None,
    ) -> dict[str, Any]:
        """The noise level at which the corpus reaches a word error rate, as an argument of the spec."""
        for name in target:
            if name != "wer":
                raise unknown("target", name, ["wer"], fix="speech can be calibrated to --calibrate wer=0.30")
        wer = target["wer"]
        check_wer("speech", wer)
        sample = calibration.draw_sample(corpus, calibration.SAMPLES[-1])
        path, stored = self._stored(wer, sample)
        if stored is None or stored.seed != seed:
            # Utterances with the voice and the noise that they have when the corpus is stressed.
            utterances = [
                (
                    text,
                    channel.draw_speaker(Utterance(dialogue, turn, Schema(), (seed, self.key())).random, self.voices),
                )
                for text, dialogue, turn in sample
            ]
            with channel.ChannelPool(self.folder) as pool:
                on_progress = progress or (lambda *_: None)
                stored = calibration.calibrate(utterances, self.conditions, pool, wer, seed, on_progress)
            with replacing(path) as out:
                out.write(msgspec.json.encode(stored))
        return {"snr": stored.snr}

    def _stored(self, wer: float, sample: calibration.Sample) -> tuple[Path, calibration.Calibration | None]:
        """Where the noise level for these utterances is kept, and what is there."""
        texts = [text for text, _, _ in sample]
        path = calibration.calibration_path(self.folder, self.conditions, self.voices, wer, texts)
        return path, calibration.read_calibration(path)


class SpeechText(MisheardSpeech):
    """A recogniser's confusions without the audio, at a word error rate; the state stays as it was.

    A model of what `speech` does to words, fitted on its output: which words are confused, dropped and added, alone and
    together. It needs no voice and no recogniser. `noise` is the kind of noise whose errors it copies, `recognizer` who
    makes them: `whisper` or `pocketsphinx`. Turns are tagged `recoverable` or `lost`, as by `speech`.
    """

    def __init__(
        self, wer: float = 0.3, noise: channel.Noise = "white", recognizer: RecognizerName = "whisper"
    ) -> None:
        check_wer("speech_text", wer)
        self.wer, self.noise, self.recognizer = wer, noise, recognizer

    def prepare(self, resources: Resources) -> None:
        """Set rate and mix on the corpus's first utterances."""
        super().prepare(resources)
        self._model = Mishearing(shipped(self.recognizer), self.noise, self.wer)
        every = (turn.user for dialogue in resources.corpus for turn in dialogue.turns)
        texts = (text for text in every if len(text) <= LONGEST)
        sample = [spoken for spoken in map(words, islice(texts, _TUNED_ON)) if spoken]
        if sample:
            self._model.tune(sample)
        self._recoverability = Recoverability(resources.corpus, resources.schema)

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """What might be heard."""
        spoken = words(utterance.text)
        if not spoken:
            return Unchanged(channel.NOTHING_SAID)
        if self._model.fit.writes:
            heard = write_errors(utterance.text, self._model.errors(spoken, utterance.random))
        else:
            heard = " ".join(self._model.mishear(spoken, utterance.random))
        if heard == utterance.text:
            return None
        is_heard = any(map(str.isalnum, heard))
        return self._recoverability.tagged(utterance, heard) if is_heard else Unchanged(channel.HEARD_NOTHING)
