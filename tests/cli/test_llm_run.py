"""`dstress run` with a language model behind an endpoint: calls that do not come, repeats, prices."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dstress.cli.main import main
from dstress.pipeline.estimate import UnconfirmedCost
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.runs.folder import RunFolder
from dstress.trackers.llm.tracker import Llm
from tests.trackers import serving
from tests.trackers.serving import Served, completion

SUITE = """
title = "Small"
about = "as people type"
metrics = ["jga"]
stressors = ["typos"]
"""


@pytest.fixture(autouse=True)
def suite(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SUITE)


@pytest.fixture
def server() -> Iterator[Served]:
    with serving.serving(serving.model, "/v1") as served:
        yield served


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(server: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the suite on a few dialogues; the exit code, and what was said, comes back."""

    def start(arguments: str = "", *more: str) -> tuple[int, str]:
        tracker = f'llm("{server.url}", model=small, services=dialogue, retries=0{arguments})'
        asked = ["--tracker", tracker, "--corpus", "reminder:test", "--limit", "3", "--out", str(tmp_path / "run")]
        with pytest.raises(SystemExit) as end:
            main(["run", str(tmp_path / "small.toml"), *asked, *more])
        told = capsys.readouterr()
        error = told.err.partition("error: ")[2]  # without the progress, of which a slow machine shows more
        return int(end.value.code or 0), " ".join((told.out + error).split())

    return start


def test_a_killed_run_has_every_answer_that_came(server: Served, run: Run, tmp_path: Path) -> None:
    """The journal and the progress have it at once: they waited for 64 answers."""
    shown: list[tuple[str, int, int | None]] = []

    def kill(what: str, done: int, total: int | None) -> None:
        shown.append((what, done, total))
        if done == 5:
            raise KeyboardInterrupt

    tracker = Llm(server.url, "small", services="dialogue", concurrency=1)
    with pytest.raises(KeyboardInterrupt):
        evaluate(str(tmp_path / "small.toml"), tracker, "reminder:test", tmp_path / "run", limit=3, on_progress=kill)
    answers = (tmp_path / "run" / "predictions" / "original.jsonl").read_bytes().splitlines()
    assert len(answers) == 5
    (first, *_, last) = [each for each in shown if each[0].startswith("tracking")]
    assert first == ("tracking: original", 0, last[2]) and last[:2] == ("tracking: original; 550 tokens", 5)


def test_a_run_says_how_many_answers_came_without_the_call(server: Served, run: Run) -> None:
    server.answer = lambda asked: completion("Sure!") if "tools" in asked else serving.model(asked)
    code, told = run(", mode=tools")
    assert code == 0, told
    asked_for_json = sum("response_format" in asked for asked in server.asked)
    assert f"{asked_for_json} answers came as JSON and not as the tool call" in told


def moody(asked: dict[str, Any]) -> dict[str, Any]:
    """A model that answers otherwise with every seed."""
    return completion(json.dumps(dict.fromkeys(serving.asked_slots(asked), str(asked["seed"]))))


@pytest.mark.slow
def test_repeats_show_how_far_a_model_agrees_with_itself(server: Served, run: Run, tmp_path: Path) -> None:
    server.answer = moody
    code, told = run("", "--repeats", "3")
    assert code == 0, told
    assert "3 answers to every turn" in told and "pass^3 %" in told
    once = len(server.asked) / 3
    assert [sum(asked["seed"] == seed for asked in server.asked) for seed in (1, 2, 3)] == [once] * 3
    found = RunFolder.open(tmp_path / "run")
    assert found.scores.repeats["original"].differing == 1.0
    assert {answer.state["taxi-day"] for answer in found.variant("typos").journal(3) if "taxi-day" in answer.state} == {
        "3"
    }
    assert "Repeatability" in (tmp_path / "run" / "report.html").read_text()
    # All is kept: a second run asks nobody.
    assert run("", "--repeats", "3", "--out", str(tmp_path / "second"))[0] == 0
    assert len(server.asked) == 3 * once
    assert RunFolder.open(tmp_path / "second").scores.repeats == found.scores.repeats


