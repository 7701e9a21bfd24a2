"""The audio channel, with real voices and a real recogniser: the same words each time, and every fault is told."""

from __future__ import annotations

import os
import stat
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fit_confusions import known_words
from dstress.errors import DstressError, MissingExtraError, UnknownNameError
from dstress.stressors.speech import recognizers, voice
from dstress.stressors.speech.channel import (
    HEARD_NOTHING,
    NOTHING_SAID,
    SILENT,
    TALKERS,
    TOO_LONG,
    BlobCache,
    Channel,
    ChannelPool,
    Conditions,
    Recognition,
    Speaker,
    add_noise,
    babble,
    babble_bank,
    draw_speaker,
    level,
    pack_audio,
    unpack_audio,
    white,
)
from dstress.stressors.speech.recognizers import Sphinx, dictionary_in, excluded_prefixes
from dstress.stressors.speech.spoken import total, word_errors, words
from dstress.text.utterance import content_key
from tests.parts import need

UTTERANCES = [
    ("I need a train to Cambridge after 17:15, please.", Speaker("slt", 1)),
    ("Is there a cheap hotel in the north?", Speaker("rms", 2)),
    ("Thank you, goodbye!", Speaker("awb", 3)),
]

MORE = [
    "Do you have any nightlife attractions and what type of venue in the west area?",
    "I'm looking for something expensive and in the southern part of town.",
    "I am looking for a vegetarian restaurant, can you help me?",
    "I'm looking for a train that goes to Kings Lynn and departs from Cambridge.",
    "Yes, please book the restaurant for Wednesday for one person at 14:40.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the module: what was heard once is not heard again."""
    for part in ("flite", "pocketsphinx"):
        need(part)
    return tmp_path_factory.mktemp("speech")


def test_clean_speech_is_mostly_understood(folder: Path) -> None:
    heard = Channel(folder, Conditions()).transmit(UTTERANCES)
    pairs = zip(UTTERANCES, heard, strict=True)
    assert total(word_errors(words(text), one.text.split()) for (text, _), one in pairs).rate < 0.35


def test_neither_order_nor_process_nor_neighbours_change_what_is_heard(folder: Path, tmp_path: Path) -> None:
    noisy = Conditions(snr=29.0, noise="white")
    several = [*UTTERANCES, *((text, Speaker("awb", 10 + place)) for place, text in enumerate(MORE))]
    forwards = Channel(folder, noisy).transmit(several)
    backwards = Channel(tmp_path / "back", noisy).transmit(several[::-1])
    assert backwards[::-1] == forwards
    with ChannelPool(tmp_path / "apart", processes=2) as pool:
        assert pool.transmit(several, noisy) == forwards


def test_noise_makes_errors(folder: Path) -> None:
    rates = []
    for snr in (None, 10.0):
        heard = Channel(folder, Conditions(snr)).transmit(UTTERANCES)
        pairs = zip(UTTERANCES, heard, strict=True)
        rates.append(sum(word_errors(words(text), one.text.split()).errors for (text, _), one in pairs))
    assert rates[1] > rates[0] + 3


def test_what_was_heard_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Channel(folder, Conditions()).transmit(UTTERANCES)
    monkeypatch.setattr(Sphinx, "recognize", lambda *_: pytest.fail("heard again"))
    monkeypatch.setattr(voice, "speak", lambda *_: pytest.fail("spoken again"))
    assert Channel(folder, Conditions()).transmit(UTTERANCES[::-1]) == first[::-1]


def test_what_cannot_be_spoken_or_heard_is_told(folder: Path) -> None:
    by = Speaker("slt", 1)
    channel = Channel(folder, Conditions())
    found = channel.transmit([("🙂", by), ("", by), ("\x00\x07", by), ("well " * 10_000, by)])
    assert [one.problem for one in found] == [NOTHING_SAID, NOTHING_SAID, NOTHING_SAID, TOO_LONG]


def test_nothing_heard_is_kept_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sphinx, "recognize", lambda *_: "")
    asked = [("Mmm.", Speaker("slt", 1))]
    assert Channel(folder, Conditions()).transmit(asked) == [Recognition("", HEARD_NOTHING)]
    monkeypatch.setattr(Sphinx, "recognize", lambda *_: pytest.fail("heard again"))
    assert Channel(folder, Conditions()).transmit(asked) == [Recognition("", HEARD_NOTHING)]


def test_speed_changes_the_length(folder: Path) -> None:
    slow, fast = (len(voice.speak("is there a cheap hotel in the north?", "slt", speed)) for speed in (0.8, 1.25))
    assert 1.4 < slow / fast < 1.7


