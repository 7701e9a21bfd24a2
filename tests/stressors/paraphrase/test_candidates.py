"""What a whole candidate must keep."""

from __future__ import annotations

import pytest

from dstress.stressors.paraphrase.candidates import find_problem, match_style

SAID = "I need a train from Ely to Cambridge , not before 10:15 ."


@pytest.mark.parametrize(
    ("candidate", "part"),
    [
        ("i need a train from ely to cambridge not before 10:15", "unchanged"),
        ("I want a train from Ely to *Cambridge, not before 10:15.", "untranslated"),
        ("I want a tren señor from Ely to Cambridge, not before 10:15.", "untranslated"),
        ("I need I need a train from Ely to Cambridge, not before 10:15.", "repeated"),
        ("A train.", "length"),
        ("I want a train from Ely to Cambridge, surely before 10:15.", "negation"),
        ("Is there no train from Ely to Cambridge, before 10:15?", "question"),
        ("I want a train to Cambridge via Ely, not before 10:15.", "slot"),
        ("I want a train from Ely to Cambridge, not before 11:15.", "number"),
    ],
)
def test_a_candidate_that_lost_something_is_refused(candidate: str, part: str) -> None:
    assert part in find_problem(SAID, candidate)


def test_a_paraphrase_passes() -> None:
    assert find_problem(SAID, "I'd like a train to Cambridge from Ely that does not leave before 10:15.") == ""
    assert find_problem("two tickets please", "2 tickets please") == ""


def test_the_style_of_the_original() -> None:
    assert match_style("I don't want it, thanks.", SAID) == "I do n't want it , thanks ."
    assert match_style("Fine, thanks.", "all right, cheers.") == "fine, thanks."
    assert match_style("fine, thanks.", "All right, cheers.") == "Fine, thanks."
