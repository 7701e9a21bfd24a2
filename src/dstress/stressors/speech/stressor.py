"""Speech errors by a real audio channel, after RADDLE (Peng et al. 2021, section 4.2), or by its own confusions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from dstress.dialogue import Dialogue, Schema
from dstress.errors import DstressError, SpecError, unknown
from dstress.resources import Resources
from dstress.stressors.base import LONGEST, Outcome, TurnStressor, Unchanged
from dstress.stressors.speech import calibration, channel, confusions
from dstress.stressors.speech.language_model import domain_language
from dstress.stressors.speech.mishearing import Mishearing, write_errors
from dstress.stressors.speech.recognizers import RecognizerName, make_recognizer
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
    `noise` is white, or babble of six people. Each turn has one of the `voices`. `lm` names a training corpus whose
    language the recogniser learns first. `wer` uses the noise level that `--calibrate wer=0.30` found and stored.
    `recognizer=whisper` listens with a Whisper `model`: a folder, or a name that faster-whisper downloads. Turns are
    tagged `recoverable` if what the label takes from them can still be told from what was heard, else `lost`.
    """

    heavy = True
    needs = ("flite", "pocketsphinx")

    def __init__(
        self,
        snr: float | None = None,
        noise: channel.Noise = "white",
        voices: tuple[str, ...] = VOICES,
        speed: float = 1.0,
        lm: str | None = None,
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
        if lm is not None and recognizer == "whisper":
            raise SpecError("speech: whisper learns no language from lm", fix="leave lm out, or whisper")
        self.voices, self.lm, self.wer = tuple(voices), lm, wer
        self.conditions = channel.Conditions(snr, noise, speed, make_recognizer("speech", recognizer, model))

    def key(self) -> str:
        """The same for every level of noise: each turn keeps its voice and the course of its noise."""
        return "speech"

    def reads(self, train: str) -> tuple[str, ...]:
        """The corpus that it learns how people speak from."""
        return (self.lm,) if self.lm else ()

    def prepare(self, resources: Resources) -> None:
        """Look for program, voices and package; learn the domain's language; look up a calibration."""
        super().prepare(resources)
        check_voices([*self.voices, *(VOICES if self.conditions.noise == "babble" else ())])
        self.conditions.recognizer.check()
        self.folder = resources.folder / "speech"
        if self.lm is not None:
            texts = (turn.user for dialogue in resources.load(self.lm) for turn in dialogue.turns)
            self.conditions = self.conditions._replace(recognizer=domain_language(self.folder, texts))
        if self.wer is not None:
            _, stored = self._stored(self.wer, calibration.draw_sample(resources.corpus, calibration.SAMPLES[-1]))
            if stored is None:
                raise DstressError(
                    f"no noise level is stored for a word error rate of {self.wer:.0%} on these dialogues",
                    fix=f"find it first: dstress stress CORPUS:SPLIT --with speech --calibrate wer={self.wer:g} --out "
                    "DIR, with the same noise, voices, speed, lm and limit; or give snr= yourself",
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
            channel.save_json(path, stored)
        return {"snr": stored.snr}

    def _stored(self, wer: float, sample: calibration.Sample) -> tuple[Path, calibration.Calibration | None]:
        """Where the noise level for these utterances is kept, and what is there."""
        texts = [text for text, _, _ in sample]
        path = calibration.calibration_path(self.folder, self.conditions, self.voices, wer, texts)
        return path, channel.load_json(path, calibration.Calibration)


class SpeechText(MisheardSpeech):
    """A recogniser's confusions without the audio, at a word error rate; the state stays as it was.

    A model of what `speech` does to words, fitted on its output: which words are confused, dropped and added, alone and
    together. It needs no voice and no recogniser. `noise` is the kind of noise whose errors it copies, `recognizer` who
    makes them: `whisper` or `pocketsphinx`. `fit` names a corpus on which it is fitted anew, through the real channel,
    with so many `utterances`, for Whisper with a `model`. Turns are tagged `recoverable` or `lost`, as by `speech`.
    """

    def __init__(
        self,
        wer: float = 0.3,
        noise: channel.Noise = "white",
        fit: str | None = None,
        utterances: int = 500,
        recognizer: RecognizerName = "whisper",
        model: str | None = None,
    ) -> None:
        check_wer("speech_text", wer)
        if utterances < 50:
            raise SpecError(f"speech_text: {utterances} utterances are too few to fit on", fix="give at least 50")
        if model and not fit:
            raise SpecError("speech_text: only a new fit listens with a model", fix="add fit=, or leave model out")
        self.wer, self.noise, self.fit, self.utterances = wer, noise, fit, utterances
        self.recognizer, self.listener = recognizer, make_recognizer("speech_text", recognizer, model)

    def reads(self, train: str) -> tuple[str, ...]:
        """The corpus that it learns how people speak from."""
        return (self.fit,) if self.fit else ()

    def prepare(self, resources: Resources) -> None:
        """Fit, if asked to; then set rate and mix on the corpus's first utterances."""
        super().prepare(resources)
        if self.fit is None:
            fit = confusions.shipped(self.recognizer)
        else:
            check_voices(VOICES)
            self.listener.check()
            fitted_on = confusions.sample_texts(resources.load(self.fit), self.utterances)
            if not fitted_on:
                raise DstressError(f"{self.fit} says nothing to fit on", fix="name a corpus with user utterances")
            fit = confusions.complete(confusions.load_or_fit(fitted_on, resources.folder / "speech", self.listener))
        self._model = Mishearing(fit, self.noise, self.wer)
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
