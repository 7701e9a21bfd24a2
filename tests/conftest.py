"""What every test shares: hypothesis profiles, the folder of real data, a data home of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.parts import IN_CI, REAL_DATA, missing_part, need
from tests.paths import SHARED

EXAMPLES = int(os.environ.get("EXAMPLES", "50"))
"""More of them find rarer bugs: EXAMPLES=2000 make test."""

# Tests run side by side, one to a core: threads of torch that wait for each other there cost minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Runs that are compared byte by byte begin on one day, also around midnight.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600")

settings.register_profile("default", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if IN_CI else "default")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The real corpora and golden outputs beside the repository. A user's clone has none; CI must."""
    need(REAL_DATA)
    return SHARED


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Makes a file system of a size such as `64k`; asked again, the same one with another size."""
    place = tmp_path / "small"

    def sized(size: str) -> Path:
        remount = "remount," if place.is_mount() else ""
        place.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"{remount}size={size}", "tmpfs", str(place)]
        mounted = subprocess.run(command, capture_output=True)
        if mounted.returncode:
            if IN_CI:
                pytest.fail(f"CI must be able to mount a small file system: {mounted.stderr.decode()}")
            pytest.skip("mounting a small file system needs root")
        return place

    yield sized
    if place.is_mount():
        subprocess.run(["umount", str(place)], check=True)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A real browser: Debian's chromium, through Playwright. One for all tests of a process: it takes no second."""
    need("playwright", "chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data home that no other test and no user shares."""
    home = tmp_path / "home"
    monkeypatch.setenv("DSTRESS_HOME", str(home))
    return home


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each part that this machine lacks."""
    skipped = terminalreporter.stats.get("skipped", [])
    lacking = Counter(part for report in skipped if (part := missing_part(str(report.longrepr[2]))))
    for part, count in sorted(lacking.items()):
        terminalreporter.write_line(f"left out for want of {part}: {count}")
