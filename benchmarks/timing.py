"""Ratios within one run: machines differ, and so does the same machine an hour later."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(path: str) -> Path | None:
    """Real data beside the repository, None (with a line that says so) where there is none."""
    found = SHARED / path
    if found.exists():
        return found
    print(f"left out: needs {path} in a folder `shared` beside the repository")
    return None


def best_of(times: int, work: Callable[[], object]) -> float:
    """The shortest of several runs, in seconds: what the work costs when nothing disturbs it."""
    seconds = []
    for _ in range(times):
        gc.collect()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def report(what: str, seconds: float, beside: str, reference: float, *, at_most: float) -> None:
    """One line: the ratio, its limit, and the two times."""
    ratio = seconds / reference
    verdict = "ok" if ratio <= at_most else "TOO SLOW"
    print(f"{what:<56} {ratio:6.2f} x {beside} (at most {at_most:g}: {verdict})   {seconds:.2f} s, {reference:.2f} s")