@pytest.mark.slow
def test_repeats_go_on_where_they_were_killed(server: Served, run: Run, tmp_path: Path, data_home: Path) -> None:
    def kill(step: str, done: int, total: int | None) -> None:
        if step.startswith("tracking again (2): original") and done == 3:
            raise KeyboardInterrupt

    server.answer = moody
    folder, cache = tmp_path / "run", data_home / "llm" / "responses.sqlite"
    assert run(", concurrency=1", "--repeats", "2")[0] == 0
    whole = {path.name: path.read_bytes() for path in (folder / "predictions-2").iterdir()}
    repeated = sum(request["seed"] == 2 for request in server.asked)
    shutil.rmtree(folder)
    cache.unlink()
    tracker = f'llm("{server.url}", model=small, services=dialogue, retries=0, concurrency=1)'
    with pytest.raises(KeyboardInterrupt):
        options = RunOptions(limit=3, repeats=2, on_progress=kill)
        evaluate(str(tmp_path / "small.toml"), tracker, "reminder:test", folder, options)
    cache.unlink()
    journal = folder / "predictions-2" / "original.jsonl"
    journal.write_bytes(journal.read_bytes()[:-9])
    server.asked.clear()
    code, printed = run(", concurrency=1", "--repeats", "2", "--resume")
    assert code == 0, printed
    # Two answers were whole.
    assert [request["seed"] for request in server.asked] == [2] * (repeated - 2)
    assert {path.name: path.read_bytes() for path in (folder / "predictions-2").iterdir()} == whole
    assert run(", concurrency=1", "--repeats", "3", "--resume") == (
        2,
        f"{folder}: the run was begun with another repeats fix: give another --out",
    )


def test_a_deterministic_tracker_agrees_with_itself(tmp_path: Path) -> None:
    options = RunOptions(limit=3, repeats=2, resamples=20, report=False)
    scores = evaluate(str(tmp_path / "small.toml"), "rules", "reminder:test", tmp_path / "run", options).scores
    for variant, found in scores.repeats.items():
        assert (found.spread, found.differing) == (0, 0)
        assert found.jga == found.passed == pytest.approx([scores.variants[variant].metrics["jga"].value] * 2)


PRICED = ", price_in=1000.0, price_out=10000.0"
"""Money for a million tokens: a turn of 100 and 10 tokens costs 0.2."""


def test_a_priced_run_stops_with_an_estimate_that_holds(server: Served, run: Run, tmp_path: Path) -> None:
    code, told = run(PRICED)
    few = len(server.asked)
    assert code == 2 and few >= 8
    found = re.search(r"([\d,]+) more turns would cost about ([\d.]+) \(([\d,]+) tokens in, ([\d,]+) out\)", told)
    assert found, told
    assert f"by {few} that were asked" in told and "--resume --yes" in told
    assert RunFolder.open(tmp_path / "run").variant("original").journal().answered == few
    # Whoever tries again gets the same estimate, and pays for no more.
    assert run(PRICED, "--resume") == (code, told)
    assert len(server.asked) == few
    code, _ = run(PRICED, "--resume", "--yes")
    assert code == 0
    turns, money, tokens_in, tokens_out = (float(text.replace(",", "")) for text in found.groups())
    asked = len(server.asked) - few
    assert (turns, money, tokens_in, tokens_out) == (asked, pytest.approx(0.2 * asked), 100 * asked, 10 * asked)
    contents = [asked["messages"][-1]["content"] for asked in server.asked]
    assert len(contents) == len(set(contents))


def test_a_person_is_asked(server: Served, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    questions: list[str] = []
    replies = iter([False, True])

    def confirm(question: str, **_: object) -> bool:
        questions.append(question)
        return next(replies)

    monkeypatch.setattr("click.confirm", confirm)
    assert run(PRICED)[0] == 2
    few = len(server.asked)
    assert run(PRICED, "--resume")[0] == 0
    assert len(server.asked) > few
    assert questions[0] == questions[1] and questions[0].endswith("Go on?")


def test_what_was_answered_before_tells_nothing_of_prices(server: Served, run: Run, tmp_path: Path) -> None:
    assert run("")[0] == 0  # nobody is asked about a tracker without a price
    unpriced = len(server.asked)
    code, told = run(PRICED, "--limit", "9", "--out", str(tmp_path / "more"))
    few = len(server.asked) - unpriced
    found = re.search(r"([\d,]+) more turns would cost about ([\d.]+) .* by (\d+) that were asked", told)
    assert code == 2 and found, told
    assert int(found[3]) == few >= 8
    assert float(found[2]) == pytest.approx(0.2 * int(found[1]))


def test_in_python_nobody_is_asked_unless_it_is_wanted(server: Served, tmp_path: Path) -> None:
    suite, tracker = str(tmp_path / "small.toml"), Llm(server.url, "small", services="dialogue", price_in=1.0)
    options = RunOptions(limit=3, resamples=20, report=False)
    with pytest.raises(UnconfirmedCost) as stopped:
        evaluate(suite, tracker, "reminder:test", tmp_path / "run", options._replace(confirmed=False))
    assert stopped.value.estimate.turns > stopped.value.estimate.by > 0
    assert evaluate(suite, tracker, "reminder:test", tmp_path / "run", options._replace(resume=True)).scores
