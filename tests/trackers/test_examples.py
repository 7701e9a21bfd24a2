"""The examples run as they are, say the same, and stand word for word in the documentation."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from dstress.engines import Local
from dstress.pipeline.track import Request, Tracking
from dstress.predictions.base import Prediction
from dstress.trackers import create
from dstress.trackers.base import Tracker
from tests.paths import ROOT, SEARCHED
from tests.trackers import serving
from tests.trackers.serving import completion, held, resources

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGE = (ROOT / "docs" / "trackers" / "README.md").read_text()


def answers(tracker: Tracker, folder: Path) -> list[Prediction]:
    """What the engine records for a few dialogues of `reminder`."""
    corpus = held("reminder:test")
    job = Tracking(tracker, lambda: resources(folder, corpus.schema), corpus.schema)
    asked = [Request(dialogue, list(range(len(dialogue.turns)))) for dialogue in corpus.dialogues[:5]]
    job.open()
    try:
        lines = job.run(asked).lines.splitlines()
    finally:
        job.close()
    found = [msgspec.json.decode(line, type=Prediction) for line in lines]
    return sorted(found, key=lambda answer: (answer.dialogue, answer.turn))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[Prediction]:
    """The Python tracker's answers."""
    spec = importlib.util.spec_from_file_location("python_tracker", ROOT / "examples" / "python_tracker.py")
    if spec is None or spec.loader is None:
        pytest.fail("no example")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return answers(module.WordTracker(), tmp_path_factory.mktemp("data"))


def test_a_class_answers(expected: list[Prediction]) -> None:
    assert not any(answer.failed for answer in expected)
    gold = [turn.state for dialogue in held("reminder:test").dialogues[:5] for turn in dialogue.turns]
    slots = [(slot, forms) for state in gold for slot, forms in state.items()]
    found = [slot for state, answer in zip(gold, expected, strict=True) for slot in state if slot in answer.state]
    # A poor tracker, but one: it finds some of the slots, and by far not all.
    assert 0.1 < len(found) / len(slots) < 0.9


def test_a_class_is_found_by_its_name(tmp_path: Path) -> None:
    command = "from dstress.trackers import create; print(create('python_tracker:WordTracker').sequential)"
    run = subprocess.run(
        [sys.executable, "-c", command],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'examples'}{os.pathsep}{SEARCHED}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "True\n"


def same(found: list[Prediction], expected: list[Prediction]) -> bool:
    """The last value said wins where a tracker looks at all words at once or one turn at a time, but not always."""
    return [sorted(answer.state) for answer in found] == [sorted(answer.state) for answer in expected]


def test_a_program_answers(expected: list[Prediction], tmp_path: Path) -> None:
    tracker = create(f'command("{sys.executable} {ROOT}/examples/command_tracker.py")')
    found = answers(tracker, tmp_path)
    assert not any(answer.failed for answer in found)
    assert same(found, expected)


def test_worker_processes_answer_the_same(expected: list[Prediction], tmp_path: Path) -> None:
    """The tracker travels to its workers before it is prepared, and starts a program in each."""
    corpus = held("reminder:test")
    tracker = create(f'command("{sys.executable} {ROOT}/examples/command_tracker.py")')
    job = Tracking(tracker, partial(resources, tmp_path, corpus.schema), corpus.schema)
    pieces = [[Request(one, list(range(len(one.turns))))] for one in corpus.dialogues[:5]]
    results = list(Local(workers=2).in_order(job, pieces))
    lines = b"".join(result.lines for result in results).splitlines()
    assert same([msgspec.json.decode(line, type=Prediction) for line in lines], expected)
    assert 1 <= sum(result.used.get("starts", 0) for result in results) <= 2


@pytest.fixture
def port() -> Iterator[int]:
    with socket.socket() as chosen:
        chosen.bind(("localhost", 0))
        number = chosen.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, ROOT / "examples" / "http_tracker.py", str(number)], stderr=subprocess.DEVNULL
    )
    for _ in range(200):
        try:
            socket.create_connection(("localhost", number), timeout=1).close()
            break
        except OSError:
            time.sleep(0.05)
    yield number
    server.kill()
    server.wait()


def test_a_server_answers(expected: list[Prediction], port: int, tmp_path: Path) -> None:
    found = answers(create(f'http("http://localhost:{port}")'), tmp_path)
    assert not any(answer.failed for answer in found)
    assert same(found, expected)


@pytest.mark.slow
def test_a_language_model_answers(tmp_path: Path) -> None:
    with serving.serving(lambda asked: completion('{"trips-tickets": "4"}'), "/v1") as server:
        run = subprocess.run(
            [sys.executable, ROOT / "examples" / "llm_tracker.py", server.url, "some/model:7b", "2"],
            env=os.environ | {"DSTRESS_HOME": str(tmp_path), "DSTRESS_API_KEY": "k"},
            capture_output=True,
            text=True,
            check=True,
        )
    assert run.stdout.count("\n    {'trips-tickets': '4'}\n") == 2
    assert "'requests': 2.0" in run.stdout
    assert server.asked[0]["model"] == "some/model:7b"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_documentation_shows_the_example(path: Path) -> None:
    code = path.read_text().partition('"""\n\n')[2].rstrip()
    assert f"```python\n{code}\n```" in PAGE
    lines = [line for line in code.splitlines() if line.strip() and not line.strip().startswith('"""')]
    assert len(lines) <= 15
    assert len(path.read_text().splitlines()) <= 25


def test_every_kind_has_an_example_and_every_link_leads_somewhere() -> None:
    assert [path.stem for path in EXAMPLES] == ["command_tracker", "http_tracker", "llm_tracker", "python_tracker"]
    for page in (ROOT / "docs" / "trackers").glob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
