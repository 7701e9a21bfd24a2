"""Words outside the protected ranges of an utterance."""

from __future__ import annotations

import re

from hypothesis import given

from dstress.text.utterance import free_matches
from tests.stressors.noise import protected_texts


@given(protected_texts())
def test_free_words_are_those_that_touch_no_range(case: tuple[str, list[tuple[int, int]]]) -> None:
    text, ranges = case
    words = list(re.finditer(r"\w+", text))
    expected = [w for w in words if all(w.end() <= start or end <= w.start() for start, end in ranges)]
    assert list(free_matches(words, ranges)) == expected
