"""Tasks that a corpus gives."""

from __future__ import annotations

from pathlib import Path
from random import Random

from dstress.corpora import load
from dstress.dialogue import Coreference, Dialogue, Schema, Service, Slot, Turn
from dstress.learning.lessons import Tutor
from dstress.pipeline.tasks import TASKS, write_task
from tests.stressors.generators.training import training
from tests.stressors.samples import in_memory

SLOTS = (Slot("name"), Slot("book_day"), Slot("parking"))
SCHEMA = Schema((Service("hotel", slots=SLOTS), Service("taxi", slots=(Slot("day"),))))


def dialogue(number: int, name: str, asked: str, day: str = "monday") -> Dialogue:
    hotel = {"hotel-name": (name,)}
    booked = hotel | {"hotel-book_day": (day,), "hotel-parking": ("yes",)}
    return Dialogue(
        f"d{number}",
        (
            Turn(asked, state=hotel),
            Turn(f"for {day}, and I need parking", "when?", booked),
            Turn(
                "and a taxi for the same day",
                "done",
                booked | {"taxi-day": (day,)},
                coreferences=(Coreference("taxi-day", "the same day", day),),
            ),
        ),
    )


CORPUS = in_memory(
    [
        dialogue(1, "Ritz", "the Ritz please"),
        dialogue(2, "Savoy", "I want the Savoy"),
        dialogue(3, "Savoy", "a room at the Savoy", "friday"),
        dialogue(4, "Ritz", "take the Ritz"),
    ],
    SCHEMA,
)


def test_words_are_copied_and_what_was_not_said_is_none() -> None:
    records = list(TASKS["copying"](CORPUS))
    said = [(record["question"], record["answer"]) for record in records[:4]]
    assert said[0] == ("hotel name", "Ritz")
    assert said[1][1] == "none" and said[1][0] in ("hotel book day", "hotel parking")
    assert said[2] == ("hotel book day", "monday")
    assert records[2]["context"] == "user: the Ritz please\nsystem: when?\nuser: for monday, and I need parking"
    assert all(record["answer"] == "none" or record["answer"] in record["context"] for record in records)
    assert not any(record["question"] == "hotel parking" and record["answer"] != "none" for record in records)


def test_the_same_wish_in_other_words_is_a_paraphrase_and_another_value_is_none() -> None:
    records = [tuple(record.values()) for record in TASKS["paraphrase"](CORPUS)]
    assert ("I want the Savoy", "a room at the Savoy", "yes") in records
    assert ("the Ritz please", "take the Ritz", "yes") in records
    assert ("a room at the Savoy", "take the Ritz", "no") in records
    assert {answer for *_, answer in records} == {"yes", "no"}


def test_references_are_resolved_and_states_are_written() -> None:
    [first, *_] = TASKS["coreference"](CORPUS)
    assert (first["expression"], first["answer"]) == ("the same day", "monday")
    assert first["context"].startswith("user: the Ritz please\n")
    assert (
        list(TASKS["tracking"](CORPUS))[1]["answer"]
        == "hotel book day = monday; hotel name = Ritz; hotel parking = yes"
    )


def test_every_task_of_the_embedded_corpus_is_written_as_a_task_file(tmp_path: Path) -> None:
    train, dev = load(training("reminder", None, 30)), load(training("reminder", None, 20))
    for name, records in TASKS.items():
        tutor = Tutor(write_task(name, train, dev, tmp_path))
        assert len(tutor.task.prompts) >= 5
        lessons = list(tutor.lessons("train", Random(1)))
        assert len(lessons) == sum(1 for _ in records(train))
        assert all(lesson.prompt.endswith("\nanswer:") and lesson.answer.strip() for lesson in lessons)
