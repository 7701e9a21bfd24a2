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
    told = ["utterances", train, "--dev", training("reminder", None, 20), "--out", str(out), *arguments]
    result = CliRunner().invoke(command, told)
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
