"""The stressor `speech_text`: the channel's confusions without audio."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from benchmarks import fit_confusions
from benchmarks.fit_confusions import fit_texts
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Turn
from dstress.errors import SpecError
from dstress.pipeline.stress import stress
from dstress.stressors import stressors
from dstress.stressors.speech import confusions
from dstress.stressors.speech.confusions import Vocabulary, blend, shipped, shipped_file
from dstress.stressors.speech.recognizers import RecognizerName, Sphinx
from dstress.stressors.speech.spoken import WordErrors, total, word_errors, words
from tests.parts import need
from tests.stressors.samples import in_memory, sample
from tests.stressors.speech.test_stressor import documented


def errors(corpus: Corpus) -> WordErrors:
    turns = [turn for dialogue in corpus for turn in dialogue.turns]
    return total(word_errors(words(turn.original.user), words(turn.user)) for turn in turns)


@pytest.mark.parametrize("spec", ["speech_text(wer=0)", "speech_text(wer=1)", "speech_text(recognizer=none)"])
def test_bad_arguments_are_told(spec: str) -> None:
    with pytest.raises(SpecError):
        stressors.create(spec)


RECOGNIZERS = get_args(RecognizerName)


@pytest.mark.slow
@pytest.mark.parametrize("recognizer", RECOGNIZERS)
@pytest.mark.parametrize("wer", [0.1, 0.3, 0.5])
def test_rate_and_mix_are_the_channels_on_turns_it_was_not_set_on(wer: float, recognizer: RecognizerName) -> None:
    """Set on the first utterances, measured on all of `reminder`'s test split."""
    found = errors(stress(load("reminder:test"), f"speech_text(wer={wer}, recognizer={recognizer})"))
    assert found.rate == pytest.approx(wer, abs=0.03)
    assert found.mix == pytest.approx(blend(shipped(recognizer).levels["white"], wer).mix, abs=0.05)


@pytest.mark.parametrize("recognizer", RECOGNIZERS)
@pytest.mark.parametrize("noise", ["white", "babble"])
def test_rate_and_mix_hold_on_a_corpus_that_it_was_not_fitted_on(
    shared: Path, noise: str, recognizer: RecognizerName
) -> None:
    corpus = load(f"{shared / 'data' / 'multiwoz21-raw'}:test").take(150)
    found = errors(stress(corpus, f"speech_text(noise={noise}, recognizer={recognizer})"))
    assert found.rate == pytest.approx(0.3, abs=0.03)
    assert found.mix == pytest.approx(blend(shipped(recognizer).levels[noise], 0.3).mix, abs=0.05)


def test_words_change_and_the_state_stays() -> None:
    said = ("I need a hotel in the north.", "", "🙂", "At 17:15, please!", "well " * 10_000)
    turns = tuple(Turn(user=text, state={"hotel-area": ("north",)}) for text in said)
    corpus = in_memory([Dialogue("d", turns)], sample("reminder", None).schema)
    [dialogue] = stress(corpus, "speech_text")
    assert [turn.state for turn in dialogue.turns] == [turn.state for turn in turns]
    assert dialogue.turns[1].user == "" and dialogue.turns[2].user == "🙂"
    assert 2_000 < len(dialogue.turns[4].user.split()) < 20_000


def test_an_empty_corpus_is_fine() -> None:
    assert list(stress(in_memory([], sample("reminder", None).schema), "speech_text")) == []


@pytest.mark.parametrize("recognizer", RECOGNIZERS)
def test_the_model_that_is_shipped_is_small_and_heard_enough(recognizer: RecognizerName) -> None:
    path = Path(confusions.__file__).parent / shipped_file(recognizer)
    assert path.stat().st_size < 250_000
    model = shipped(recognizer)
    for levels in model.levels.values():
        assert levels[0].wer < 0.25 < 0.3 < levels[-1].wer
    assert sum(times for times, _ in model.words.values()) > 3_000
    assert "hotel" in Vocabulary(model.vocabulary) and "wandlebury" not in Vocabulary(model.vocabulary)


def test_it_can_be_fitted_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("flite")
    need("pocketsphinx")
    monkeypatch.setattr(fit_confusions, "LEVELS", {Sphinx: {"white": (None, 15.0)}})
    texts = sorted(turn.user for dialogue in sample("reminder", None) for turn in dialogue.turns)[:8]
    made = fit_texts(texts, tmp_path, Sphinx())
    clean, noisy = made.levels["white"]
    assert clean.wer < noisy.wer
    assert len(made.words.keys() & {word for text in texts for word in words(text)}) > 10


def test_the_documented_examples_are_true() -> None:
    examples = documented("speech_text")
    assert len(examples) >= 3
    for spec in {spec for spec, _, _ in examples}:
        stressed = stress(sample("reminder", None), spec)
        said = {turn.original.user: turn.user for dialogue in stressed for turn in dialogue.turns}
        wanted = {before: after for told, before, after in examples if told == spec}
        assert {before: said[before] for before in wanted} == wanted
