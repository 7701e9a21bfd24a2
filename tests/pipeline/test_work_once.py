"""A run does its work once: counted over one in a process of its own, since an audit hook stays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = """
import json, os, sys
from collections import Counter
from pathlib import Path

counts = Counter()
out = Path(sys.argv[1])


def count_opened(event, arguments):
    if event == "open" and isinstance(arguments[0], str | os.PathLike):
        path = Path(arguments[0])
        if out in path.parents:
            counts[str(path.relative_to(out))] += 1


class Counting:
    def __init__(self, decoder):
        self.decoder = decoder

    def decode(self, line):
        counts["answers decoded"] += 1
        return self.decoder.decode(line)


from dstress.cli.main import cli
from dstress.runs import journal
from dstress.stressors.composition import Composition

journal._PREDICTION = Counting(journal._PREDICTION)
made = Composition.__init__


def count_made(self, *arguments, **named):
    made(self, *arguments, **named)
    counts["composed " + self.spec] += 1


Composition.__init__ = count_made
sys.addaudithook(count_opened)
order = ["run", "checkdst", "--tracker", "rules", "--corpus", "reminder:test", "--limit", "30", "--out", str(out)]
cli(order, standalone_mode=False)
Path(sys.argv[2]).write_text(json.dumps(counts))
"""


@pytest.mark.slow
def test_a_run_does_its_work_once(tmp_path: Path) -> None:
    run, counted = tmp_path / "run", tmp_path / "counts.json"
    subprocess.run([sys.executable, "-c", COUNT, str(run), str(counted)], check=True, capture_output=True)
    counts: dict[str, int] = json.loads(counted.read_text())
    answers = sum(len(path.read_bytes().splitlines()) for path in run.glob("predictions/*.jsonl"))
    opened = {name: count for name, count in counts.items() if name.startswith("predictions/") and "/." not in name}
    assert len(opened) == 4 and max(opened.values()) <= 5
    schemas = {name: count for name, count in counts.items() if name.endswith(".schema.json")}
    assert len(schemas) == 4 and set(schemas.values()) == {1}, schemas
    composed = {name: count for name, count in counts.items() if name.startswith("composed ")}
    assert len(composed) == 3 and max(composed.values()) <= 2, composed
    assert answers > 400 and counts["answers decoded"] <= 3 * answers
