"""`dstress train`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dstress.cli.train import command
from dstress.errors import DstressError
from tests.parts import need
from tests.stressors.generators.training import training


def invoke(*told: str) -> Result:
    result = CliRunner().invoke(command, list(told))
    if isinstance(result.exception, DstressError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_what_a_generator_says_is_learned_by_the_same_loop(tmp_path: Path) -> None:
    need("torch", "models")
    small = ["training.epochs=2", "model.width=32", "model.layers=1", "model.heads=2", "model.vocabulary=300"]
    small += ["model.checkpoint=", "model.longest=48", "training.evaluate_on=5"]
    settings = [part for setting in small for part in ("--set", setting)]
    train, dev, out = training("reminder", None, 20), training("reminder", None, 8), tmp_path / "said"
    told = ["utterances-multiwoz", train, "--dev", dev, "--out", str(out), "--device", "cpu", *settings]
    result = invoke(*told)
    assert "epoch 2, step" in result.stderr
    assert f"stress with counterfactual(generator=learned(path={out}))" in result.stdout
    best = json.loads((out / "training.json").read_text())["best"]
    assert f"dev loss {best['loss']:.4f}" in result.stdout
    assert "has ended already" in invoke(*told, "--resume").stderr


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("model.widht=2", "did you mean 'width'"),
        ("model.network=rnn", "rnn"),
        ("training.metric=jga", "by their loss"),
        ("start=there", "no start"),
    ],
)
def test_wrong_settings_of_utterances_are_told(tmp_path: Path, setting: str, words: str) -> None:
    need("torch", "models")
    few = training("reminder", None, 8)
    with pytest.raises(DstressError, match=words):
        invoke("utterances-multiwoz", few, "--dev", few, "--out", str(tmp_path / "said"), "--set", setting)
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


def test_a_recipe_that_is_not_there_is_told(tmp_path: Path) -> None:
    need("torch", "models")
    with pytest.raises(DstressError, match="unknown recipe 'copy-remainder'; did you mean 'copy-reminder'"):
        invoke("copy-remainder", "--out", str(tmp_path / "a"))
