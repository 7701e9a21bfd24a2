"""`dstress report`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dstress.cli.report import command
from dstress.errors import DstressError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.runs.folder import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, ready_home: Path) -> RunFolder:
    """Gold on a few dialogues of the embedded corpus."""
    patch = pytest.MonkeyPatch()
    patch.setenv("DSTRESS_HOME", str(ready_home))
    try:
        options = RunOptions(limit=5, only=("typos",), resamples=50)
        return evaluate("quick", "gold", "reminder:test", tmp_path_factory.mktemp("runs") / "it", options)
    finally:
        patch.undo()


def called(*arguments: str) -> Result:
    result = CliRunner().invoke(command, list(arguments))
    if isinstance(result.exception, DstressError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.slow
def test_without_options_it_writes_the_page_and_tells_the_findings(run: RunFolder) -> None:
    output = called(str(run.path)).output
    assert "Quick look" in output
    assert "1. No clear effect of typos." in output
    assert str(run.path / "report.html") in output
    assert (run.path / "report.html").read_text("utf-8").startswith("<!doctype html>")


def test_only_what_is_named_is_written(run: RunFolder, tmp_path: Path) -> None:
    (run.path / "report.html").unlink(missing_ok=True)
    files = {form: tmp_path / f"table.{form}" for form in ("latex", "markdown", "json")}
    called(str(run.path), *(part for form, file in files.items() for part in (f"--{form}", str(file))))
    assert "\\toprule" in files["latex"].read_text()
    assert files["markdown"].read_text().startswith("| measure |")
    told = json.loads(files["json"].read_text())
    assert told["findings"][0]["title"]
    assert told["scores"]["variants"]["typos"]["metrics"]["jga"]["value"] == 1.0
    assert not (run.path / "report.html").exists()


def test_page_and_plots_go_where_they_are_asked_for(run: RunFolder, tmp_path: Path) -> None:
    called(str(run.path), "--html", str(tmp_path / "page.html"), "--plots", str(tmp_path / "figures"))
    assert (tmp_path / "page.html").exists()
    assert {"drops.svg", "drops.png", "drops.vl.json"} <= {file.name for file in (tmp_path / "figures").iterdir()}


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="there is no run"):
        called(str(tmp_path))


@pytest.mark.slow
def test_earlier_checkpoints_make_curves(run: RunFolder, tmp_path: Path) -> None:
    earlier = tmp_path / "epoch1"
    shutil.copytree(run.path, earlier)
    called(
        str(run.path), "--after", str(earlier), "--html", str(tmp_path / "page.html"), "--plots", str(tmp_path / "f")
    )
    assert 'id="plot-curves"' in (tmp_path / "page.html").read_text("utf-8")
    values = json.loads((tmp_path / "f" / "curves.vl.json").read_text())["data"]["values"]
    cells = [cell for cell in run.scores.table if cell.score is not None]
    assert [row["run"] for row in values] == ["epoch1"] * len(cells) + ["it"] * len(cells)
    assert [row["value"] for row in values[: len(cells)]] == [100 * cell.score.value for cell in cells]  # type: ignore[union-attr]


def test_curves_of_other_suites_are_refused(run: RunFolder, tmp_path: Path) -> None:
    earlier = tmp_path / "epoch1"
    shutil.copytree(run.path, earlier)
    manifest = earlier / "run.toml"
    manifest.write_text(manifest.read_text().replace("seed = 1", "seed = 2"))
    with pytest.raises(DstressError, match="they differ in the seed, 1 and 2"):
        called(str(run.path), "--after", str(earlier), "--html", str(tmp_path / "page.html"))
