"""`dstress report RUN RUN ...` and `dstress compare RUN RUN RUN` as a person meets them, with real trackers."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli, main
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from tests.parts import need
from tests.paths import DOCS
from tests.stressors.generators.training import training

FEW = RunOptions(limit=8, only=("typos", "entities"), resamples=50, report=False)
TINY = {
    "copy": {"width": 16},
    "causal": {"width": 16, "layers": 1, "heads": 2, "vocabulary": 300, "longest": 60, "longest_answer": 8},
}


def told(*arguments: object) -> str:
    answer = CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def runs(home: Path) -> list[Path]:
    trackers = {"rules": "rules", "gold": "gold", "empty": "empty"}
    return [evaluate("quick", spec, "reminder:test", home / name, FEW).path for name, spec in trackers.items()]


@pytest.fixture(scope="module")
def learned(home: Path) -> list[Path]:
    """A copy and a causal of a few steps each, which have learnt nothing to speak of."""
    need("torch", "models")
    from dstress.learning.recipe import Recipe, TrainingOptions
    from dstress.pipeline.train import train

    made = []
    for family, model in TINY.items():
        options = TrainingOptions(epochs=1, batch=16, rate=0.005)
        few, fewer = training("reminder", None, 8), training("reminder", None, 2)
        train(Recipe(family, few, fewer, model=model, training=options), home / f"{family}-trained")
        tracker = f"{family}(path={home / f'{family}-trained'})"
        made.append(evaluate("quick", tracker, "reminder:test", home / family, FEW).path)
    return made


@pytest.mark.slow
def test_five_trackers_fit_one_page(runs: list[Path], learned: list[Path], tmp_path: Path) -> None:
    shown = told("report", *runs, *learned, "--html", tmp_path / "page.html", "--resamples", 500)
    assert " leads on the original." in shown and "gold leads" not in shown
    assert "Holm's correction over 40 tests" in shown
    page = (tmp_path / "page.html").read_text("utf-8")
    assert all(f'wrong={name}"' in page for name in ("rules", "copy", "causal"))
    assert len(page) < 2_000_000
    (cost,) = re.findall(r"^causal +causal\(path=\S+ +([\d,]+) +([\d.]+) +([\d.]+) +0$", shown, re.MULTILINE)
    assert all(float(part.replace(",", "")) > 0 for part in cost)  # turns, seconds, milliseconds a turn


def test_compare_ranks_three_runs_or_more(runs: list[Path], tmp_path: Path) -> None:
    told("compare", *runs, "--json", tmp_path / "c.json", "--csv", tmp_path / "c.csv", "--resamples", 500)
    made = json.loads((tmp_path / "c.json").read_text())
    original = made["ranking"]["orders"]["original"]
    assert list(original["standings"]) == ["gold", "rules", "empty"]
    assert original["standings"]["gold"]["rank"] == 1 and original["groups"][0][0] == "gold"
    assert list(made["ranking"]["orders"]) == ["original", "typos", "entities", "mean over stressors"]
    with (tmp_path / "c-ranks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["value"]) == original["standings"][rows[0]["system"]]["value"]
    assert json.loads(told("compare", *runs[:2], "--json"))["ranking"] is None


def test_every_form_has_the_tables(runs: list[Path], tmp_path: Path) -> None:
    files = {form: tmp_path / f"t.{form}" for form in ("json", "markdown", "latex", "csv")}
    options = [part for form, file in files.items() for part in (f"--{form}", file)]
    assert told("report", *runs, *options, "--resamples", 100) == ""
    made = json.loads(files["json"].read_text())
    assert list(made) == ["systems", "variants", "ranking", "findings", "notes", "tables"]
    assert list(made["tables"]) == ["systems", "measures", "stressors", "metrics", "cost", "pairs", "differences"]
    assert files["markdown"].read_text().startswith("| version | rules | gold | empty |")
    assert files["latex"].read_text().count("\\toprule") == len(made["tables"]) - 1
    assert {path.name for path in tmp_path.glob("t*.csv")} == {
        "t.csv", "t-measures.csv", "t-stressors.csv", "t-metrics.csv", "t-cost.csv", "t-pairs.csv", "t-differences.csv"
    }  # fmt: skip
    assert "It is the only system beside the baselines" in files["markdown"].read_text()


@pytest.mark.slow
def test_plots_go_where_they_are_asked_for(runs: list[Path], tmp_path: Path) -> None:
    told("report", *runs, "--plots", tmp_path, "--resamples", 100)
    names = {path.name.partition(".")[0] for path in tmp_path.iterdir()}
    assert names == {"ranks", "gains", "profile", "drops", "metrics", "slots"}


@pytest.mark.slow
def test_real_prediction_files_as_runs(shared: Path, tmp_path: Path) -> None:
    """Four trackers of the real data: their answers are saved, and the metric zoo needs no more."""
    predictions, corpus = shared / "data" / "predictions", f"{shared / 'data' / 'multiwoz21-trade'}:test"
    files = {"copy-a": "copy-a-test.json.zip", "copy-b": "copy-b-test.json.zip", "causal-a": "causal-a-test.jsonl.zip"}
    quick = RunOptions(resamples=50, report=False)
    made = [
        evaluate("gca", f"saved(path={predictions / file})", corpus, tmp_path / name, quick).path
        for name, file in files.items()
    ]
    found = json.loads(told("report", *made, "--json", "--resamples", 2000))
    standings = found["ranking"]["orders"]["original"]["standings"]
    assert {name: round(100 * one["value"], 2) for name, one in standings.items()} == {
        "causal-a": 53.28,
        "copy-a": 51.00,
        "copy-b": 50.01,
    }
    assert [standings[name]["group"] for name in ("causal-a", "copy-a", "copy-b")] == ["a", "b", "b"]
    options = ["--metrics", "jga", "--convention", "exact", "--gold", corpus, "--resamples", 2000]
    ranked = json.loads(told("compare", *(predictions / file for file in files.values()), "--json", *options))
    files_standings = ranked["ranking"]["orders"]["original"]["standings"]
    assert [one["group"] for one in files_standings.values()] == ["a", "b", "b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seeds", "--along", "steps"], "one of --seeds, --along and --metric"),
        (["--seeds"], "a single run"),
        (["--tasks", "--seeds"], "--tasks makes one table"),
        (["--along", "steps"], "the name has no number"),
        (["--metric", "jgaa"], "did you mean 'jga'"),
        (["--metric", "ss(jga)"], "the runs have nothing that ss(jga) could be of"),
        (["--after", "somewhere"], "--after is for a single run"),
    ],
)
def test_mistakes_are_told(
    runs: list[Path], options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["report", *map(str, runs), *options])
    assert stop.value.code == 2 and message in capsys.readouterr().err


def test_runs_of_something_else_are_refused(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = {"seed": FEW._replace(seed=7), "limit": FEW._replace(limit=5)}
    for what, options in others.items():
        other = evaluate("quick", "gold", "reminder:test", tmp_path / what, options)
        with pytest.raises(SystemExit) as stop:
            main(["report", str(runs[0]), str(other.path)])
        assert stop.value.code == 2 and f"they differ in the {what}" in capsys.readouterr().err
    dev = evaluate("quick", "gold", "reminder:dev", tmp_path / "dev", FEW)
    with pytest.raises(SystemExit):
        main(["report", str(runs[0]), str(dev.path)])
    assert "they differ in the corpus, reminder:test and reminder:dev" in capsys.readouterr().err


def test_one_run_takes_no_line_and_no_seeds(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--seeds"], ["--along", "steps"], ["--resamples", "9"]):
        with pytest.raises(SystemExit) as stop:
            main(["report", str(runs[0]), *option])
        assert stop.value.code == 2 and "for several runs" in capsys.readouterr().err


@pytest.mark.slow
def test_the_page_shows_the_real_output(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page makes its runs by `dstress run`; here they are made without their reports."""
    monkeypatch.chdir(home)
    text = (DOCS / "comparing.md").read_text("utf-8")
    command = r'^    \$ dstress run quick --tracker "?(\S+?)"? --only typos,entities --limit 20 .*--out (\S+)$'
    made = re.findall(command, text, re.MULTILINE)
    assert len(made) == 3
    options = RunOptions(limit=20, only=("typos", "entities"), report=False)
    for tracker, out in made:
        evaluate("quick", tracker, "reminder:test", out, options)
    ((arguments, expected),) = re.findall(r"^    \$ dstress report (twenty/.*)\n((?:    .*\n|\n)+)", text, re.MULTILINE)
    shown, wanted = (_without_time(part) for part in (told("report", *arguments.split()), expected))
    assert shown == wanted


