"""An older version beside this one, in one run: the processor time of scoring SGD's test split, and of a run.

Scoring was to take half of it; what it takes is told as it is.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.sgd_predictions import write_predictions
from benchmarks.timing import report, shared

OLD = "534f233"
"""Before the house was made lighter."""
_ROOT = Path(__file__).parents[1]


def run() -> None:
    archive = shared("data/sgd/test.tar.xz")
    with tempfile.TemporaryDirectory() as scratch:
        packed = subprocess.run(["git", "archive", OLD, "src"], cwd=_ROOT, capture_output=True, check=False)
        if archive is None or packed.returncode:
            print(f"left out: needs the commit {OLD} of the repository")
            return
        subprocess.run(["tar", "-x", "-C", scratch], input=packed.stdout, check=True)
        predictions = Path(scratch, "predictions")
        write_predictions(archive, predictions)
        for source, home in ((Path(scratch, "src"), "old"), (_ROOT / "src", "new")):
            _used(source, scratch, home, "corpora", "add", "sgd", str(archive))
            _used(source, scratch, home, "corpora", "show", "reminder")
        for what, times, limit, words in (
            ("scoring SGD's test split", 4, 0.5, ("score", str(predictions), "--gold", "sgd:test")),
            ("`run checkdst` over 40 dialogues", 2, 1.1, ("run", "checkdst", "--tracker", "rules", "--limit", "40")),
        ):
            seconds = {"new": float("inf"), "old": float("inf")}
            for number in range(times):
                for source, home in ((_ROOT / "src", "new"), (Path(scratch, "src"), "old")):
                    out = ("--corpus", "reminder:test", "--out", f"{scratch}/{home}{number}") if "run" in words else ()
                    seconds[home] = min(seconds[home], _used(source, scratch, home, *words, *out))
            report(f"{what}, processor time", seconds["new"], f"that of {OLD}", seconds["old"], at_most=limit)


def _used(source: Path, scratch: str, home: str, *arguments: str) -> float:
    """The processor time of one command, all its processes together, in a version of its own home."""
    environment = os.environ | {"PYTHONPATH": str(source), "DSTRESS_HOME": f"{scratch}/home-{home}"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # bytecode is cached, as it is for every user
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "dstress", *arguments], env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
