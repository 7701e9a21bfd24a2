"""Speech errors without audio: the audio channel's own confusions, for millions of turns."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from dstress.errors import DstressError, SpecError
from dstress.resources import Resources
from dstress.stressors.base import LONGEST, Outcome, TurnStressor, Unchanged
from dstress.stressors.speech.channel import HEARD_NOTHING, NOTHING_SAID
from dstress.stressors.speech.confusion_fit import VOICES, complete, load_or_fit, sample_texts, shipped
from dstress.stressors.speech.confusions import Fit
from dstress.stressors.speech.mishearing import Mishearing
from dstress.stressors.speech.noise import Noise
from dstress.stressors.speech.recognizer import RecognizerName, make_recognizer
from dstress.stressors.speech.recoverability import Recoverability
from dstress.stressors.speech.spoken import words
from dstress.stressors.speech.stressor import check_wer, count_errors, error_figures
from dstress.stressors.speech.voice import check_voices
from dstress.stressors.speech.written import write_errors
from dstress.text.utterance import Utterance

_TUNED_ON = 600
"""Utterances of the corpus on which rate and mix are set, the first ones: a large corpus need not be read twice."""


class SpeechText(TurnStressor):
    """A recogniser's confusions without the audio, at a word error rate; the state stays as it was.

    A model of what `speech` does to words, fitted on its output: which words are confused, dropped and added, alone and
    together. It needs no voice and no recogniser. `noise` is the kind of noise whose errors it copies, `recognizer` who
    makes them: `whisper` or `pocketsphinx`. `fit` names a corpus on which it is fitted anew, through the real channel,
    with so many `utterances`, for Whisper with a `model`. Turns are tagged `recoverable` or `lost`, as by `speech`.
    """

    languages = ("en",)
    guarded = False

    def __init__(
        self,
        wer: float = 0.3,
        noise: Noise = "white",
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
        self._model: Mishearing | None = None
        self._recoverability: Recoverability | None = None

    def reads(self, train: str) -> tuple[str, ...]:
        """The corpus that it learns how people speak from."""
        return (self.fit,) if self.fit else ()

    def prepare(self, resources: Resources) -> None:
        """Fit, if asked to; then set rate and mix on the corpus's first utterances."""
        super().prepare(resources)
        self._model = Mishearing(self._confusions(resources), self.noise, self.wer)
        every = (turn.user for dialogue in resources.corpus for turn in dialogue.turns)
        texts = (text for text in every if len(text) <= LONGEST)
        sample = [spoken for spoken in map(words, islice(texts, _TUNED_ON)) if spoken]
        if sample:
            self._model.tune(sample)
        self._recoverability = Recoverability(resources.corpus, resources.schema)

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """What might be heard."""
        if self._model is None or self._recoverability is None:
            raise RuntimeError("speech_text was not prepared")
        spoken = words(utterance.text)
        if not spoken:
            return Unchanged(NOTHING_SAID)
        if self._model.fit.writes:
            heard = write_errors(utterance.text, self._model.errors(spoken, utterance.random))
        else:
            heard = " ".join(self._model.mishear(spoken, utterance.random))
        if heard == utterance.text:
            return None
        is_heard = any(map(str.isalnum, heard))
        return self._recoverability.tagged(utterance, heard) if is_heard else Unchanged(HEARD_NOTHING)

    def counts(self, before: str, after: str) -> dict[str, int]:
        """Word errors."""
        return count_errors(before, after)

    def figures(self, counted: Mapping[str, int]) -> dict[str, float]:
        """The word error rate that was reached."""
        return error_figures(counted)

    def _confusions(self, resources: Resources) -> Fit:
        if self.fit is None:
            return shipped(self.recognizer)
        check_voices(VOICES)
        self.listener.check()
        texts = sample_texts(resources.load(self.fit), self.utterances)
        if not texts:
            raise DstressError(f"{self.fit} says nothing to fit on", fix="name a corpus with user utterances")
        return complete(load_or_fit(texts, resources.folder / "speech", self.listener))