def _without_time(text: str) -> list[list[str]]:
    """The lines but those of the table of cost, where the time is another each time."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    heads = [line[:2] for line in lines]
    start, end = heads.index(["system", "tracker"]), heads.index(["seconds", "of"])
    return lines[:start] + lines[end:]


def test_what_cannot_be_written_is_told_before_anything_is(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder, a file where a folder should be, and the screen for a page."""
    (tmp_path / "file").touch()
    for option, value, problem in (
        ("--html", tmp_path, "is a directory"),
        ("--html", "-", "goes into a file"),
        ("--html", tmp_path / "file" / "page.html", "is no folder to write into"),
        ("--plots", tmp_path / "file", "is a file"),
    ):
        for verb in (("report",), ("analyse", "bias")):
            with pytest.raises(SystemExit) as left:
                main([*verb, str(runs[0]), option, str(value), "--csv", str(tmp_path / "table.csv")])
            assert left.value.code == 2 and problem in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        main(["report", str(runs[0]), "--json", str(tmp_path)])
    assert left.value.code == 2 and "is a directory" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == [tmp_path / "file"]


def test_one_run_under_two_names_is_one_run(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").symlink_to(runs[0])
    for verb in (("report",), ("compare",), ("explain",), ("analyse", "bias")):
        with pytest.raises(SystemExit) as left:
            main([*verb, str(runs[0]), str(tmp_path / "other")])
        assert left.value.code == 2 and "is given twice" in capsys.readouterr().err


def test_an_unfinished_run_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = evaluate("quick", "gold", "reminder:test", tmp_path / "a run", FEW)
    (run.path / "scores.json").unlink()
    with pytest.raises(SystemExit) as left:
        main(["report", str(run.path)])
    assert left.value.code == 2 and f"dstress run --resume --out '{run.path}'" in capsys.readouterr().err


def test_a_run_is_not_compared_with_a_folder_that_is_none(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(SystemExit) as left:
        main(["compare", str(runs[0]), str(tmp_path / "nothing")])
    assert left.value.code == 2 and "rules is a run, and nothing is none" in capsys.readouterr().err


def test_the_screen_is_for_one_output(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["analyse", "laws", "--cases", "1", "--json", "--csv", "-"])
    printed = capsys.readouterr()
    assert left.value.code == 2 and "goes to stdout already" in printed.out + printed.err
