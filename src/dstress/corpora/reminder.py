"""The embedded corpus `reminder`: dialogues of our own, made by a simulated user and a simulated desk.

It needs no download and no licence but ours, so the demo, the tests and a first try of a tracker all run on it. The
archive beside this file, which `benchmarks/reminder` makes, is imported into the data home at first use, and again
whenever it has changed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from dstress.corpora import store
from dstress.corpora.jsonl import Jsonl
from dstress.corpora.store import Manifest, Progress
from dstress.storage.sources import open_source

NAME = "reminder"
SIZES = {"train": 600, "dev": 150, "test": 150}
ARCHIVE = Path(__file__).with_name("reminder.tar.xz")


def ensure_stored(progress: Progress = lambda *_: None) -> Manifest:
    """The corpus's manifest, with the corpus behind it."""
    source = f"embedded:{hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()[:16]}"
    stored = store.read_manifest(NAME)
    if stored is not None and stored.source == source:
        return stored
    layout = Jsonl()
    with open_source(ARCHIVE) as archive:
        splits = ((layout.name, split) for split in layout.splits(archive))
        return store.add(NAME, source, splits, progress, generated=True, database=layout.database(archive))
