"""Importing the SGD test split, beside a bare `msgspec.json.decode` of the same bytes, in the same run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from benchmarks.timing import best_of, report, shared
from dstress import corpora
from dstress.storage.sources import open_source

LIMIT = 3.0


def run() -> None:
    archive = shared("data/sgd/test.tar.xz")
    if archive is None:
        return
    with tempfile.TemporaryDirectory() as scratch, open_source(archive) as source:
        os.environ["DSTRESS_HOME"] = f"{scratch}/home"
        folder = Path(scratch, "test")
        folder.mkdir()
        for file in source.files:
            (folder / file.stem).write_bytes(file.read())
        names = iter(range(1000))
        bare = best_of(5, lambda: _decode(folder))
        imported = best_of(5, lambda: corpora.add(f"bench{next(names)}", folder))
        packed = best_of(3, lambda: corpora.add(f"bench{next(names)}", archive))
        report("import SGD test split (folder)", imported, "bare decode", bare, at_most=LIMIT)
        report("import SGD test split (tar.xz, unpacked on the way)", packed, "bare decode", bare, at_most=LIMIT)
        _memory(folder, Path(scratch))


def _decode(folder: Path) -> None:
    for path in sorted(folder.glob("dialogues_*.json")):
        msgspec.json.decode(path.read_bytes())


def _memory(folder: Path, scratch: Path) -> None:
    """Peak memory for a few files and for all of them."""
    few = scratch / "few" / "test"
    few.mkdir(parents=True)
    largest = sorted(folder.glob("*.json"), key=lambda path: -path.stat().st_size)[:3]
    for path in [*largest, folder / "schema.json"]:
        (few / path.name).write_bytes(path.read_bytes())
    small, large = _peak(few, scratch), _peak(folder, scratch)
    print(f"{'peak memory, all 24 files against the largest 3':<56} {large / small:6.2f} x   ({large} MB, {small} MB)")


def _peak(folder: Path, scratch: Path) -> int:
    code = (
        "import sys, resource; from dstress import corpora; corpora.add('peak' + sys.argv[2], sys.argv[1]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    command = [sys.executable, "-c", code, str(folder), folder.parent.name.replace("-", "")]
    home = os.environ | {"DSTRESS_HOME": str(scratch / "peak")}
    return int(subprocess.run(command, capture_output=True, check=True, env=home).stdout)
