"""A run with a damaged file says which, and what to do; and doing that works."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from dstress.cli.main import main
from dstress.runs.folder import RunFolder


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out + captured.err


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("damage") / "run"
    with pytest.raises(SystemExit) as ended:
        main(["run", "quick", "--tracker", "gold", "--corpus", "reminder:test", "--limit", "4", "--only", "typos",
              "--out", str(out)])  # fmt: skip
    assert ended.value.code == 0
    return out


def tear(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 20)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".jsonl", ".schema.json", ".json"])
@pytest.mark.parametrize("how", ["torn", "gone", "nested"])
def test_stressed_dialogues(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str, how: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    path = RunFolder.open(run).variant("typos").path.with_suffix(ending)
    if how == "torn":
        tear(path)
    elif how == "nested":
        path.write_bytes(b"[" * 100_000 + b"\n")
    elif ending == ".json":
        return  # without it the variant was never finished: --resume makes it anew
    else:
        path.unlink()
    before = (run / "scores.json").read_bytes()
    code, told = call(capsys, "rescore", str(run))
    assert code == 2 and str(path) in told and "Traceback" not in told and "--resume" in told
    shutil.rmtree(run / "stressed")
    code, _ = call(capsys, "run", "--resume", "--out", str(run))
    assert code == 0 and (run / "scores.json").read_bytes() == before


@pytest.mark.parametrize(
    "change", [{"effect": True}, {"quality": []}, {"quality": {"distinct": {"2": ["x"]}}}, {"schema": {"names": "x"}}]
)
def test_a_description_of_another_shape(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    path = RunFolder.open(run).variant("typos").path.with_suffix(".json")
    path.write_text(json.dumps(json.loads(path.read_bytes()) | change), encoding="utf-8")
    code, told = call(capsys, "report", str(run))
    assert code == 2 and str(path) in told and "damaged" in told and "Traceback" not in told


def test_scores(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    tear(run / "scores.json")
    code, told = call(capsys, "report", str(run))
    assert code == 2 and "scores.json" in told and "rescore" in told
    assert call(capsys, "rescore", str(run))[0] == 0
    assert (run / "scores.json").read_bytes() == (whole / "scores.json").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("command", [["rescore"], ["gate", "--against"]])
def test_a_torn_last_answer(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    path = RunFolder.open(run).variant("typos").predictions_path()
    tear(path)
    arguments = [command[0], str(run), *command[1:], *([str(whole)] if command[1:] else [])]
    code, told = call(capsys, *arguments)
    assert code == 2 and "typos.jsonl: the file has changed" in told and "remove it and go on" in told
    path.unlink()
    assert call(capsys, "run", "--resume", "--out", str(run))[0] == 0
    assert call(capsys, *arguments)[0] == 0
