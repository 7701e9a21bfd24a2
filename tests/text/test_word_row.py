from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dstress.text.word_row import Addition, WordRow
from tests.strategies import texts


def test_tokens_know_what_they_are() -> None:
    words = WordRow("I 'd like a room . Is New York far?", [(22, 30)])
    assert words.cores == ["i", "'d", "like", "a", "room", "", "is", "new", "york", "far"]
    assert [index for index, hangs in enumerate(words.hangs) if hangs] == [1]
    assert [index for index, opens in enumerate(words.opens) if opens] == [0, 6]
    assert [index for index, free in enumerate(words.free) if not free] == [7, 8]
    assert [index for index, inside in enumerate(words.inside) if inside] == [8]


def test_nothing_is_said_inside_values_contractions_and_fixed_pairs() -> None:
    words = WordRow("Thank you , I 'd like New York", [(22, 30)])
    assert [at for at in range(len(words.tokens)) if words.may_precede(at)] == [0, 3, 5, 6]


def test_a_run_takes_its_contraction_along_and_needs_a_word_behind_it() -> None:
    words = WordRow("I 'd like to go to Ely , please", [(19, 22)])
    assert words.run(0, 1) == "I 'd"
    assert words.run(0, 2) == "I 'd like"
    assert words.run(3, 3) == "to go to"
    assert words.run(5, 2) == ""
    assert words.run(8, 1) == ""


def test_a_run_does_not_break_up_an_idiom() -> None:
    words = WordRow("thanks a lot for that", [])
    assert words.run(1, 1) == "" == words.run(2, 1)


def test_clauses_begin_behind_greetings_and_answers() -> None:
    words = WordRow("Yes, thanks. Hello, I need a bed. Where is it?", [])
    assert [words.tokens[at] for at in words.clauses()] == ["I", "Where"]


def test_what_comes_first_takes_the_capital() -> None:
    words = WordRow("The train to Ely. Ely is nice. I know.", [(13, 16), (18, 21)])
    said = words.with_additions([Addition(0, "um,"), Addition(4, "uh,"), Addition(7, "well,")])
    assert said == "Um, the train to Ely. Uh, Ely is nice. Well, I know."


def test_small_writing_stays_small() -> None:
    assert WordRow("the train", []).with_additions([Addition(0, "um")]) == "um the train"


@given(texts.filter(lambda text: "z" not in text.casefold()), st.lists(st.integers(0, 20), max_size=4))
def test_additions_only_add(text: str, places: list[int]) -> None:
    words = WordRow(text, [])
    additions = [Addition(at, "zzz") for at in sorted(set(places)) if at < len(words.tokens)]
    said = words.with_additions(additions)
    assert said.casefold().replace("zzz ", "") == text.casefold()
