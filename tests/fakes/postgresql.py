"""A real PostgreSQL server of the tests' own, on a socket in a folder of its own; it goes when the tests end."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_FAST = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200", "shared_buffers=32MB"]


def find_programs() -> Path | None:
    """The folder with `initdb` and `postgres`; Debian keeps it off the path."""
    if there := shutil.which("initdb"):
        return Path(there).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return installed[-1].parent if installed else None


@contextmanager
def running_postgresql() -> Iterator[str]:
    """A server; gives the address of its first database. PostgreSQL refuses to run as root, so then as `postgres`."""
    programs = find_programs()
    if programs is None:
        raise FileNotFoundError("PostgreSQL's programs are not installed")
    account: dict[str, Any] = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path may have 107 characters
    try:
        if account:
            shutil.chown(folder, "postgres", "postgres")
        data = folder / "data"
        make: list[Any] = [
            programs / "initdb",
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--username=dstress",
            "-D",
            data,
        ]
        subprocess.run(make, check=True, capture_output=True, cwd=folder, **account)
        settings = [part for setting in _FAST for part in ("-c", setting)]
        serve: list[Any] = [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", *settings]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(serve, stdout=log, stderr=log, cwd=folder, **account)
        try:
            ready: list[Any] = [programs / "pg_isready", "-q", "-h", folder, "-t", "1"]
            while subprocess.run(ready).returncode:
                if server.poll() is not None:
                    raise RuntimeError((folder / "log").read_text())
            yield f"postgresql+psycopg://dstress@/postgres?host={folder}"
        finally:
            server.terminate()
            server.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
