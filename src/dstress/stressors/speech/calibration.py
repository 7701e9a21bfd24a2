"""Find the noise that makes the channel reach a word error rate, and keep what was found.

More noise, more errors: the search goes by the curve's slope on a small sample of the corpus's own utterances, and then
measures on a larger one, the whole of a small corpus. Every utterance has the voice and the noise that it will have
when the corpus is stressed, so what was heard last need not be heard again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from dstress.errors import DstressError
from dstress.storage.atomic import replacing
from dstress.stressors.speech import voice
from dstress.stressors.speech.audio_cache import content_key
from dstress.stressors.speech.channel import Conditions, Recognition, Speaker
from dstress.stressors.speech.channel_pool import ChannelPool
from dstress.stressors.speech.sphinx import Sphinx
from dstress.stressors.speech.spoken import words
from dstress.stressors.speech.word_errors import WordErrors, total, word_errors

SAMPLES = (120, 400, 1600)
"""How many utterances the search, its refinement and the last measurement look at."""

CLOSE = (0.02, 0.02, 0.013)
"""How near to the target each of them must come. The last leaves room: a corpus is off by its own luck."""

FIRST_GUESS = 30.0
LOUDEST, SOFTEST = -20.0, 70.0
_MOST_TRIALS = 14
_FINEST = 0.02
_LONGEST_STEP = 10.0
_SLOPE, _FLATTEST, _STEEPEST = -0.03, -0.003, -0.08
"""Word error rate for each decibel: until the curve itself has told, and within what it is believed."""

Utterances = Sequence[tuple[str, Speaker]]
Progress = Callable[[str, int], None]
"""Called after each trial: what was measured, and how many trials there were."""


class Calibration(msgspec.Struct, frozen=True):
    """A noise level that was found, and the word error rate that was measured there over so many utterances."""

    target: float
    snr: float
    wer: float
    utterances: int
    seed: int


class _Point(NamedTuple):
    snr: float
    rate: float


class _Curve(NamedTuple):
    start: float
    slope: float


def count_word_errors(utterances: Utterances, recognitions: Sequence[Recognition]) -> WordErrors:
    """Word errors as the stressed corpus will have them: a turn of which nothing was heard stays as it was."""
    return total(
        word_errors(words(text), words(text if recognition.problem else recognition.text))
        for (text, _), recognition in zip(utterances, recognitions, strict=True)
    )


class CalibrationSearch:
    """The search for one target, on one corpus's utterances."""

    def __init__(
        self, utterances: Utterances, conditions: Conditions, pool: ChannelPool, on_progress: Progress
    ) -> None:
        self.utterances, self.conditions, self.pool, self.on_progress = utterances, conditions, pool, on_progress
        self.trials = 0

    def run(self, target: float, seed: int) -> Calibration:
        """The noise level for the target; `seed` is the one that the utterances were given their voices with."""
        self._check_reachable(target)
        nearest, slope = _Point(FIRST_GUESS, target), _SLOPE
        for size, close in zip(SAMPLES, CLOSE, strict=True):
            is_last = size >= len(self.utterances)
            nearest, slope = self._search(size, CLOSE[-1] if is_last else close, target, _Curve(nearest.snr, slope))
            if is_last:
                break
        return Calibration(target, nearest.snr, nearest.rate, min(SAMPLES[-1], len(self.utterances)), seed)

    def _check_reachable(self, target: float) -> None:
        clean = self._measure(None, SAMPLES[0])
        if clean > target - 0.005:
            without = "; lm= with a training corpus hears better" if self.conditions.recognizer == Sphinx() else ""
            raise DstressError(
                f"a word error rate of {target:.0%} cannot be reached: without any noise it is {clean:.1%} already",
                fix=f"ask for more than {clean:.0%}{without}",
            )

    def _search(self, size: int, close: float, target: float, curve: _Curve) -> tuple[_Point, float]:
        """Newton's steps with the slope of the last two points, kept between a level too loud and one too soft.

        A small sample may jump over the target; then the nearest level is the answer.
        """
        at, slope = curve
        loud, soft = LOUDEST, SOFTEST
        tried: list[_Point] = []
        widths = [soft - loud]
        while len(tried) < _MOST_TRIALS and soft - loud > _FINEST:
            point = _Point(at, self._measure(at, size))
            if tried and tried[-1].snr != at:
                slope = min(_FLATTEST, max(_STEEPEST, (point.rate - tried[-1].rate) / (at - tried[-1].snr)))
            tried.append(point)
            if abs(point.rate - target) <= close:
                break
            loud, soft = (at, soft) if point.rate > target else (loud, at)
            step = at + max(-_LONGEST_STEP, min(_LONGEST_STEP, (target - point.rate) / slope))
            widths.append(soft - loud)
            is_between = loud > LOUDEST and soft < SOFTEST
            # A step that leaves the bracket would try a level that is known to be wrong, and where the curve is steeper
            # than is believed steps go to and fro between its ends: halve the bracket instead.
            is_slow = is_between and widths[-1] > widths[-3] / 2
            at = round(step if loud < step < soft and not is_slow else (loud + soft) / 2, 2)
        return min(tried, key=lambda each: abs(each.rate - target)), slope

    def _measure(self, snr: float | None, size: int) -> float:
        """The word error rate of the first `size` utterances."""
        sample = self.utterances[:size]
        recognitions = self.pool.transmit(sample, self.conditions._replace(snr=snr))
        rate = count_word_errors(sample, recognitions).rate
        level = "without noise" if snr is None else f"at {snr:.2f} dB"
        self.trials += 1
        self.on_progress(f"{len(sample)} utterances {level}, word error rate {rate:.1%}", self.trials)
        return rate


def calibration_path(
    folder: Path, conditions: Conditions, voices: Sequence[str], wer: float, texts: Sequence[str]
) -> Path:
    """Where a calibration is kept: by channel, voices, target and utterances."""
    programs = (voice.version(), *conditions.recognizer.version())
    key = content_key(programs, conditions._replace(snr=None), *voices, f"{wer:.4f}", *texts).hex()
    return folder / "calibrations" / f"{key}.json"


def load_calibration(path: Path) -> Calibration | None:
    """A calibration that was found before."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Calibration)
    except (OSError, msgspec.DecodeError):
        return None


def save_calibration(path: Path, calibration: Calibration) -> None:
    """Keep it for the next time."""
    with replacing(path) as out:
        out.write(msgspec.json.encode(calibration))
