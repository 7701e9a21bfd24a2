"""Small training corpora, as folders, for the stressors that learn: other dialogues than those of `samples`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec

from benchmarks import reminder
from dstress.corpora import load
from dstress.dialogue import Dialogue, Schema

DIALOGUES = 80


@cache
def training(name: str, shared: Path | None, dialogues: int = DIALOGUES) -> str:
    """The name under which a few training dialogues can be loaded."""
    if name == "reminder":
        return _written(islice(reminder.generate("train"), dialogues), reminder.schema("train"))
    paths = {"multiwoz": "multiwoz21-trade", "sgd": "sgd/train.tar.xz"}
    corpus = load(f"{(shared or Path()) / 'data' / paths[name]}:train")
    return _written(islice(iter(corpus), dialogues), corpus.schema)


def _written(dialogues: Iterable[Dialogue], schema: Schema) -> str:
    folder = Path(tempfile.mkdtemp(prefix="dstress-train-"))
    lines = b"".join(msgspec.json.encode(dialogue) + b"\n" for dialogue in dialogues)
    (folder / "train.jsonl").write_bytes(lines)
    (folder / "train.schema.json").write_bytes(msgspec.json.encode(schema))
    return f"{folder}:train"
