"""Lessons: prompts and what should follow them; and tasks, which make lessons of records, as T0 and PrefineDST do.

A task is a TOML file. Its data are JSON lines, each an object of the texts that the templates ask for:

prompts = ["{context}\\nquestion: {question}\\nanswer:", "Answer {question}\\n{context}\\nanswer:"]
answer = "{answer}"
train = "squad.train.jsonl"           # beside the task's file
dev = "squad.dev.jsonl"
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from string import Formatter
from typing import Annotated, NamedTuple

import msgspec

from dstress.errors import SpecError
from dstress.learning.recipe import read_settings
from dstress.text.tables import read_table_file

_RECORD = msgspec.json.Decoder(dict[str, str])


class Lesson(NamedTuple):
    """A prompt and the text that should follow it."""

    name: str
    prompt: str
    answer: str


class TaskFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a task's file says."""

    prompts: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    """Templates, of which one is drawn for each record, another at each epoch."""
    train: str
    dev: str
    answer: str = "{answer}"

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        for template in (*self.prompts, self.answer):
            try:
                parts = list(Formatter().parse(template))
            except ValueError as error:
                raise ValueError(f"{template!r} is no template: {error}; two braces write one") from None
            for _, field, form, conversion in parts:
                if field is not None and (form or conversion or not field.isidentifier()):
                    raise ValueError(f"{{{field}}} in {template!r} is no field; two braces write one")

    @property
    def fields(self) -> set[str]:
        """The texts that the templates ask for."""
        templates = (*self.prompts, self.answer)
        return {field for template in templates for _, field, _, _ in Formatter().parse(template) if field}


class Tutor:
    """A task, and its lessons; all of its records have been looked at when it is created."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.task = read_settings(read_table_file(path, "task"), TaskFile, str(path))
        for split in ("train", "dev"):
            if not sum(1 for _ in self.lessons(split, Random(0))):
                raise SpecError(f"the task has no records for {split}", where=str(path), fix="leave the task out")

    def lessons(self, split: str, random: Random) -> Iterator[Lesson]:
        """One for each record of `train` or `dev`."""
        data = self.path.parent / (self.task.train if split == "train" else self.task.dev)
        try:
            with data.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    where = f"{data}, line {number}"
                    try:
                        record = _RECORD.decode(line)
                    except msgspec.DecodeError as error:
                        raise SpecError(f"this is no object of texts: {error}", where=where) from None
                    if missing := sorted(self.task.fields - record.keys()):
                        has, fix = ", ".join(record) or "nothing", f"the templates of {self.path} ask for it"
                        raise SpecError(f"the record has no {missing[0]!r}, only {has}", where=where, fix=fix)
                    prompt = random.choice(self.task.prompts)
                    yield Lesson(where, prompt.format_map(record), f" {self.task.answer.format_map(record)}")
        except OSError as error:
            raise SpecError(f"the task's data cannot be read: {error}", where=str(self.path)) from error
