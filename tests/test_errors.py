"""Messages say where and how to mend it, and errors travel between processes."""

from __future__ import annotations

import pickle

import pytest

from dstress import errors
from dstress.errors import ArchiveError, CorpusError, DstressError, nearest, place, unknown

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, DstressError)]


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_survives_pickling(kind: type[DstressError]) -> None:
    error = pickle.loads(pickle.dumps(kind("broken", where="a.json", fix="mend it")))
    assert type(error) is kind
    assert str(error) == "a.json: broken\n  fix: mend it"


@pytest.mark.parametrize("kind", CLASSES)
def test_the_tree_at_the_top_of_the_file_names_every_error(kind: type[DstressError]) -> None:
    assert kind.__name__ in (errors.__doc__ or "")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (DstressError("broken"), "broken"),
        (DstressError("broken", where="x"), "x: broken"),
        (DstressError("broken", fix="mend"), "broken\n  fix: mend"),
    ],
)
def test_a_message_has_only_the_parts_it_was_given(error: DstressError, text: str) -> None:
    assert str(error) == text


def test_an_archive_error_is_a_corpus_error() -> None:
    with pytest.raises(CorpusError):
        raise ArchiveError("broken")


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((), ""),
        (("a.json",), "a.json"),
        (("a.json", "d1"), "a.json, dialogue d1"),
        (("a.json", "d1", 0), "a.json, dialogue d1, turn 0"),
        (("", "d1", 3), "dialogue d1, turn 3"),
    ],
)
def test_a_place_reads_the_same_everywhere(parts: tuple[str, ...], text: str) -> None:
    assert place(*parts) == text


@pytest.mark.parametrize("typed", ["hotel-aera", "Hotel-Area", "hotelarea"])
def test_an_unknown_name_suggests_the_nearest(typed: str) -> None:
    assert "did you mean 'hotel-area'" in str(unknown("slot", typed, ["hotel-area", "taxi-leaveat"]))


@pytest.mark.parametrize("typed", ["intent", "Accuracy"])
def test_an_unknown_name_suggests_the_names_that_hold_it(typed: str) -> None:
    assert nearest(typed, ["abstention", "consistent-jga", "intent-accuracy"]) == ["intent-accuracy"]


@pytest.mark.parametrize("typed", ["hallucination", "ja"])
def test_a_far_word_suggests_nothing(typed: str) -> None:
    assert nearest(typed, ["value-precision", "abstention", "jaccard-similarity"]) == []


def test_an_unknown_name_without_a_near_one_lists_what_there_is() -> None:
    assert "known: exact, trade" in str(unknown("convention", "zzz", ["trade", "exact"]))
    assert str(unknown("convention", "zzz", map(str, range(100, 200)))).endswith("139 ...")


def test_an_unknown_name_when_nothing_is_known() -> None:
    assert "no convention is known yet" in str(unknown("convention", "zzz", []))
