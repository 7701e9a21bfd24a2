"""`dstress run` with a language model behind an endpoint: calls that do not come, repeats, prices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dstress.cli.main import main
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
