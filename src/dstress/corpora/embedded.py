"""The embedded corpus in the data home: generated at first use, and again whenever its generator has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files

from dstress.corpora import simulated, store
from dstress.corpora.base import LocatedDialogue, Split
from dstress.corpora.store import Manifest, Progress

NAME = "reminder"


def ensure(progress: Progress = lambda *_: None) -> Manifest:
    """The corpus's manifest, with the corpus behind it."""
    source = f"simulated:{_fingerprint()}"
    found = store.manifest(NAME)
    if found is not None and found.source == source:
        return found
    if found is not None:
        store.remove(NAME)
    splits = (("simulated", Split(name, simulated.schema(name), _streaming(name))) for name in simulated.SIZES)
    return store.add(NAME, source, splits, progress)


def _streaming(split: str) -> Callable[[], Iterator[LocatedDialogue]]:
    return lambda: ((NAME, dialogue) for dialogue in simulated.generate(split))


@cache
def _fingerprint() -> str:
    """A checksum over the generator's own code and tables: a stored copy is never older than what made it."""
    room = files(__package__)
    parts = [room / "simulated.py", *sorted(room.joinpath("simulator").iterdir(), key=lambda part: part.name)]
    digest = hashlib.sha256()
    for part in parts:
        if part.name.endswith((".py", ".toml")):
            digest.update(part.name.encode() + b"\0" + part.read_bytes())
    return digest.hexdigest()[:16]
