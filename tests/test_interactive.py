"""A tracker that was typed into a notebook's cell works like one of a file: workers, resume, fingerprint.

The shell is IPython's own, in a process of its own: it takes the place of `__main__`. Plain Python keeps no text of
what was typed in.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.parts import need

SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in sys.stdin.read().split("# ---\\n"):
    result = shell.run_cell(cell)
    if not result.success:
        sys.exit(1)
"""
PLAIN = """
import sys

for cell in sys.stdin.read().split("# ---\\n"):
    exec(compile(cell, "<stdin>", "exec"))
"""
SUITE = """
title = "One"
metrics = ["jga"]
stressors = ["typos"]
[[table]]
column = "a"
variant = "typos"
metric = "jga"
"""
TABLE = 'WORDS = {"monday": "trips-day"}\n'
HELPER = "def find(words):\n    return {WORDS[word]: word for word in words if word in WORDS}\n"
TRACKER = """
import dstress
class Mine(dstress.Tracker):
    shift = 0
    def __init__(self, most=9):
        self.most = most
    def track(self, contexts):
        # a comment
        return [self.answer(context.user.lower().replace(".", "").split()) for context in contexts]
    def answer(self, words):
        return dict(list(find(words).items())[:self.most])
"""
RUN = 'run = dstress.evaluate("one.toml", Mine(), "reminder:test", "run", limit=3, report=False)\nprint(run)\n'
AGAIN = RUN.replace("report=False", "report=False, resume=True")


def shell(folder: Path, home: Path, *cells: str, kind: str = SHELL) -> str:
    """What cells print, run one after the other in a new shell."""
    if kind == SHELL:
        need("ipython")
    (folder / "one.toml").write_text(SUITE)
    environment = {"DSTRESS_HOME": str(home), "PYTHONPATH": ":".join(sys.path), "IPYTHONDIR": str(folder / "ipython")}
    done = subprocess.run(
        [sys.executable, "-c", kind],
        input="# ---\n".join(cells),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SHELL, PLAIN])
def test_a_cells_tracker_runs_here_and_in_workers(kind: str, tmp_path: Path, ready_home: Path) -> None:
    shared = (
        "from dstress.engines.local import Local\n"
        'more = dstress.evaluate("one.toml", Mine(), "reminder:test", "more", limit=3, report=False, engine=Local(2))\n'
        "print(more.scores.table == run.scores.table, more.manifest.hashes == run.manifest.hashes)\n"
    )
    printed = shell(tmp_path, ready_home, TABLE, HELPER, TRACKER, RUN, shared, kind=kind)
    assert "Run(run: one.toml, Mine on reminder:test, the first 3 dialogues)" in printed and "True True" in printed
    answers = [(tmp_path / name / "predictions" / "original.jsonl").read_text() for name in ("run", "more")]
    assert answers[0] == answers[1] and "monday" in answers[0]


CHANGES = {
    "method": (TABLE, HELPER, TRACKER.replace("[:self.most]", "[:self.most + 1]")),
    "attribute": (TABLE, HELPER, TRACKER.replace("shift = 0", "shift = 1")),
    "helper": (TABLE, HELPER.replace("for word", "for  word").replace("in WORDS}", "in WORDS and word}"), TRACKER),
    "table": (TABLE.replace("monday", "friday"), HELPER, TRACKER),
    "argument": (TABLE, HELPER, TRACKER, "Mine, Old = lambda: Old(most=3), Mine"),
}


@pytest.fixture(scope="module", params=[SHELL, PLAIN], ids=["ipython", "plain"])
def begun(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, ready_home: Path
) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("begun")
    assert "Run(run" in shell(folder, ready_home, TABLE, HELPER, TRACKER, RUN, kind=request.param)
    return folder, request.param


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_cell_is_not_resumed(change: str, begun: tuple[Path, str], ready_home: Path) -> None:
    folder, kind = begun
    printed = shell(folder, ready_home, *CHANGES[change], AGAIN, kind=kind)
    assert "the tracker has changed since the run began" in printed


def test_what_does_the_same_is_resumed(begun: tuple[Path, str], ready_home: Path) -> None:
    """In a new shell, from other cells, with another comment, and beside another run."""
    folder, kind = begun
    commented = TRACKER.replace("# a comment", "# another comment")
    printed = shell(folder, ready_home, "other = 1\n", TABLE + HELPER, commented + AGAIN, kind=kind)
    assert "Run(run" in printed and "changed" not in printed


def test_what_cannot_travel_is_told(tmp_path: Path, ready_home: Path) -> None:
    stuck = TRACKER.replace("self.most = most", "self.most = most; self.lock = __import__('threading').Lock()")
    cell = RUN.replace("report=False", "engine=dstress.engines.local.Local(2)")
    printed = shell(tmp_path, ready_home, TABLE, HELPER, stuck, "import dstress.engines.local\n" + cell)
    assert "the work cannot be sent to another process" in printed and "open files, locks and connections in" in printed
