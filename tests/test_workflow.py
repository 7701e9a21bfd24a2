"""The workflow of the how-to page is the example's, and its steps do what it says: store a baseline, pass, and fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dstress
from tests.parts import need
from tests.paths import DOCS, ROOT, SEARCHED

WORKFLOW = ROOT / "examples" / "ci" / "robustness.yml"
BOT = """from dstress.trackers.{module} import {name}


class Tracker({name}):
    pass
"""
RULES, EMPTY = ("rules.tracker", "Rules"), ("empty", "Empty")
GH = """#!/bin/sh
case "$1 $2" in
    "run list") if [ -d "$STORE/baseline" ]; then echo 17; fi ;;
    "run download") [ "$3 $4 $5" = "17 --name baseline" ] && mkdir -p runs && cp -r "$STORE/baseline" "$7" ;;
esac
"""


@pytest.fixture
def steps() -> dict[str, Any]:
    need("yaml")
    import yaml

    [job] = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"].values()
    return {step["name"]: step for step in job["steps"] if "name" in step}


def checkout(folder: Path, tracker: tuple[str, str]) -> Path:
    """A repository with a bot and dialogues, as the workflow finds it."""
    data, corpus = folder / "data" / "dialogues", dstress.load("reminder:test", limit=12)
    data.mkdir(parents=True)
    (data / "test.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, corpus)))
    (data / "schema.json").write_bytes(msgspec.json.encode(corpus.schema))
    (folder / "our_bot.py").write_text(BOT.format(module=tracker[0], name=tracker[1]))
    return folder


def work(step: dict[str, Any], folder: Path, store: Path) -> int:
    """Run a step's commands as GitHub does, with a `gh` that keeps artifacts in a folder; the exit code."""
    programs = store / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name, text in {"gh": GH, "dstress": f'#!/bin/sh\nexec "{sys.executable}" -m dstress "$@"\n'}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    known = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": SEARCHED, "STORE": str(store)}
    environment = os.environ | known | {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode


def test_a_pull_request_is_gated_against_what_main_stored(steps: dict[str, Any], tmp_path: Path) -> None:
    store = tmp_path / "store"
    main = checkout(tmp_path / "main", RULES)
    assert work(steps["Stress the tracker"], main, store) == 0
    assert work(steps["Fetch the baseline"], main, store) == 0 and not (main / "runs" / "baseline").exists()
    (main / steps["Store the baseline"]["with"]["path"]).rename(store / "baseline")

    for tracker, code, verdict in ((RULES, 0, "passed"), (EMPTY, 1, "FAILED")):
        request = checkout(tmp_path / tracker[1], tracker)
        assert work(steps["Stress the tracker"], request, store) == 0
        assert work(steps["Fetch the baseline"], request, store) == 0
        assert (request / "runs" / "baseline" / "run.toml").exists()  # by which the workflow knows that there is one
        assert work(steps["Gate"], request, store) == code
        assert verdict in (request / "summary.md").read_text()
    (request / "runs" / "new" / "scores.json").unlink()
    (request / "verdict.md").unlink()
    assert work(steps["Gate"], request, store) == 2  # there is no verdict, and the code says so


def test_the_page_shows_the_whole_file() -> None:
    assert f"```yaml\n{WORKFLOW.read_text('utf-8')}```\n" in (DOCS / "how-to" / "release-gate.md").read_text("utf-8")
