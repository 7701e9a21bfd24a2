"""`dstress train`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dstress.cli.train import command
from dstress.errors import DstressError
from tests.generators.training import training
from tests.parts import need


def called(out: Path, *arguments: str) -> Result:
    need("models")
    train = training("reminder", None, 60)
    return invoke("utterances", train, "--dev", training("reminder", None, 20), "--out", str(out), *arguments)


def invoke(*told: str) -> Result:
    result = CliRunner().invoke(command, list(told))
    if isinstance(result.exception, DstressError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_a_small_network_is_trained(tmp_path: Path) -> None:
    small = ("--set", "epochs=2", "--set", "width=32", "--set", "layers=1", "--set", "heads=2")
    called(tmp_path / "said", *small, "--json", str(tmp_path / "told.json"))
    told = json.loads((tmp_path / "told.json").read_text())
    assert [epoch["epoch"] for epoch in told["epochs"]] == [1, 2]
    assert json.loads((tmp_path / "said" / "config.json").read_text())["best"] == told["best"]
    assert (tmp_path / "said" / "weights.pt").stat().st_size > 1000


@pytest.mark.parametrize(
    ("setting", "words"), [("epoch=2", "did you mean 'epochs'"), ("epochs=two", "epochs"), ("epochs=0", "above 0")]
)
def test_wrong_settings_are_told(tmp_path: Path, setting: str, words: str) -> None:
    with pytest.raises(DstressError, match=words):
        called(tmp_path / "said", "--set", setting)
    assert not (tmp_path / "said").exists()


def test_a_tracker_is_trained_by_a_recipe_and_run(tmp_path: Path) -> None:
    need("torch", "models")
    from dstress.pipeline.evaluate import evaluate

    small = [f"training.{setting}" for setting in ("epochs=1", "batch=24", "evaluate_on=2")]
    small += ["model.width=8", "model.longest=40"]
    settings = [part for setting in small for part in ("--set", setting)]
    few, out = training("reminder", None, 8), str(tmp_path / "trained")
    told = ["copy-reminder", few, "--dev", few, "--out", out, "--device", "cpu", "--seed", "3", *settings]
    result = invoke(*told)
    assert "epoch 1, step" in result.stderr
    assert "jga" in result.stderr
    assert f"track with copy(path={out})" in result.stdout
    assert "seed = 3" in (tmp_path / "trained" / "recipe.toml").read_text()
    assert "has ended already" in invoke(*told, "--resume").stderr
    run = evaluate(
        "quick", f"copy(path={out})", "reminder:test", tmp_path / "run", limit=2, only=("typos",), report=False
    )
    assert run.scores.variants["original"]["jga"].n > 0


def test_time_budgets_are_times(tmp_path: Path) -> None:
    need("torch", "models")
    few, out = training("reminder", None, 8), tmp_path / "trained"
    told = ["copy-reminder", few, "--dev", few, "--out", str(out), "--device", "cpu", "--set", "model.width=4"]
    assert "'2 weeks' is no time" in CliRunner().invoke(command, [*told, "--time-budget", "2 weeks"]).stderr
    invoke(*told, "--time-budget", "0.001h", "--set", "training.epochs=900", "--set", "training.evaluate_on=2")
    assert json.loads((out / "training.json").read_text())["stopped"] == "time budget"


def test_a_recipe_that_is_not_there_and_a_missing_corpus_are_told(tmp_path: Path) -> None:
    need("torch", "models")
    with pytest.raises(DstressError, match="unknown recipe 'copy-remainder'; did you mean 'copy-reminder'"):
        invoke("copy-remainder", "--out", str(tmp_path / "a"))
    assert "needs --dev" in CliRunner().invoke(command, ["utterances", "--out", str(tmp_path / "a")]).stderr