def test_a_turn_keeps_its_voice_and_noise() -> None:
    assert draw_speaker(Random(4), ["slt", "rms"]) == draw_speaker(Random(4), ["slt", "rms"])
    assert len({draw_speaker(Random(seed), ["slt", "rms", "awb"]).voice for seed in range(20)}) == 3


def test_some_words_are_never_heard(folder: Path) -> None:
    path = dictionary_in(folder)
    kept = {line.split()[0] for line in Path(path).read_text().splitlines()}
    assert "hotel" in kept and len(kept) > 100_000
    assert not [word for word in kept if word.startswith(excluded_prefixes())]
    assert "hotel" in known_words(folder)


# --- noise ---


@pytest.mark.parametrize("snr", [-5.0, 0.0, 20.0])
def test_the_noise_is_as_loud_as_asked(snr: float) -> None:
    tone = (2000 * np.sin(np.arange(32_000) / 5)).astype(np.int16)
    noisy = add_noise(tone, white(len(tone), 7), snr)
    power = np.mean((noisy.astype(float) - tone) ** 2)
    assert 10 * np.log10(level(tone) / power) == pytest.approx(snr, abs=0.3)


def test_pauses_do_not_make_speech_softer() -> None:
    tone = (2000 * np.sin(np.arange(32_000) / 5)).astype(np.int16)
    paused = np.concatenate([tone, np.zeros(64_000, np.int16)])
    assert level(paused) == pytest.approx(level(tone), rel=0.01)
    assert level(np.zeros(0, np.int16)) == 0.0


def test_white_noise_is_the_same_in_every_version_of_numpy() -> None:
    assert white(3, 5) == pytest.approx([0.44122749, -0.33087015, 2.43077119])


def test_babble_is_many_people_and_none(folder: Path) -> None:
    bank = babble_bank(lambda text, name: voice.speak(text[:12], name))
    one, same, other = (babble(16_000, seed, bank) for seed in (1, 1, 2))
    assert np.array_equal(one, same) and not np.array_equal(one, other)
    assert np.mean(one**2) == pytest.approx(1)
    assert TALKERS > 3
    assert len(babble(3 * len(bank), 1, bank)) == 3 * len(bank)


# --- what is kept ---


@given(st.lists(st.integers(-32768, 32767), max_size=300))
def test_audio_is_kept_to_the_bit(samples: list[int]) -> None:
    audio = np.array(samples, np.int16)
    assert np.array_equal(unpack_audio(pack_audio(audio)), audio)


def _put_many(path: Path, start: int) -> int:
    table = BlobCache(path)
    for number in range(start, start + 50):
        table.put(content_key(number), b"%d" % number)
    return start


@pytest.mark.slow
def test_processes_share_a_table(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        list(pool.map(_put_many, [path] * 4, [0, 25, 50, 75]))
    table = BlobCache(path)
    assert [table.get(content_key(number)) for number in range(125)] == [b"%d" % number for number in range(125)]


def test_a_full_table_takes_no_more(tmp_path: Path) -> None:
    table = BlobCache(tmp_path / "kept.sqlite", most_bytes=1)
    table.put(b"a", b"1")
    assert table.get(b"a") is None


def test_a_broken_table_is_told(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(DstressError, match="delete the file") as told:
        BlobCache(path)
    assert told.value.where == str(path)


# --- programs that are missing, die or hang ---


def _program(folder: Path, name: str, lines: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{lines}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_no_flite_is_told_before_any_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match=r"(?s)flite.*apt install flite.*brew install flite"):
        voice.check_voices(["slt"])


def test_a_voice_that_is_not_there_is_told(folder: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown voice 'stl'; did you mean 'slt'"):
        voice.check_voices(["slt", "stl"])
    voice.check_voices(["slt", "rms", "awb"])


def test_no_pocketsphinx_is_told_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognizers, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"(?s)pocketsphinx.*dstress\[speech\]"):
        Sphinx().check()


@pytest.mark.parametrize("fault", ["raise SystemExit(3)", "import time; time.sleep(60)", "print('no audio')", ""])
def test_a_voice_that_fails_is_tried_again_and_given_up(
    fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    need("pocketsphinx")
    _program(tmp_path / "bin", "flite", f"open({str(tmp_path / 'tries')!r}, 'a').write('x')\n{fault}")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(voice, "PATIENCE", 2.0)
    monkeypatch.setattr(voice, "version", lambda: "flite-test")
    [heard] = Channel(tmp_path / "cache", Conditions()).transmit([("hello", Speaker("slt", 1))])
    assert heard == Recognition("", SILENT)
    assert (tmp_path / "tries").read_text() == "xx"
