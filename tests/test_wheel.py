"""The wheel is whole: built from the sources, installed where no checkout is in sight, it makes a run and its report.

The environment sees this one's packages for what dstress depends on, but not where an editable dstress lies. Nothing is
fetched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.test_plugin import OFFLINE


def call(*command: str | Path, cwd: Path) -> str:
    """Run a program without anything that leads back to the checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    call(sys.executable, "-m", "pip", "wheel", "--quiet", *OFFLINE, "--wheel-dir", folder, source, cwd=folder)
    [wheel] = folder.glob("dstress-*.whl")
    programs = folder / "venv" / "bin"
    venv.create(programs.parent, with_pip=False, symlinks=True)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(call(programs / "python", "-c", ask, cwd=folder).strip())
    # A plain path, in which Python looks for packages but reads no .pth file: that of an editable dstress stays unread.
    ours = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "ours.pth").write_text("".join(f"{path}\n" for path in sorted(ours)))
    call(programs / "python", "-m", "pip", "install", "--quiet", *OFFLINE, "--ignore-installed", wheel, cwd=folder)
    return programs


@pytest.mark.slow
def test_the_installed_package_is_the_wheel(installed: Path, tmp_path: Path) -> None:
    place = call(installed / "python", "-c", "import dstress; print(dstress.__file__)", cwd=tmp_path)
    assert Path(place.strip()).is_relative_to(installed.parent)


@pytest.mark.slow
def test_a_run_ends_with_a_report_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    call(
        installed / "dstress",
        "run",
        "quick",
        *("--tracker", "rules", "--corpus", "reminder:test", "--limit", "5", "--out", "run"),
        cwd=tmp_path,
    )
    assert (tmp_path / "run" / "report.html").stat().st_size > 100_000
    assert "@software{dstress" in call(installed / "dstress", "cite", "run", cwd=tmp_path)
