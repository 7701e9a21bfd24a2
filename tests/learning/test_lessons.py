"""Tasks with prompt templates: what they teach, and what is said about what they may not be."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from dstress.errors import DstressError
from dstress.learning.lessons import Tutor

TASK = r"""
prompts = ["{text}\nwho?", "{{who}} in {text}?"]
answer = "it is {name}"
train = "a.jsonl"
dev = "b.jsonl"
"""
RECORDS = [{"text": "Ann {left}", "name": "Ann"}, {"text": "Bob stays", "name": "Bob", "more": "x"}]


def written(folder: Path, task: str = TASK, records: object = RECORDS) -> Path:
    lines = [json.dumps(record) for record in records] if isinstance(records, list) else [str(records)]
    for name in ("a.jsonl", "b.jsonl"):
        (folder / name).write_text("\n".join(lines))
    (folder / "task.toml").write_text(task)
    return folder / "task.toml"


def test_a_prompt_is_drawn_for_each_record(tmp_path: Path) -> None:
    tutor = Tutor(written(tmp_path, records=RECORDS * 20))
    lessons = list(tutor.lessons("train", Random(1)))
    assert lessons == list(tutor.lessons("train", Random(1))) != list(tutor.lessons("train", Random(2)))
    assert {(lesson.prompt, lesson.answer) for lesson in lessons} == {
        ("Ann {left}\nwho?", " it is Ann"),
        ("{who} in Ann {left}?", " it is Ann"),
        ("Bob stays\nwho?", " it is Bob"),
        ("{who} in Bob stays?", " it is Bob"),
    }
    assert lessons[1].name == f"{tmp_path / 'a.jsonl'}, line 2"


@pytest.mark.parametrize(
    ("task", "records", "words"),
    [
        (
            TASK.replace("{name}", "{nam}"),
            RECORDS,
            r"a.jsonl, line 1: the record has no 'nam', only text, name\n.*task",
        ),
        (TASK, [*RECORDS, {"name": "Cy"}], "line 3: the record has no 'text', only name"),
        (TASK, [{"text": "x", "name": 3}], "line 1: this is no object of texts"),
        (TASK, "torn", "line 1: this is no object of texts"),
        (TASK, [], "no records for train"),
        (TASK.replace("b.jsonl", "c.jsonl"), RECORDS, "data cannot be read"),
        (TASK.replace("prompts", "prompt"), RECORDS, "unknown setting 'prompt'.*'prompts'"),
        (TASK.replace("{text}", "{text.x}"), RECORDS, r"\{text.x\} in .* is no field"),
        (TASK.replace("{text}", "{}"), RECORDS, r"\{\} in .* is no field"),
        (TASK.replace("{text}", "{text!r}"), RECORDS, "is no field"),
        (TASK.replace("{text}", "{text"), RECORDS, "no template"),
    ],
)
def test_what_is_wrong_with_a_task_is_told(tmp_path: Path, task: str, records: object, words: str) -> None:
    with pytest.raises(DstressError, match=words):
        Tutor(written(tmp_path, task, records))
