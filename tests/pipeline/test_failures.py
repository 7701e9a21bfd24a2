"""Failures are loud: nothing that failed wholly looks like a result."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from dstress.cli.main import main
from dstress.dialogue import Dialogue, Schema, Turn
from dstress.engines import Local
from dstress.errors import DstressError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.gate import Limits, gate
from dstress.pipeline.run import RunOptions
from dstress.pipeline.track import Request, record_answer, track_requests
from dstress.predictions.base import Prediction
from dstress.trackers.base import Context
from tests.fakes.trackers import SUITE, Naughty
from tests.paths import SEARCHED
from tests.stressors.samples import sample

REMINDER = sample("reminder", None, 24)
QUIET = RunOptions(resamples=20, report=False, only=("typos",))


@pytest.fixture
def suite(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SUITE)
    return str(path)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_tracker_that_always_raises_stops_the_run(workers: int, suite: str, tmp_path: Path) -> None:
    with pytest.raises(DstressError, match=r"(?s)failed on each of the \d+ turns.*Traceback.*cannot understand this"):
        evaluate(suite, Naughty("raise", 1), REMINDER, tmp_path / "run", QUIET, Local(workers))
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_the_command_line_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tracker = "tests.fakes.trackers:Naughty(every=1)"
    with pytest.raises(SystemExit) as left:
        main(["run", "quick", "--tracker", tracker, "--corpus", "reminder:test", "--out", str(tmp_path / "run")])
    told = capsys.readouterr().err
    assert left.value.code == 2 and "in track" in told and "cannot understand this" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("exit", "SystemExit: 0"),
        ("die", "the worker process died"),
        ("exit early", "the tracker ended the process while it was prepared: SystemExit: 0"),
        ("die early", "the worker process ended before it could begin, with exit status 0"),
    ],
)
def test_a_tracker_that_ends_the_process_is_no_success(how: str, told: str, tmp_path: Path) -> None:
    tracker = f'tests.fakes.trackers:Naughty(how="{how}", every=1)'
    suite = tmp_path / "plain.toml"
    suite.write_text('title = "Plain"\nmetrics = ["jga"]\n')
    arguments = ["run", str(suite), "--tracker", tracker, "--corpus", "reminder:test", "--limit", "1"]
    command = [sys.executable, "-m", "dstress", *arguments, "--out", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": SEARCHED})
    assert done.returncode == 2 and told in done.stderr


def test_a_component_that_ends_the_process_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["run", "quick", "--tracker", "leaving:Tracker", "--corpus", "reminder:test"])
    assert left.value.code == 2 and "a component ended the process: exit(0)" in capsys.readouterr().err


def test_what_cannot_travel_says_so(suite: str, tmp_path: Path) -> None:
    tracker = Naughty()
    tracker.connection = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(DstressError, match=r"(?s)cannot be sent to another process.*fix: open files"):
        evaluate(suite, tracker, REMINDER, tmp_path / "run", QUIET, Local(2))


def test_max_failed(suite: str, tmp_path: Path) -> None:
    tracker = Naughty("raise", 5)
    with pytest.raises(DstressError, match=r"turns \(\d.* %\) of original have no answer.*cannot understand this"):
        evaluate(suite, tracker, REMINDER, tmp_path / "strict", QUIET._replace(max_failed=0.01))
    assert (tmp_path / "strict").exists()  # what was answered is kept
    run = evaluate(suite, tracker, REMINDER, tmp_path / "run", QUIET)
    assert "ValueError: cannot understand this" in run.scores.notes[0]
    with pytest.raises(DstressError, match="have no answer"):
        gate(run, run)
    assert gate(run, run, Limits(max_failed=0.9)).passed


def test_a_failed_start_leaves_what_was_there(suite: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(DstressError):
        evaluate(suite, Naughty("raise", 1), REMINDER, tmp_path / "run", QUIET)
    assert (tmp_path / "run" / "notes.txt").exists()


@pytest.mark.parametrize(
    ("dialogue", "turn", "fails"),
    [
        ("d", 1, False),
        ("", 0, False),
        ("", 1, False),
        ("other", 1, True),
        ("d", 0, True),
        ("d", 99, True),
        ("", 99, True),
    ],
)
def test_an_answer_for_another_turn_fails_this_one(dialogue: str, turn: int, fails: bool) -> None:
    """As over HTTP; what names neither is for the turn that was asked."""
    context = Context(Dialogue("d", (Turn("hello"), Turn("north"))), 1, Schema())
    answer = record_answer(context, Prediction(dialogue, turn, {"hotel-area": "north"}))
    assert (answer.dialogue, answer.turn, bool(answer.failed)) == ("d", 1, fails)


def test_a_tracker_that_changes_the_previous_state_into_its_answer_changes_nothing_else() -> None:
    request = Request(Dialogue("d", (Turn("hello"), Turn("north"))), [1], {0: {"hotel-stars": "4"}})

    def track(contexts: Sequence[Context]) -> list[Prediction]:
        state = contexts[0].previous
        assert isinstance(state, dict)
        state["hotel-area"] = "north"
        return [Prediction("d", 1, state)]

    answers = list(track_requests([request], Schema(), track, sequential=True))
    assert answers[0].state == {"hotel-stars": "4", "hotel-area": "north"}
    assert request.previous == {0: {"hotel-stars": "4"}}
