"""Several starts into one folder at once: one of them runs, the others are told, and nothing is mixed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dstress.runs.folder import RunFolder
from tests.paths import SEARCHED


@pytest.mark.slow
def test_starts_with_other_seeds_do_not_mix(tmp_path: Path, data_home: Path) -> None:
    def start(seed: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dstress", "run", "quick", "--tracker", "gold", "--corpus", "reminder:test",
                   "--limit", "3", "--only", "typos", "--seed", str(seed), "--out", str(tmp_path / "run")]  # fmt: skip
        setting = {**os.environ, "PYTHONPATH": SEARCHED, "DSTRESS_HOME": str(data_home)}
        return subprocess.Popen(command, env=setting, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    started = {seed: start(seed) for seed in (1, 2, 3)}
    told = {seed: process.communicate()[1].decode() for seed, process in started.items()}
    done = [seed for seed, process in started.items() if process.returncode == 0]
    assert len(done) == 1, told
    for seed, message in told.items():
        assert seed in done or "another process is at work" in message or "there is a run already" in message
    run = RunFolder.open(tmp_path / "run")
    assert run.manifest.seed == done[0] and run.variant("typos").quality["seed"] == done[0]
