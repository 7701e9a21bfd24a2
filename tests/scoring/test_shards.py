"""Two processes give the tallies of one, to the last bit; whatever is not clean is left to one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dstress import corpora

# In a process of its own: a test runner has threads, and a process with threads is not forked.
_COMPARE = """
import json, multiprocessing.popen_fork as popen, sys
import msgspec
from dstress.scoring import shards
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import tally_predictions
forks = []
launch = popen.Popen._launch
popen.Popen._launch = lambda self, process: forks.append(1) or launch(self, process)
answers = []
for worth in (0, 1 << 60):
    shards.WORTH_HALVING = worth
    (scored,) = tally_predictions(PredictionSource(sys.argv[1], "sgd:test"), [""])
    answers.append(msgspec.to_builtins(scored.card()))
jga = answers[0]["metrics"]["jga"]["value"]
print(json.dumps({"same": answers[0] == answers[1], "forks": len(forks), "jga": jga}))
"""


def gold(shared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gold" / "test"
    folder.mkdir(parents=True)
    for path in (shared / "golden/sgd/ref").glob("*.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "schema.json").write_bytes((shared / "golden/sgd/schema_test.json").read_bytes())
    corpora.add("sgd", tmp_path / "gold")


def compared(predictions: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", _COMPARE, str(predictions)], capture_output=True, text=True)


def test_two_processes_give_the_scorecard_of_one(shared: Path, tmp_path: Path) -> None:
    gold(shared, tmp_path)
    answer = json.loads(compared(shared / "golden/sgd/preds_a").stdout)
    assert answer["same"] and answer["forks"] == 2
    assert answer["jga"] == pytest.approx(0.9252511170688115, abs=1e-9)


def test_what_does_not_fit_is_told_as_ever(shared: Path, tmp_path: Path) -> None:
    gold(shared, tmp_path)
    folder = tmp_path / "predictions"
    folder.mkdir()
    for path in sorted((shared / "golden/sgd/preds_a").glob("*.json"))[1:]:
        (folder / path.name).write_bytes(path.read_bytes())
    assert "missing dialogues" in compared(folder).stderr
