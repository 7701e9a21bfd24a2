"""The domain's language model and pronunciations."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.errors import DstressError
from dstress.stressors.speech.language_model import END, START, arpa, domain_language, pronunciations
from dstress.stressors.speech.recognizers import Sphinx
from dstress.stressors.speech.voice import speak
from tests.parts import need

WORDS = ["a", "b", "c", "d"]
SENTENCES = st.dictionaries(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), st.integers(1, 5), min_size=1, max_size=20
)


class Read:
    """An ARPA file, read as a decoder reads it."""

    def __init__(self, lines: list[str]) -> None:
        self.probability: dict[tuple[str, ...], float] = {}
        self.backoff: dict[tuple[str, ...], float] = defaultdict(float)
        order = 0
        for line in "\n".join(lines).splitlines():
            if line.endswith("-grams:"):
                order = int(line[1])
            elif order and line and line[0] != "\\":
                value, *rest = line.split()
                gram = tuple(rest[:order])
                self.probability[gram] = float(value)
                if len(rest) > order:
                    self.backoff[gram] = float(rest[order])

    def of(self, gram: tuple[str, ...]) -> float:
        if gram in self.probability:
            return float(10 ** self.probability[gram])
        return float(10 ** self.backoff[gram[:-1]]) * self.of(gram[1:]) if len(gram) > 1 else 0.0


@given(SENTENCES)
def test_the_probabilities_after_any_words_sum_to_one(sentences: dict[str, int]) -> None:
    model = Read(list(arpa(sentences, WORDS)))
    said = {word for sentence in sentences for word in sentence.split()}
    for history in [(), (START,), *((word,) for word in said), *((START, word) for word in said), ("a", "b")]:
        if set(history) <= said | {START}:
            assert sum(model.of((*history, word)) for word in [*said, END]) == pytest.approx(1, abs=0.01)


def test_what_was_said_more_often_is_likelier() -> None:
    model = Read(list(arpa({"a b c": 9, "a b d": 2, "c a": 3}, WORDS)))
    assert model.of(("a", "b", "c")) > model.of(("a", "b", "d")) > model.of(("a", "b", "a"))


def test_words_that_nobody_can_pronounce_are_left_out() -> None:
    model = Read(list(arpa({"a b q": 3}, ["a", "b"])))
    assert ("q",) not in model.probability and ("a", "b") in model.probability


def test_words_that_the_dictionary_lacks_are_pronounced_by_rule() -> None:
    need("flite")
    need("pocketsphinx")
    found = pronunciations(["hotel", "cityroomz", "gastropub", "read"])
    assert found["cityroomz"] == ("S IH T IH R UW M Z",)
    assert found["gastropub"] == ("G AE S T R OW P UH B",)
    assert len(found["read"]) == 2 and len(found["hotel"]) == 1


def test_the_domains_language_is_heard_better(tmp_path: Path) -> None:
    need("flite")
    need("pocketsphinx")
    texts = ["I would like a gastropub in Fenditton.", "The cityroomz, please.", "is it a gastropub?"] * 3
    language = domain_language(tmp_path, texts)
    made = Path(language.model).stat().st_mtime_ns
    audio = speak("i would like a gastropub in fenditton.", "slt")
    assert language.recognize(audio, tmp_path) == "i would like a gastropub in fenditton"
    assert "gastropub" not in Sphinx().recognize(audio, tmp_path)
    assert domain_language(tmp_path, texts[::-1]) == language
    assert Path(language.model).stat().st_mtime_ns == made


def test_a_corpus_that_says_nothing_makes_no_language(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="says nothing"):
        domain_language(tmp_path, ["", "🙂"])
