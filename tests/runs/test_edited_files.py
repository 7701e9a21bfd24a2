"""Files of a run that somebody edited: each is noticed by whoever reads the run, and named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import dstress
from dstress.cli.main import cli
from dstress.errors import DstressError

CHANGED = "the file has changed since the run wrote it"


def invoke(*arguments: str) -> None:
    CliRunner().invoke(cli, list(arguments), catch_exceptions=False, standalone_mode=False)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, new_home: Callable[[], Path]) -> Path:
    path = tmp_path_factory.mktemp("run") / "whole"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSTRESS_HOME", str(new_home()))
        dstress.evaluate("quick", "rules", "reminder:test", path, limit=3, only=("typos",))
    return path


def _delete_line(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))


def _replace(old: str, new: str) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return edit


@pytest.mark.parametrize("verb", ["report", "compare", "gate", "resume"])
@pytest.mark.parametrize(
    ("file", "edit"),
    [
        ("predictions/typos.jsonl", _replace('"state":{', '"state":{"taxi-day":"monday",')),
        ("stressed/typos.jsonl", _replace('"user":"', '"user":"Well, ')),
        ("stressed/original.jsonl", _delete_line),
        ("stressed/original.schema.json", _replace('"name":"', '"name":"x')),
        ("scores.json", _replace('"value": 0.', '"value": 0.9')),
    ],
)
def test_an_edited_file_is_named(
    whole: Path, tmp_path: Path, verb: str, file: str, edit: Callable[[Path], None]
) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    edit(run / file)
    options = {
        "report": ["report", str(run)],
        "compare": ["compare", str(whole), str(run)],
        "gate": ["gate", str(run), "--against", str(whole)],
        "resume": ["run", "--resume", "--out", str(run)],
    }
    with pytest.raises(DstressError, match=CHANGED) as error:
        invoke(*options[verb])
    assert error.value.where == str(run / file)


@pytest.mark.parametrize("file", ["predictions/typos.jsonl", "stressed/original.jsonl"])
def test_an_edited_file_that_is_removed_is_made_again(whole: Path, tmp_path: Path, file: str) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    _delete_line(run / file)
    (run / file).unlink()
    invoke("run", "--resume", "--out", str(run))
    for name in (file, "predictions/original.jsonl", "run.toml"):
        assert (run / name).read_bytes() == (whole / name).read_bytes()


def test_edited_scores_are_computed_anew(whole: Path, tmp_path: Path) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    _replace('"value": 0.', '"value": 0.9')(run / "scores.json")
    invoke("rescore", str(run))
    invoke("report", str(run))
    assert (run / "scores.json").read_bytes() == (whole / "scores.json").read_bytes()


def _killed(path: Path, step: str, done: int) -> None:
    """A run that is stopped in a step, once so much of it is done."""

    def stop(label: str, count: int, total: int | None) -> None:
        if label.startswith(step) and count >= done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dstress.evaluate("quick", "rules", "reminder:test", path, limit=3, only=("typos",), on_progress=stop)


@pytest.mark.parametrize("variant", ["original", "typos"])
def test_an_edited_answer_of_a_killed_run_is_named(
    whole: Path, tmp_path: Path, new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    monkeypatch.setenv("DSTRESS_HOME", str(new_home()))
    run, file = tmp_path / "run", f"predictions/{variant}.jsonl"
    _killed(run, "tracking" if variant == "original" else "tracking, stressor", 1)
    _replace('"state":', '"response":"Certainly.","state":')(run / file)
    with pytest.raises(DstressError, match="the answer has changed since the run wrote it") as error:
        invoke("run", "--resume", "--out", str(run))
    assert error.value.where == f"{run / file}, line 1"
    _delete_line(run / file)
    invoke("run", "--resume", "--out", str(run))
    for name in (file, "scores.json", "run.toml"):
        assert (run / name).read_bytes() == (whole / name).read_bytes()


def test_edited_text_of_a_run_killed_while_it_was_stressed_is_named(
    tmp_path: Path, new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSTRESS_HOME", str(new_home()))
    run = tmp_path / "run"
    _killed(run, "stressing, stressor", 1)
    _replace('"user":"', '"user":"Well, ')(run / "stressed/original.jsonl")
    with pytest.raises(DstressError, match=CHANGED) as error:
        invoke("run", "--resume", "--out", str(run))
    assert error.value.where == str(run / "stressed/original.jsonl")
