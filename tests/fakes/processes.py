"""Processes of this machine, for tests that kill some."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def kill_actor_of(ancestor: int) -> bool:
    """Kill -9 a busy worker of the Ray cluster that a process has started; False if there is none yet."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"ray::_Actor.run" in (folder / "cmdline").read_bytes() and _descends(int(folder.name), ancestor):
                os.kill(int(folder.name), signal.SIGKILL)
                return True
        except OSError:  # it has just ended
            continue
    return False


def _descends(pid: int, ancestor: int) -> bool:
    while pid > 1 and pid != ancestor:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid == ancestor
