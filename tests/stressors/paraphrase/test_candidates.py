"""What a whole candidate must keep."""

from __future__ import annotations

import pytest

from dstress.stressors.paraphrase.candidates import in_style, problem

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
    assert part in problem(SAID, candidate)


def test_a_paraphrase_passes() -> None:
    assert problem(SAID, "I'd like a train to Cambridge from Ely that does not leave before 10:15.") == ""
    assert problem("two tickets please", "2 tickets please") == ""


def test_the_style_of_the_original() -> None:
    assert in_style("I don't want it, thanks.", SAID) == "I do n't want it , thanks ."
    assert in_style("Fine, thanks.", "all right, cheers.") == "fine, thanks."
    assert in_style("fine, thanks.", "All right, cheers.") == "Fine, thanks."
