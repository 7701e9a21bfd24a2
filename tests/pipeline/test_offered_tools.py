"""`run --tools`: a reworded tool set is gated against the last one, on the same requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dstress.api import Call, Context, Prediction, Tracker
from dstress.cli.main import cli
from dstress.pipeline.gate import Limits, gate
from dstress.runs.folder import RunFolder

CITIES = ("Rome", "Oslo", "Lima", "Cairo", "Quito", "Delhi", "Minsk", "Accra", "Hanoi", "Sofia", "Dakar", "Tunis")
BARE = "tools(change=descriptions)"
GOOD = {"get_weather": "weather forecast of a city", "find_hotel": "hotel rooms in a city"}
VAGUE = {"get_weather": "Looks something up.", "find_hotel": "hotel rooms in a city, whatever the weather"}


class Reader(Tracker):
    """Calls the tool whose description shares most words with the request, for the city at its end."""

    def track(self, contexts: Sequence[Context]) -> list[Prediction]:
        return [self.call(context) for context in contexts]

    def call(self, context: Context) -> Prediction:
        *words, city = context.user.strip("?").split()
        best = max(
            context.tools, key=lambda tool: len(set(words) & set(tool.description.lower().replace(",", "").split()))
        )
        return Prediction(context.dialogue, context.turn, {}, calls=(Call(best.name, {"city": city}),))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("requests").mkdir()
    (Path("requests") / "test.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in requests()))
    for name, descriptions in (("old", GOOD), ("new", VAGUE)):
        schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        tools = [{"name": tool, "description": text, "inputSchema": schema} for tool, text in descriptions.items()]
        Path(f"{name}.json").write_text(json.dumps({"result": {"tools": tools}}))
    return tmp_path


def requests() -> list[dict[str, object]]:
    asked = [(f"what weather is there in {city}?", "get_weather", city) for city in CITIES]
    asked += [(f"any hotel rooms in {city}?", "find_hotel", city) for city in CITIES]
    return [
        {"id": f"q{number}", "turns": [{"user": user, "calls": [{"tool": tool, "arguments": {"city": [city]}}]}]}
        for number, (user, tool, city) in enumerate(asked)
    ]


def run(name: str, *further: str) -> Result:
    tracker = "tests.pipeline.test_offered_tools:Reader"
    options = ["--tools", f"{name}.json", "--corpus", "./requests", "--tracker", tracker, "--only", f"typos,{BARE}"]
    return CliRunner().invoke(cli, ["run", "tools", *options, "--out", f"runs/{name}", *further])


def test_a_reworded_tool_set_is_gated_against_the_last(folder: Path) -> None:
    for name in ("old", "new"):
        result = run(name)
        assert result.exit_code == 0, result.output
        assert f"tools of {name}.json" in result.output
    limits = Limits(metric="call-accuracy")
    old, new = (RunFolder.open(folder / "runs" / name) for name in ("old", "new"))
    verdict = gate(new, old, limits)
    assert not verdict.passed and verdict.checks["original"].difference == -0.5
    assert gate(old, old, limits).passed
    assert run("new", "--resume").exit_code == 0


def test_other_requests_are_refused(folder: Path) -> None:
    run("old")
    path = folder / "requests" / "test.jsonl"
    path.write_text(path.read_text().replace("Rome", "Bonn"))
    run("new")
    result = CliRunner().invoke(cli, ["gate", "runs/new", "--against", "runs/old", "--metric", "call-accuracy"])
    assert "the data of original" in str(result.exception)


def test_costs_and_pairs_of_a_run_are_of_calls(folder: Path) -> None:
    """Of states, of which there are none, everything would be right."""
    assert run("old").exit_code == 0
    scores = RunFolder.open(folder / "runs" / "old").scores
    assert scores.joint == "call-accuracy" and scores.drops[BARE].difference == -0.5
    assert {name: scores.paired[BARE][name].value for name in ("cjga", "newly-wrong")} == {
        "cjga": 0.5,
        "newly-wrong": 0.5,
    }
    page = (folder / "runs" / "old" / "report.html").read_text(encoding="utf-8")
    assert "Call accuracy falls from 100.0 % to 50.0 %" in page and "Joint goal accuracy under" not in page


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "no tools can be read here"),
        ('{"tools": 3}', "this is no list of tools"),
        ('[{"name": "get_wether"}]', "did you mean 'get_wether'"),
    ],
)
def test_tools_that_cannot_be_are_told(folder: Path, text: str, words: str) -> None:
    Path("old.json").write_text(text)
    assert words in str(run("old").exception)
    assert not Path("runs/old").exists()
