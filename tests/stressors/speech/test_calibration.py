"""The search for a noise level, on curves that stand in for the channel; test_speech.py has the channel itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dstress.errors import DstressError
from dstress.stressors.speech import voice
from dstress.stressors.speech.calibration import (
    SAMPLES,
    Calibration,
    calibrate,
    calibration_path,
    count_word_errors,
    read_calibration,
)
from dstress.stressors.speech.channel import ChannelPool, Conditions, Recognition, Speaker
from dstress.stressors.speech.recognizers import Sphinx

BY = Speaker("slt", 1)


class Curve(ChannelPool):
    """Hears so many words wrong as a curve says."""

    def __init__(self, rate: Callable[[float | None], float]) -> None:
        self.rate, self.trials = rate, [0]

    def transmit(self, utterances: Sequence[tuple[str, Speaker]], conditions: Conditions) -> list[Recognition]:
        self.trials.append(len(utterances))
        count = sum(len(text.split()) for text, _ in utterances)
        wrong = round(self.rate(conditions.snr) * count)
        heard = []
        for text, _ in utterances:
            words = text.split()
            bad = min(wrong, len(words))
            wrong -= bad
            heard.append(Recognition(" ".join(["oops"] * bad + words[bad:])))
        return heard


def curve(clean: float, middle: float, width: float) -> Callable[[float | None], float]:
    def rate(snr: float | None) -> float:
        return clean if snr is None else clean + (1 - clean) / (1 + math.exp((snr - middle) / width))

    return rate


def utterances(count: int) -> list[tuple[str, Speaker]]:
    return [("well i need a hotel today", BY)] * count


@given(
    st.floats(0.01, 0.25), st.floats(0, 40), st.floats(0.8, 8), st.floats(0.05, 0.6), st.sampled_from([50, 300, 3000])
)
@example(clean=0.125, middle=0.0, width=1.25, above=0.5625, count=50)  # steeper than the search believes
def test_any_reachable_rate_is_found(clean: float, middle: float, width: float, above: float, count: int) -> None:
    target = clean + above
    pool = Curve(curve(clean, middle, width))
    found = calibrate(utterances(count), Conditions(), pool, target, 1, lambda *_: None)
    assert found.wer == pytest.approx(target, abs=0.015)
    assert curve(clean, middle, width)(found.snr) == pytest.approx(target, abs=0.02)
    assert sum(size == min(count, SAMPLES[-1]) for size in pool.trials) < 16
    assert found.utterances == min(count, SAMPLES[-1])


def test_a_rate_below_the_clean_one_is_told_with_a_way_out() -> None:
    with pytest.raises(DstressError, match=r"(?s)5% cannot be reached: without any noise it is 17\..*whisper"):
        calibrate(utterances(50), Conditions(), Curve(curve(0.17, 20, 3)), 0.05, 1, lambda *_: None)


def test_progress_is_told() -> None:
    told: list[tuple[str, int]] = []
    calibrate(utterances(50), Conditions(), Curve(curve(0.1, 20, 3)), 0.3, 1, lambda *line: told.append(line))
    assert told[0] == ("50 utterances without noise, word error rate 10.0%", 1)
    assert [number for _, number in told] == list(range(1, len(told) + 1))


def test_a_turn_that_stays_has_no_errors() -> None:
    said = [("a hotel", BY), ("a train", BY)]
    errors = count_word_errors(said, [Recognition("", "the recogniser heard nothing"), Recognition("a rain")])
    assert (errors.words, errors.errors) == (4, 1)


def test_calibrations_are_kept_by_all_that_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(voice, "version", lambda: "1.0")
    monkeypatch.setattr(Sphinx, "version", lambda _: ("1.0",))
    found = Calibration(0.3, 27.5, 0.302, 100, 1)
    path = calibration_path(tmp_path, Conditions(snr=3.0), ["slt"], 0.3, ["a", "b"])
    path.parent.mkdir()
    path.write_bytes(msgspec.json.encode(found))
    assert read_calibration(path) == found
    assert calibration_path(tmp_path, Conditions(), ["slt"], 0.3, ["a", "b"]) == path
    others = [
        calibration_path(tmp_path, Conditions(noise="babble"), ["slt"], 0.3, ["a", "b"]),
        calibration_path(tmp_path, Conditions(), ["rms"], 0.3, ["a", "b"]),
        calibration_path(tmp_path, Conditions(), ["slt"], 0.31, ["a", "b"]),
        calibration_path(tmp_path, Conditions(), ["slt"], 0.3, ["a", "c"]),
    ]
    monkeypatch.setattr(Sphinx, "version", lambda _: ("2.0",))
    others.append(calibration_path(tmp_path, Conditions(), ["slt"], 0.3, ["a", "b"]))
    assert path not in others
    assert [read_calibration(other) for other in others] == [None] * 5
    path.write_bytes(b"{broken")
    assert read_calibration(path) is None
