"""`dstress compare` as a person meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli, main
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.predictions import write_predictions
from dstress.predictions.base import Prediction
from tests.paths import DOCS

PAGE = DOCS / "comparing.md"


def run(*arguments: object) -> str:
    answer = CliRunner().invoke(cli, ["compare", *map(str, arguments)], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A system that is right in every turn of 20 dialogues, and one that is right in none but one."""
    gold = {"hotel-area": ("north",)}
    paths = [tmp_path / "old_one.json", tmp_path / "new.json"]
    for path, right in zip(paths, (1, 20), strict=True):
        said = [Prediction(f"d{n}", 0, {"hotel-area": "north" if n < right else "east"}, gold=gold) for n in range(20)]
        write_predictions(said, path, "trade")
    return paths


def test_the_console_shows_percentages_and_a_sentence(files: list[Path]) -> None:
    shown = run(*files)
    assert re.search(r"jga +5\.00 \[0\.58, 32\.27\] +100\.00 \[83\.16, 100\.00\] +20$", shown, re.MULTILINE)
    assert re.search(r"jga +\+95\.00 ", shown) and re.search(r"hotel-area +\+95\.00 .* 1 -> 20 +19 -> 0", shown)
    sentence = shown.strip().splitlines()[-1]
    assert sentence.startswith("Significant at alpha 0.05") and "new is above old_one in jga" in sentence


def test_json_has_fractions(files: list[Path], tmp_path: Path) -> None:
    run(*files, "--json", tmp_path / "out.json", "--metrics", "jga,fga(lambda=0.25)")
    made = json.loads((tmp_path / "out.json").read_text())
    keys = ["signature", "systems", "pairs", "alpha", "conclusion", "notes", "avg-slack", "slices", "stressed"]
    keys.append("ranking")
    assert list(made) == keys
    assert made["systems"]["new"]["jga"]["value"] == 1 and list(made["pairs"][0]["tests"]) == [
        "jga",
        "fga(lambda=0.25)",
    ]
    test = made["pairs"][0]["tests"]["jga"]
    assert test.keys() == {
        "difference",
        "low",
        "high",
        "p",
        "p_holm",
        "significant",
        "dialogues",
        "differ",
        "gains",
    }
    assert test["difference"] == pytest.approx(0.95) and test["significant"] is True
    assert json.loads(run(*files, "--json")).keys() == made.keys()


def test_markdown_and_latex(files: list[Path], tmp_path: Path) -> None:
    shown = run(*files, "--markdown", "-")
    assert "| metric | old_one | new | over |\n| --- | ---: | ---: | ---: |\n| jga | 5.00 [" in shown
    run(*files, "--latex", tmp_path / "t.tex")
    text = (tmp_path / "t.tex").read_text()
    assert text.count("\\toprule") == 3 and "old\\_one & new & over \\\\" in text and "% Significant at" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metrics", "jgaa"], "did you mean 'jga'"),
        (["--metrics", "cjga"], "cjga is of several versions of the data, and not of one file"),
        (["--metrics", ","], "error"),
        (["--convention", "exct"], "'exact'"),
        (["--gold", "nowhere:test"], "nowhere"),
    ],
)
def test_mistakes_are_told(
    files: list[Path], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["compare", *map(str, files), *arguments])
    assert stop.value.code == 2 and message in capsys.readouterr().err


def test_one_file_is_not_enough(files: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(files[0])])
    assert stop.value.code == 2 and "two systems" in capsys.readouterr().err


BLOCK = re.compile(r"^    \$ dstress compare (.*)\n((?:    .*\n|\n)+)", re.MULTILINE)


@pytest.mark.slow
def test_the_page_shows_the_real_output(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared / "data/predictions")
    blocks = [block for block in BLOCK.findall(PAGE.read_text("utf-8")) if not block[0].startswith("runs/")]
    assert blocks
    for arguments, expected in blocks:
        assert _lines(run(*arguments.split())) == _lines(expected)


@pytest.mark.slow
def test_the_page_shows_real_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page makes its runs by `dstress run`; here they are made without their reports."""
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text("utf-8")
    command = r'^    \$ dstress run quick --tracker "?(\S+?)"? --only typos --limit 30 .*--out (\S+)$'
    made = re.findall(command, text, re.MULTILINE)
    assert len(made) == 2
    for tracker, out in made:
        evaluate("quick", tracker, "reminder:test", out, RunOptions(limit=30, only=("typos",), report=False))
    ((arguments, expected),) = [block for block in BLOCK.findall(text) if block[0].startswith("runs/")]
    assert _lines(run(*arguments.split())) == _lines(expected)


def _lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]
