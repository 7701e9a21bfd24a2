from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.errors import DstressError
from dstress.predictions.base import Prediction
from dstress.runs.journal import Journal

ANSWERS = [Prediction(f"d{number // 3}", number % 3, {"taxi-leaveat": f"{number}:00"}) for number in range(9)]
ORDER = [(answer.dialogue, answer.turn) for answer in ANSWERS]


def line(answer: Prediction) -> bytes:
    return msgspec.json.encode(answer) + b"\n"


WHOLE = b"".join(map(line, ANSWERS))


def test_answers_are_found_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a" / "journal.jsonl")
    journal.add(line(ANSWERS[4]) + line(ANSWERS[0]))
    for found in (journal, Journal(journal.path)):
        assert found.done("d1") == {1} and found.done("d0") == {0} and found.done("other") == frozenset()
        assert found.answers("d1") == {1: ANSWERS[4]}
    journal.close()


@given(order=st.permutations(range(9)), cut=st.integers(1, len(WHOLE)))
def test_torn_anywhere_it_ends_the_same(tmp_path_factory: pytest.TempPathFactory, order: list[int], cut: int) -> None:
    """Whatever order answers come in, and wherever the file was cut, the settled file has the same bytes."""
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    journal = Journal(path)
    journal.add(b"".join(line(ANSWERS[number]) for number in order))
    journal.close()
    path.write_bytes(path.read_bytes()[:cut])
    again = Journal(path)
    assert again.is_current(), "or the run would read it anew, and settle another one than the answers were added to"
    whole = path.read_bytes()[:cut].count(b"\n")
    done = [key for key in ORDER if key[1] in again.done(key[0])]
    assert len(done) == whole, "a whole line is never lost, a torn one never trusted"
    again.add(b"".join(line(answer) for answer in ANSWERS if (answer.dialogue, answer.turn) not in done))
    assert again.is_current()
    again.settle(ORDER)
    assert again.is_current()
    assert path.read_bytes() == WHOLE


def test_failures_are_asked_again_and_replaced(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.add(line(Prediction("d0", 0, {}, failed="it took too long")) + line(ANSWERS[1]))
    assert journal.failed == 1 and journal.done("d0") == {1}
    journal.add(line(ANSWERS[0]))
    assert journal.failed == 0 and journal.done("d0") == {0, 1}
    journal.settle(ORDER)
    assert journal.path.read_bytes() == line(ANSWERS[0]) + line(ANSWERS[1])


@pytest.mark.parametrize("damage", [b"{\n", b"\xff\xfe\n", b'{"dialogue": 3}\n', b"null\n"])
def test_a_damaged_line_is_no_answer(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line(ANSWERS[0]) + damage + line(ANSWERS[1]))
    journal = Journal(path)
    assert journal.done("d0") == {0, 1}
    journal.add(line(ANSWERS[2]))
    journal.settle(ORDER)
    assert path.read_bytes() == b"".join(map(line, ANSWERS[:3]))


def test_nothing_asked_is_an_empty_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.settle([])
    assert journal.path.read_bytes() == b""


def _unfinished(path: Path, count: int = 4) -> list[bytes]:
    """The lines of a journal whose run was killed."""
    journal = Journal(path)
    journal.add(b"".join(map(line, ANSWERS[:count])))
    journal.close()
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("edited", range(4))
def test_an_edited_line_of_an_unfinished_journal_is_named(tmp_path: Path, edited: int) -> None:
    path = tmp_path / "journal.jsonl"
    lines = _unfinished(path)
    lines[edited] = lines[edited].replace(b":00", b":30")
    path.write_bytes(b"".join(lines))
    with pytest.raises(DstressError, match="the answer has changed since the run wrote it") as error:
        Journal(path)
    assert error.value.where == f"{path}, line {edited + 1}"
    path.write_bytes(b"".join(lines[:edited] + lines[edited + 1 :]))
    assert Journal(path).answered == 3, "a removed line is asked again"


@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_line_put_into_an_unfinished_journal_is_named(tmp_path: Path, place: int) -> None:
    path = tmp_path / "journal.jsonl"
    lines = _unfinished(path)
    path.write_bytes(b"".join([*lines[:place], line(ANSWERS[7]), *lines[place:]]))
    with pytest.raises(DstressError) as error:
        Journal(path)
    assert error.value.where == f"{path}, line {place + 1}"


def test_a_settled_journal_that_is_added_to_has_checksums_again(tmp_path: Path) -> None:
    """A finished run with failed turns is resumed and killed: the answers it had are no less safe than the new ones."""
    path = tmp_path / "journal.jsonl"
    _unfinished(path)
    journal = Journal(path)
    journal.settle(ORDER)
    assert path.read_bytes() == b"".join(map(line, ANSWERS[:4]))
    journal.add(line(ANSWERS[4]))
    assert journal.answers("d0") == {number: ANSWERS[number] for number in range(3)} and journal.is_current()
    journal.close()
    again = Journal(path)
    assert again.answered == 5 and again.is_current()
    path.write_bytes(path.read_bytes().replace(b'"0:00"', b'"0:30"'))
    with pytest.raises(DstressError, match="has changed"):
        Journal(path)
