from __future__ import annotations

import re

import pytest

from dstress.text.tables import expand_shorthand


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("i'm here", "i'm here", True),
        ("i'm here", "i ’m  here", True),
        ("i'm here", "i m here", True),
        ("i'm here", "i'mhere", False),
        ("don't ?,? go", "do n't, go", True),
        ("don't ?,? go", "dont go", True),
        ("thanksLAST", "thanks", True),
    ],
)
def test_what_corpora_write_in_many_ways_is_one_pattern(pattern: str, text: str, fits: bool) -> None:
    assert bool(re.fullmatch(expand_shorthand(pattern), text)) is fits


def test_last_sees_an_end_and_does_not_take_it() -> None:
    match = re.match(expand_shorthand("thanksLAST"), "thanks , bye")
    assert match is not None and match.group() == "thanks"
    assert re.match(expand_shorthand("thanksLAST"), "thanks again") is None
