"""`dstress run` with a language model behind an endpoint: calls that do not come, repeats, prices."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dstress.cli.main import main
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.runs.folder import RunFolder
from tests.trackers import serving
from tests.trackers.serving import Served, completion

SUITE = """
title = "Small"
about = "as people type"
metrics = ["jga"]
stressors = ["typos"]
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTRESS_HOME", str(tmp_path / "home"))
    (tmp_path / "small.toml").write_text(SUITE)


@pytest.fixture
def server() -> Iterator[Served]:
    with serving.serving(serving.model, "/v1") as served:
        yield served


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(server: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the suite on a few dialogues; the exit code, and all that was said, comes back."""

    def start(arguments: str = "", *more: str) -> tuple[int, str]:
        tracker = f'llm("{server.url}", model=small, services=dialogue, retries=0{arguments})'
        asked = ["--tracker", tracker, "--corpus", "reminder:test", "--limit", "3", "--out", str(tmp_path / "run")]
        with pytest.raises(SystemExit) as end:
            main(["run", str(tmp_path / "small.toml"), *asked, *more])
        told = capsys.readouterr()
        return int(end.value.code or 0), " ".join((told.out + told.err).split())

    return start


def test_a_run_says_how_many_answers_came_without_the_call(server: Served, run: Run) -> None:
    server.answer = lambda asked: completion("Sure!") if "tools" in asked else serving.model(asked)
    code, told = run(", mode=tools")
    assert code == 0, told
    asked_for_json = sum("response_format" in asked for asked in server.asked)
    assert f"{asked_for_json} answers came as JSON and not as the tool call" in told


def moody(asked: dict[str, Any]) -> dict[str, Any]:
    """A model that answers otherwise with every seed."""
    return completion(json.dumps(dict.fromkeys(serving.asked_slots(asked), str(asked["seed"]))))


def test_repeats_show_how_far_a_model_agrees_with_itself(server: Served, run: Run, tmp_path: Path) -> None:
    server.answer = moody
    code, told = run("", "--repeats", "3")
    assert code == 0, told
    assert "3 answers to every turn" in told and "pass^3 %" in told
    once = len(server.asked) / 3
    assert [sum(asked["seed"] == seed for asked in server.asked) for seed in (1, 2, 3)] == [once] * 3
    found = RunFolder.open(tmp_path / "run")
    assert found.scores.repeats["original"].differing == 1.0
    assert {answer.state["taxi-day"] for answer in found.journal("typos", 3) if "taxi-day" in answer.state} == {"3"}
    assert "How far the tracker agrees with itself" in (tmp_path / "run" / "report.html").read_text()
    # All is kept: a second run asks nobody.
    assert run("", "--repeats", "3", "--out", str(tmp_path / "second"))[0] == 0
    assert len(server.asked) == 3 * once
    assert RunFolder.open(tmp_path / "second").scores.repeats == found.scores.repeats


def test_repeats_go_on_where_they_were_killed(server: Served, run: Run, tmp_path: Path) -> None:
    server.answer = moody
    assert run("", "--repeats", "2")[0] == 0
    whole = {path.name: path.read_bytes() for path in (tmp_path / "run" / "predictions-2").iterdir()}
    torn = tmp_path / "run" / "predictions-2" / "original.jsonl"
    torn.write_bytes(whole["original.jsonl"][:-9])
    (tmp_path / "run" / "scores.json").unlink()
    (tmp_path / "home" / "llm" / "responses.sqlite").unlink()
    server.asked.clear()
    code, told = run("", "--repeats", "2", "--resume")
    assert code == 0, told
    assert [asked["seed"] for asked in server.asked] == [2] * len(server.asked) != []
    assert len({asked["messages"][-1]["content"] for asked in server.asked}) == 1
    assert {path.name: path.read_bytes() for path in (tmp_path / "run" / "predictions-2").iterdir()} == whole
    assert run("", "--repeats", "3", "--resume") == (
        2,
        f"error: {tmp_path}/run: the run was begun with another repeats fix: give another --out",
    )


def test_a_deterministic_tracker_agrees_with_itself(tmp_path: Path) -> None:
    options = RunOptions(limit=3, repeats=2, resamples=20, report=False)
    scores = evaluate(str(tmp_path / "small.toml"), "rules", "reminder:test", tmp_path / "run", options).scores
    for variant, found in scores.repeats.items():
        assert (found.spread, found.differing) == (0, 0)
        assert found.jga == found.passed == pytest.approx([scores.variants[variant].metrics["jga"].value] * 2)
