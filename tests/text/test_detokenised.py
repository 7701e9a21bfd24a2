"""English parted and put together as Moses does; the expected texts are the scripts' own (sacremoses 0.1.1)."""

from __future__ import annotations

import pytest

from dstress.text.detokenised import detokenise, join_contractions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it 's a lovely place , is n't it ?", "it 's a lovely place, is n't it?"),
        ("it's nice, isn't it ?", "it's nice, isn't it?"),
        ("do n't you 'll see", "do n't you 'll see"),
        ("the jones ' house", "the jones' house"),
        ("he said ' yes ' .", "he said 'yes'."),
        ('the " best " one', 'the "best" one'),
        ("1,000 , or 2,5 ,", "1,000, or 2,5,"),
        ("wait...what .. ever", "wait... what.. ever"),
        ("£ 5 ( or $ 6 ) 50 %", "£5 (or $6) 50%"),
        ("a/b and c&d", "a / b and c & d"),
        ("NAME 's number is PHONE.", "NAME 's number is PHONE."),
        ("at 17:15 .", "at 17: 15."),
        ("a_b co-op", "a _ b co-op"),
        ("what .'", "what. '"),
        ("  ", ""),
    ],
)
def test_texts_come_out_as_the_scripts_leave_them(text: str, expected: str) -> None:
    assert detokenise(text) == expected


def test_contractions_are_joined() -> None:
    assert join_contractions("It 's one , I do n't 'quote'") == "It's one , I don't 'quote'"
