"""What every test shares: hypothesis profiles, the folder of real data, a data home of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from dstress.corpora import ensure_embedded
from dstress.storage.lock import only_one
from tests.parts import IN_CI, REAL_DATA, missing_part, need
from tests.paths import SHARED

EXAMPLES = int(os.environ.get("EXAMPLES", "10"))
"""Of each law. More of them find rarer bugs: `make test-all` runs 25, `make fuzz` 2,000 of some."""

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


@pytest.fixture(scope="session")
def ready_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data home with the embedded corpus, made once for all processes of a test run."""
    root = tmp_path_factory.getbasetemp()
    home = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "ready-home"
    with pytest.MonkeyPatch.context() as patch, only_one(home.with_suffix(".lock")):
        patch.setenv("DSTRESS_HOME", str(home))
        ensure_embedded()
        (home / "fits").mkdir(exist_ok=True)
    return home


@pytest.fixture(scope="session")
def new_home(ready_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes a data home with the embedded corpus, whose simulation takes seconds.

    The corpus's files are hard links that all homes share: a test that damages one must replace it. Fits are shared
    too, since each is named after what it was learned from.
    """
    numbers = count()
    root = tmp_path_factory.mktemp("homes")

    def make() -> Path:
        home = root / str(next(numbers))
        shutil.copytree(ready_home / "corpora", home / "corpora", copy_function=os.link)
        (home / "fits").symlink_to(ready_home / "fits")
        return home

    return make


@pytest.fixture(autouse=True)
def data_home(new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data home that no user and no other test shares."""
    home = new_home()
    monkeypatch.setenv("DSTRESS_HOME", str(home))
    return home


@pytest.fixture
def empty_home(data_home: Path) -> Path:
    """The data home with nothing in it."""
    shutil.rmtree(data_home)
    return data_home


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each part that this machine lacks."""
    skipped = terminalreporter.stats.get("skipped", [])
    lacking = Counter(part for report in skipped if (part := missing_part(str(report.longrepr[2]))))
    for part, tests in sorted(lacking.items()):
        terminalreporter.write_line(f"left out for want of {part}: {tests}")
