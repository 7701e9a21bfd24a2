"""Prediction files for the SGD test split as a tracker would write them: whole dialogues, some values wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dstress.storage.sources import open_source

_EVERY = 9


def write_predictions(archive: Path, folder: Path) -> int:
    """Write the split with every ninth value changed; returns how many bytes."""
    size = changed = 0
    folder.mkdir(parents=True)
    with open_source(archive) as source:
        for file in source.files:
            if not file.stem.startswith("dialogues_"):
                continue
            dialogues = json.loads(file.read())
            for state in _states(dialogues):
                for slot, values in state["slot_values"].items():
                    changed += 1
                    state["slot_values"][slot] = [_other(values[0])] if changed % _EVERY == 0 else values[:1]
            path = folder / file.stem
            path.write_text(json.dumps(dialogues, indent=2, sort_keys=True))
            size += path.stat().st_size
    return size


def _states(dialogues: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [f["state"] for d in dialogues for t in d["turns"] for f in t["frames"] if "state" in f]


def _other(value: str) -> str:
    return value[1:] + value[:1] if len(value) > 3 else "dontcare"
