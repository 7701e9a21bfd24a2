"""Write the archive of `reminder` that comes with dstress: `python -m benchmarks.reminder`, in some seconds."""

from __future__ import annotations

import lzma
import tarfile
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.reminder import generate, schema, town
from dstress.corpora.base import Corpus
from dstress.corpora.jsonl import Jsonl
from dstress.corpora.reminder import ARCHIVE, NAME, SIZES


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without owner and time: the same files make the same archive."""
    return member.replace(mtime=0, mode=0o644, uid=0, gid=0, uname="", gname="", deep=False)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for split in SIZES:
            Jsonl().write(Corpus(NAME, split, schema(split), partial(generate, split)), Path(folder))
        town().write(Path(folder))
        with (
            lzma.open(ARCHIVE, "wb", preset=9 | lzma.PRESET_EXTREME) as out,
            tarfile.open(fileobj=out, mode="w") as tar,
        ):
            for file in sorted(Path(folder).iterdir()):
                tar.add(file, file.name, filter=_plain)
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size:,} bytes")


main()
