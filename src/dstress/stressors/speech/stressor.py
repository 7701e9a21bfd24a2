"""Speech errors through a real audio channel, after RADDLE (Peng et al. 2021, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dstress.dialogue import Dialogue, Schema
from dstress.errors import DstressError, SpecError, unknown
from dstress.resources import Resources
from dstress.stressors.base import Outcome, TurnStressor, Unchanged
from dstress.stressors.speech.calibration import (
    SAMPLES,
    CalibrationSearch,
    Progress,
    calibration_path,
    load_calibration,
    save_calibration,
)
from dstress.stressors.speech.channel import Channel, Conditions, draw_speaker
from dstress.stressors.speech.channel_pool import ChannelPool
from dstress.stressors.speech.language_model import domain_language
from dstress.stressors.speech.noise import BABBLE_VOICES, Noise
from dstress.stressors.speech.recognizer import RecognizerName, make_recognizer
from dstress.stressors.speech.recoverability import Recoverability
from dstress.stressors.speech.sample import SampledUtterance, draw_sample
from dstress.stressors.speech.spoken import words
from dstress.stressors.speech.voice import check_voices
from dstress.stressors.speech.word_errors import WordErrors, word_errors
from dstress.text.utterance import Utterance

SLOWEST, FASTEST = 0.5, 2.0


def count_errors(before: str, after: str) -> dict[str, int]:
    """Word errors of one utterance; what was said and what came out are compared as spoken words."""
    return dict(word_errors(words(before), words(after))._asdict())


def error_figures(counted: Mapping[str, int]) -> dict[str, float]:
    """The word error rate over all utterances, and what it is made of."""
    errors = WordErrors(**{name: counted.get(name, 0) for name in WordErrors._fields})
    names = ("wer", "wer substitutions", "wer deletions", "wer insertions")
    return dict(zip(names, (errors.rate, *(share * errors.rate for share in errors.mix)), strict=True))


def check_wer(name: str, wer: float) -> None:
    """A word error rate that can be asked for."""
    if not 0 < wer < 1:
        raise SpecError(f"{name}: wer={wer} is no word error rate", fix="give one between 0 and 1; RADDLE has 0.30")


class Speech(TurnStressor):
    """Spoken with flite, drowned in noise, and recognised with pocketsphinx or Whisper; the state stays as it was.

    `snr` is the signal-to-noise ratio in decibels; none adds no noise, and leaves only the recogniser's own mistakes.
    `noise` is white, or babble of six people. Each turn has one of the `voices`. `lm` names a training corpus whose
    language the recogniser learns first. `wer` uses the noise level that `--calibrate wer=0.30` found and stored.
    `recognizer=whisper` listens with a Whisper `model`: a folder, or a name that faster-whisper downloads. Turns are
    tagged `recoverable` if what the label takes from them can still be told from what was heard, else `lost`.
    """

    languages = ("en",)
    guarded = False
    heavy = True
    needs = ("flite", "pocketsphinx")

    def __init__(
        self,
        snr: float | None = None,
        noise: Noise = "white",
        voices: tuple[str, ...] = ("slt", "rms", "awb"),
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
        self.conditions = Conditions(snr, noise, speed, make_recognizer("speech", recognizer, model))
        self.folder = Path()
        self.channel: Channel | None = None
        self._recoverability: Recoverability | None = None

    def key(self) -> str:
        """The same for every level of noise: each turn keeps its voice and the course of its noise."""
        return "speech"

    def reads(self, train: str) -> tuple[str, ...]:
        """The corpus that it learns how people speak from."""
        return (self.lm,) if self.lm else ()

    def prepare(self, resources: Resources) -> None:
        """Look for program, voices and package; learn the domain's language; look up a calibration."""
        super().prepare(resources)
        check_voices([*self.voices, *(BABBLE_VOICES if self.conditions.noise == "babble" else ())])
        self.conditions.recognizer.check()
        self.folder = resources.folder / "speech"
        if self.lm is not None:
            texts = (turn.user for dialogue in resources.load(self.lm) for turn in dialogue.turns)
            self.conditions = self.conditions._replace(recognizer=domain_language(self.folder, texts))
        if self.wer is not None:
            self.conditions = self.conditions._replace(snr=self._calibrated_snr(resources.corpus, self.wer))
        self.channel = Channel(self.folder, self.conditions)
        self._recoverability = Recoverability(resources.corpus, resources.schema)

    def rewrite_utterances(self, utterances: Sequence[Utterance]) -> Sequence[Outcome]:
        """What the recogniser understands of each utterance."""
        if self.channel is None or self._recoverability is None:
            raise RuntimeError("speech was not prepared")
        recognitions = self.channel.transmit(
            [(utterance.text, draw_speaker(utterance.random, self.voices)) for utterance in utterances]
        )
        return [
            Unchanged(heard.problem) if heard.problem else self._recoverability.tagged(utterance, heard.text)
            for utterance, heard in zip(utterances, recognitions, strict=True)
        ]

    def calibrate(
        self,
        corpus: Iterable[Dialogue],
        target: Mapping[str, float],
        seed: int,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The noise level at which the corpus reaches a word error rate, as an argument of the spec."""
        for name in target:
            if name != "wer":
                raise unknown("target", name, ["wer"], fix="speech can be calibrated to --calibrate wer=0.30")
        wer = target["wer"]
        check_wer("speech", wer)
        sample = draw_sample(corpus, SAMPLES[-1])
        path = self._calibration_path(wer, sample)
        calibration = load_calibration(path)
        if calibration is None or calibration.seed != seed:
            # Utterances with the voice and the noise that they have when the corpus is stressed.
            utterances = []
            for sampled in sample:
                random = Utterance(sampled.dialogue, sampled.place, Schema(), (seed, self.key())).random
                utterances.append((sampled.text, draw_speaker(random, self.voices)))
            with ChannelPool(self.folder) as pool:
                search = CalibrationSearch(utterances, self.conditions, pool, progress or (lambda *_: None))
                calibration = search.run(wer, seed)
            save_calibration(path, calibration)
        return {"snr": calibration.snr}

    def counts(self, before: str, after: str) -> dict[str, int]:
        """Word errors."""
        return count_errors(before, after)

    def figures(self, counted: Mapping[str, int]) -> dict[str, float]:
        """The word error rate that was reached."""
        return error_figures(counted)

    def _calibration_path(self, wer: float, sample: Sequence[SampledUtterance]) -> Path:
        return calibration_path(self.folder, self.conditions, self.voices, wer, [sampled.text for sampled in sample])

    def _calibrated_snr(self, corpus: Iterable[Dialogue], wer: float) -> float:
        calibration = load_calibration(self._calibration_path(wer, draw_sample(corpus, SAMPLES[-1])))
        if calibration is None:
            raise DstressError(
                f"no noise level is stored for a word error rate of {wer:.0%} on these dialogues",
                fix=f"find it first: dstress stress CORPUS:SPLIT --with speech --calibrate wer={wer:g} --out DIR, with "
                "the same noise, voices, speed, lm and limit; or give snr= yourself",
            )
        return calibration.snr
