"""SGD's schemas with SGD-X's variants in the data home, without their thousands of dialogues."""

from __future__ import annotations

import json
from pathlib import Path

from dstress import corpora
from dstress.storage.sources import open_source
from tests.corpora import layouts

SILENT = [{"dialogue_id": "1", "services": [], "turns": [{"speaker": "USER", "utterance": "hello", "frames": []}]}]


def add_sgd(shared: Path, folder: Path) -> None:
    """Store `sgd` with one empty dialogue a split, and `sgd-x/v1` to `v5`."""
    for split in ("train", "dev", "test"):
        with open_source(shared / f"data/sgd/{split}.tar.xz") as source:
            schema = json.loads(source.named("schema.json")[0].read())
        layouts.write_json(folder / split / "schema.json", schema)
        dialogues = [{**SILENT[0], "dialogue_id": f"{split}-1"}]
        layouts.write_json(folder / split / "dialogues_001.json", dialogues)
    corpora.add("sgd", folder)
    corpora.add("sgd-x", shared / "data/sgd/sgd_x.tar.xz")
