"""The stressor `speech`, through the real channel."""

from __future__ import annotations

import re
from collections import Counter
from importlib.metadata import version

import msgspec
import pytest

from dstress.dialogue import Dialogue, Turn
from dstress.errors import DstressError, MissingExtraError, SpecError, UnknownNameError
from dstress.pipeline.stress import calibrate_spec, stress
from dstress.stressors import stressors
from dstress.stressors.speech import recognizers, voice
from dstress.stressors.speech.spoken import total, word_errors, words
from tests.parts import IN_CI, need
from tests.paths import DOCS
from tests.stressors.samples import in_memory, sample

PAGES = DOCS / "stressors"


@pytest.fixture(autouse=True)
def _parts() -> None:
    need("flite")
    need("pocketsphinx")


def saying(*texts: str) -> Dialogue:
    return Dialogue("d", tuple(Turn(user=text, state={"hotel-area": ("north",)}) for text in texts))


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("speech(snr=500)", "out of range"),
        ("speech(speed=9)", "out of range"),
        ("speech(voices=[])", "empty"),
        ("speech(wer=1.5)", "no word error rate"),
        ("speech(snr=20, wer=0.3)", "give one of them"),
        ("speech(noise=pink)", "does not fit"),
        ("speech(model=base)", "add recognizer=whisper"),
    ],
)
def test_bad_arguments_are_told(spec: str, problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        stressors.create(spec)


def test_missing_parts_are_told_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = sample("reminder", None)
    with pytest.raises(UnknownNameError, match="voice"):
        stress(corpus, "speech(voices=[nobody])")
    monkeypatch.setattr(recognizers, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="pocketsphinx"):
        stress(corpus, "speech")
    with pytest.raises(MissingExtraError, match=r"(?s)faster-whisper.*dstress\[whisper\]"):
        stress(corpus, "speech(recognizer=whisper)")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingExtraError, match="apt install flite"):
        stress(corpus, "speech")


def test_words_change_and_the_state_stays() -> None:
    corpus = in_memory(
        [saying("I need a hotel in the north.", "", "🙂", "At 17:15, please!")], sample("reminder", None).schema
    )
    [dialogue] = stress(corpus, "speech")
    assert [turn.state for turn in dialogue.turns] == [{"hotel-area": ("north",)}] * 4
    assert dialogue.turns[0].user.startswith("i need ")
    assert dialogue.turns[1].user == "" and dialogue.turns[2].user == "🙂"
    assert dialogue.turns[2].stress is not None
    assert dialogue.turns[2].stress.fallbacks == ("nothing in it can be spoken",)
    assert dialogue.turns[3].user.islower() and ":" not in dialogue.turns[3].user


def test_the_level_of_noise_changes_neither_voice_nor_course() -> None:
    keys = {stressors.create(spec).key() for spec in ("speech", "speech(snr=20)", "speech(snr=10.5, noise=babble)")}
    assert len(keys) == 1


def test_the_achieved_rate_is_told() -> None:
    part = stressors.create("speech")
    counted = Counter(part.counts("I need 2 rooms", "i need to rooms now"))
    counted.update(part.counts("Hello there", "hello"))
    figures = part.figures(counted)
    assert figures["wer"] == pytest.approx(3 / 6)
    assert figures["wer deletions"] == pytest.approx(1 / 6)
    assert part.figures({})["wer"] == 0.0


def test_a_target_is_reached_on_the_stressed_corpus_and_looked_up_later() -> None:
    whole = sample("reminder", None)
    corpus = in_memory(list(whole)[:3], whole.schema)
    with pytest.raises(DstressError, match=r"(?s)no noise level is stored.*--calibrate wer=0.4"):
        stress(corpus, "speech(wer=0.4)")
    spec = calibrate_spec(corpus, "speech", {"wer": 0.4}, seed=5)
    assert re.fullmatch(r"speech\(snr=-?[\d.]+\)", spec)
    stressed = stress(corpus, spec, seed=5)
    turns = [turn for dialogue in stressed for turn in dialogue.turns]
    reached = total(word_errors(words(turn.original.user), words(turn.user)) for turn in turns)
    assert reached.rate == pytest.approx(0.4, abs=0.02)
    assert list(stress(corpus, "speech(wer=0.4)", seed=5)) == list(stressed)
    assert calibrate_spec(corpus, "speech", {"wer": 0.4}, seed=5) == spec


def test_another_target_is_told() -> None:
    with pytest.raises(UnknownNameError, match="target"):
        calibrate_spec(sample("reminder", None), "speech", {"jga": 0.3})


def documented(name: str) -> list[tuple[str, str, str]]:
    """The page's examples of `reminder`: a spec, then pairs of lines, before and after."""
    found = []
    for spec, block in re.findall(r"```text reminder (.*?)\n(.*?)```", (PAGES / f"{name}.md").read_text(), re.S):
        lines = [line.partition(": ")[2] for line in block.splitlines() if line.strip()]
        found += [(spec, before, after) for before, after in zip(lines[::2], lines[1::2], strict=True)]
    return found


def test_the_documented_examples_are_true() -> None:
    need("flite", "pocketsphinx")
    if (voice.version(), version("pocketsphinx")) != ("flite-2.2-current", "5.1.1") and not IN_CI:
        pytest.skip("other versions of voice and recogniser make other mistakes")
    examples = documented("speech")
    assert len({spec for spec, _, _ in examples}) >= 4
    corpus = sample("reminder", None)
    for spec in sorted({spec for spec, _, _ in examples}):
        wanted = {before: after for told, before, after in examples if told == spec}
        opening = [
            msgspec.structs.replace(each, turns=each.turns[:1]) for each in corpus if each.turns[0].user in wanted
        ]
        stressed = stress(in_memory(opening, corpus.schema), spec)
        assert {each.turns[0].original.user: each.turns[0].user for each in stressed} == wanted
