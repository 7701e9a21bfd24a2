"""The training loop, over the smallest of learners."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tests.parts import need

need("torch", "models")

import torch
from msgspec.structs import replace

from dstress.errors import DstressError
from dstress.learning.base import Session
from dstress.learning.loop import compile_blocks, fit, pace_of
from dstress.learning.recipe import AdversarialOptions, TrainingOptions
from tests.learning.toy import Line, toy_task

OPTIONS = TrainingOptions(epochs=6, batch=8, rate=0.02, metric="loss", average=0.9, log_every=3, keep_every=2)


class Killed(Exception):
    """As by kill -9: nothing is tidied up."""


def trained(out: Path, options: TrainingOptions = OPTIONS, line: Line | None = None, **session: Any) -> dict[str, Any]:
    torch.manual_seed(options.seed)
    out.mkdir(exist_ok=True)
    return fit(toy_task(line or Line()), options, out, Session(**session))


def read_log(out: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]


def kill_at(step: int) -> Any:
    def watch(what: str, done: int, total: int | None) -> None:
        if done == step:
            raise Killed

    return watch


def test_the_loss_falls_and_the_best_weights_are_kept(tmp_path: Path) -> None:
    result = trained(tmp_path / "a")
    errors = [evaluation["loss"] for evaluation in result["evaluations"]]
    assert errors[-1] < errors[0] / 2
    assert result["best"]["loss"] == min(errors)
    assert (result["stopped"], result["steps"]) == ("epochs", 6 * math.ceil(50 / 8))
    assert sorted(path.name for path in (tmp_path / "a/checkpoints").iterdir()) == ["0000014", "0000028", "0000042"]
    steps = [line for line in read_log(tmp_path / "a") if "rate" in line]
    assert steps[0]["step"] == 3
    assert steps[-1]["loss"] < steps[0]["loss"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"evaluate_every": 4, "average": 0.0},
        {"accumulate": 3, "tokens": 20},
        {"adversarial": AdversarialOptions()},
    ],
)
@pytest.mark.parametrize("at", [2, 17, 30])
def test_a_killed_training_ends_with_the_same_bits(tmp_path: Path, at: int, changes: dict[str, Any]) -> None:
    options = replace(OPTIONS, **changes)
    whole = trained(tmp_path / "whole", options)
    at = min(at, whole["steps"] - 1)
    with pytest.raises(Killed):
        trained(tmp_path / "killed", options, on_progress=kill_at(at))
    resumed = trained(tmp_path / "killed", options)
    assert resumed["evaluations"] == whole["evaluations"]
    assert read_log(tmp_path / "killed") == read_log(tmp_path / "whole")
    for name in ("best", "checkpoints/*"):
        for path in (tmp_path / "whole").glob(f"{name}/weights.safetensors"):
            assert path.read_bytes() == (tmp_path / "killed" / path.relative_to(tmp_path / "whole")).read_bytes()


def test_out_of_memory_halves_the_batch_and_says_so(tmp_path: Path) -> None:
    lines: list[str] = []
    small = Line(most=3)
    result = trained(tmp_path / "small", line=small, say=lines.append)
    assert any("out of memory" in line and "a batch of 8 goes through it in 4 pieces" in line for line in lines)
    assert result["steps"] == 6 * math.ceil(50 / 8)
    assert max(small.sizes[-3:-1]) <= 2
    with pytest.raises(DstressError, match="single example: point"):
        trained(tmp_path / "none", line=Line(most=0))


def test_a_step_in_pieces_is_the_same_step(tmp_path: Path) -> None:
    def losses(name: str, most: int) -> list[float]:
        line = Line(most)
        line.module[2].p = 0.0  # what falls out is drawn anew in each piece
        return [evaluation["loss"] for evaluation in trained(tmp_path / name, line=line)["evaluations"]]

    assert losses("pieces", 2) == pytest.approx(losses("whole", 1000), rel=1e-4)


def test_a_loss_that_is_no_number_names_the_step_and_the_batch(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match=r"loss is nan at step \d+, in the batch of .*point"):
        trained(tmp_path / "a", line=Line(poisoned="point 13"))
    assert not (tmp_path / "a" / "best").exists()


def test_patience_and_time_end_a_training_with_the_best_checkpoint(tmp_path: Path) -> None:
    worse = trained(tmp_path / "a", replace(OPTIONS, rate=30.0, patience=2, epochs=60, decay="none", average=0.0))
    assert worse["stopped"] == "patience"
    assert worse["evaluations"][-1]["number"] == worse["best"]["number"] + 2
    short = trained(tmp_path / "b", seconds=0.0)
    assert (short["stopped"], short["steps"]) == ("time budget", 0)
    assert (tmp_path / "b/best/weights.safetensors").is_file()
    assert trained(tmp_path / "b")["evaluations"][-1]["loss"] < short["best"]["loss"]


def test_every_evaluation_is_told_with_its_loss(tmp_path: Path) -> None:
    lines: list[str] = []
    trained(tmp_path, replace(OPTIONS, log_every=7), say=lines.append)
    assert len(lines) == 6
    assert all(re.match(r"epoch \d, step \d+ of 42: loss \d\.\d{4}, loss \d\.\d{4}", line) for line in lines)


@pytest.mark.parametrize("decay", ["cosine", "linear", "none"])
def test_the_rate_rises_then_falls(decay: str) -> None:
    paces = [pace_of(step, 100, 0.1, decay) for step in range(100)]
    assert paces[:11] == sorted(paces[:11])
    assert paces[10:] == sorted(paces[10:], reverse=True)
    assert max(paces) == 1.0
    assert (paces[-1] < 0.05) is (decay != "none")


def test_a_state_of_another_network_is_refused(tmp_path: Path) -> None:
    trained(tmp_path)
    other = Line()
    other.module = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    with pytest.raises(DstressError, match="no going on with this training"):
        trained(tmp_path, line=other)


def test_a_recipe_may_have_the_layers_that_repeat_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[torch.nn.Module] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, dynamic: compiled.append(self))
    network = torch.nn.Module()
    network.layers = torch.nn.ModuleList([torch.nn.Linear(1, 1), torch.nn.Sequential(torch.nn.Linear(1, 1))])
    compile_blocks(torch.nn.Sequential(torch.nn.Linear(1, 1), network))
    assert compiled == list(network.layers)
    plain, other = trained(tmp_path / "a"), trained(tmp_path / "b", replace(OPTIONS, compile=True))
    assert plain["evaluations"] == other["evaluations"]
