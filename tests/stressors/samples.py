"""Small corpora for the stressors' tests: the first dialogues of MultiWOZ, SGD and `reminder`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from benchmarks import reminder
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Edit, Schema
from dstress.text.edits import apply

CORPORA = ("reminder", "multiwoz", "sgd")
DIALOGUES = 12


def in_memory(dialogues: Sequence[Dialogue], schema: Schema, name: str = "sample") -> Corpus:
    """A corpus over dialogues that are at hand."""
    held = Corpus(name, "test", schema, lambda: iter(dialogues))
    held.size = len(dialogues)
    return held


@cache
def sample(name: str, shared: Path | None, dialogues: int = DIALOGUES) -> Corpus:
    """The first dialogues of a corpus's test split."""
    if name == "reminder":
        found = list(islice(reminder.generate("test"), dialogues))
        return in_memory(found, reminder.schema("test"), name)
    paths = {"multiwoz": "multiwoz21-raw", "sgd": "sgd/test.tar.xz"}
    corpus = load(f"{(shared or Path()) / 'data' / paths[name]}")
    return in_memory(list(islice(iter(corpus), dialogues)), corpus.schema, name)


def undo(text: str, edits: Iterable[Edit]) -> str:
    """The original of an edited text."""
    moved, back = 0, []
    for edit in edits:
        back.append(Edit(edit.start + moved, edit.after, edit.before))
        moved += len(edit.after) - len(edit.before)
    return apply(text, back)
