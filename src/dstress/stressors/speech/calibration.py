"""Find the noise that makes the channel reach a word error rate.

More noise, more errors: the search goes by the curve's slope on a small sample of the corpus's own utterances, and then
measures on a larger one, the whole of a small corpus. Every utterance has the voice and the noise that it will have
when the corpus is stressed, so what was heard last need not be heard again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import msgspec

from dstress.dialogue import Dialogue
from dstress.errors import DstressError
from dstress.stressors.speech import voice
from dstress.stressors.speech.channel import ChannelPool, Conditions, Recognition, Spoken
from dstress.stressors.speech.recognizers import Sphinx
from dstress.stressors.speech.spoken import WordErrors, total, word_errors, words
from dstress.text.utterance import content_key

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

Progress = Callable[[str, int], None]
"""Called after each trial: what was measured, and how many trials there were."""


class Calibration(msgspec.Struct, frozen=True):
    """A noise level that was found, and the word error rate that was measured there over so many utterances."""

    target: float
    snr: float
    wer: float
    utterances: int
    seed: int


Sample = list[tuple[str, Dialogue, int]]
"""User utterances, each with its dialogue and its turn."""


def draw_sample(dialogues: Iterable[Dialogue], most: int) -> Sample:
    """At most so many utterances, the same for every order of dialogues: those whose places have the smallest hashes.

    The first ones of a sample are a sample too.
    """
    utterances = ((turn.user, dialogue, number) for dialogue in dialogues for number, turn in enumerate(dialogue.turns))
    return heapq.nsmallest(
        most, utterances, key=lambda place: (content_key("drawn", place[1].id, place[2]), place[1].id, place[2])
    )


def count_word_errors(utterances: Spoken, recognitions: Sequence[Recognition]) -> WordErrors:
    """Word errors as the stressed corpus will have them: a turn of which nothing was heard stays as it was."""
    return total(
        word_errors(words(text), words(text if recognition.problem else recognition.text))
        for (text, _), recognition in zip(utterances, recognitions, strict=True)
    )


def calibrate(
    utterances: Spoken, conditions: Conditions, pool: ChannelPool, target: float, seed: int, on_progress: Progress
) -> Calibration:
    """The noise level for a word error rate; `seed` is the one that the utterances were given their voices with."""
    trials = count(1)

    def measure(size: int, snr: float | None) -> float:
        sample = utterances[:size]
        rate = count_word_errors(sample, pool.transmit(sample, conditions._replace(snr=snr))).rate
        level = "without noise" if snr is None else f"at {snr:.2f} dB"
        on_progress(f"{len(sample)} utterances {level}, word error rate {rate:.1%}", next(trials))
        return rate

    clean = measure(SAMPLES[0], None)
    if clean > target - 0.005:
        without = "; recognizer=whisper hears better" if conditions.recognizer == Sphinx() else ""
        raise DstressError(
            f"a word error rate of {target:.0%} cannot be reached: without any noise it is {clean:.1%} already",
            fix=f"ask for more than {clean:.0%}{without}",
        )
    snr, rate, slope = FIRST_GUESS, target, _SLOPE
    for size, close in zip(SAMPLES, CLOSE, strict=True):
        is_last = size >= len(utterances)
        snr, rate, slope = _search(partial(measure, size), CLOSE[-1] if is_last else close, target, snr, slope)
        if is_last:
            break
    return Calibration(target, snr, rate, min(SAMPLES[-1], len(utterances)), seed)


def _search(
    measure: Callable[[float], float], close: float, target: float, at: float, slope: float
) -> tuple[float, float, float]:
    """The nearest level that is found, the rate there and the curve's slope.

    Newton's steps with the slope of the last two points, kept between a level too loud and one too soft. A small sample
    may jump over the target; then the nearest level is the answer.
    """
    loud, soft = LOUDEST, SOFTEST
    tried: list[tuple[float, float]] = []
    widths = [soft - loud]
    while len(tried) < _MOST_TRIALS and soft - loud > _FINEST:
        rate = measure(at)
        if tried and tried[-1][0] != at:
            last, last_rate = tried[-1]
            slope = min(_FLATTEST, max(_STEEPEST, (rate - last_rate) / (at - last)))
        tried.append((at, rate))
        if abs(rate - target) <= close:
            break
        loud, soft = (at, soft) if rate > target else (loud, at)
        step = at + max(-_LONGEST_STEP, min(_LONGEST_STEP, (target - rate) / slope))
        widths.append(soft - loud)
        is_between = loud > LOUDEST and soft < SOFTEST
        # A step that leaves the bracket would try a level that is known to be wrong, and where the curve is steeper
        # than is believed steps go to and fro between its ends: halve the bracket instead.
        is_slow = is_between and widths[-1] > widths[-3] / 2
        at = round(step if loud < step < soft and not is_slow else (loud + soft) / 2, 2)
    nearest, nearest_rate = min(tried, key=lambda point: abs(point[1] - target))
    return nearest, nearest_rate, slope


def calibration_path(
    folder: Path, conditions: Conditions, voices: Sequence[str], wer: float, texts: Sequence[str]
) -> Path:
    """Where a calibration is kept: by channel, voices, target and utterances."""
    programs = (voice.version(), *conditions.recognizer.version())
    key = content_key(programs, conditions._replace(snr=None), *voices, f"{wer:.4f}", *texts).hex()
    return folder / "calibrations" / f"{key}.json"


def read_calibration(path: Path) -> Calibration | None:
    """What was found earlier; None where there is nothing, or nothing that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Calibration)
    except (OSError, msgspec.DecodeError):
        return None
