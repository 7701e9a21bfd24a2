"""The plug-in template is installed by pip, as its reader would do it, and its own tests pass there."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.paths import ROOT, SEARCHED
from tests.test_plugin import OFFLINE, make_environment

TEMPLATE = ROOT / "examples" / "plugin-template"
NAMES = ("shorthand", "last_words", "first-turn-jga")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A copy of the template, and the Python of an environment in which it is installed."""
    folder = tmp_path_factory.mktemp("template")
    package = shutil.copytree(TEMPLATE, folder / "package")
    python = make_environment(folder / "venv")
    done = subprocess.run([python, "-m", "pip", "install", *OFFLINE, package], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return package, python


def call(python: Path, *arguments: str, folder: Path) -> str:
    environment = os.environ | {"PYTHONPATH": SEARCHED}
    done = subprocess.run([python, "-m", *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_its_own_tests_pass(installed: tuple[Path, Path]) -> None:
    package, python = installed
    assert "3 passed" in call(python, "pytest", "-q", "-p", "no:cacheprovider", "tests", folder=package)


@pytest.mark.slow
def test_its_parts_are_found_and_run(installed: tuple[Path, Path], tmp_path: Path) -> None:
    _, python = installed
    for name in NAMES:
        assert "from the plug-in dstress-phone" in call(python, "dstress", "list", name, folder=tmp_path)
    command = [
        "run",
        "quick",
        "--tracker",
        "last_words",
        "--corpus",
        "reminder:test",
        "--limit",
        "5",
        "--out",
        "runs/first",
    ]
    shown = call(python, "dstress", *command, "--only", "typos", folder=tmp_path)
    assert "Quick look: last_words on reminder:test" in shown


def test_the_how_to_page_shows_its_names() -> None:
    page = (ROOT / "docs/how-to/plug-in.md").read_text("utf-8")
    project = (TEMPLATE / "pyproject.toml").read_text("utf-8")
    shown = page.split("```toml\n")[1].split("```")[0]
    assert shown.strip() in project
