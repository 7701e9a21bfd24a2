"""`dstress augment` as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dstress import corpora
from dstress.cli.main import main
from tests.cli.test_cli import run

VALUES = "values(dictionary=train-O)"


def test_the_folder_is_a_training_corpus(tmp_path: Path) -> None:
    out = tmp_path / "more"
    shown = run("augment", "reminder:train", "--with", VALUES, "--times", "2", "--limit", "10", "--out", str(out))
    assert VALUES in shown and "none came in" in shown and f"written to {out}" in shown
    assert {path.name for path in out.iterdir()} == {"train.jsonl", "train.schema.json", "augment.json"}
    ids = [one.id for one in corpora.load(f"{out}:train")]
    assert len(ids) == 30 and {"reminder-train-0000", "reminder-train-0000+1", "reminder-train-0000+2"} <= set(ids)


def test_json_is_what_is_written(tmp_path: Path) -> None:
    told = json.loads(
        run("augment", "reminder:train", "--with", "typos", "--limit", "4", "--out", str(tmp_path / "x"), "--json")
    )
    assert told == json.loads((tmp_path / "x" / "augment.json").read_text())
    assert told["stressor"] == "typos" and told["seeds"] == [1] and told["dialogues"]["original"] == 4


@pytest.mark.slow
def test_seeds_make_it_again_whoever_works(tmp_path: Path) -> None:
    for name, seed, workers in (("a", "3", "1"), ("b", "3", "2"), ("c", "4", "1")):
        run(
            "augment", "reminder:train", "--with", VALUES, "--times", "2", "--limit", "40", "--layout", "examples",
            "--seed", seed, "--workers", workers, "--out", str(tmp_path / name),
        )  # fmt: skip
    first, second, third = ((tmp_path / name / "train.jsonl").read_bytes() for name in "abc")
    assert first == second != third


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--with", "values"], "the test value"),
        (["--with", "tpyos"], "did you mean 'typos'"),
        (["--with", "typos", "--with", "schema_variant(version=x)"], "no version 'x'"),
        (["--with", "typos", "--times", "0"], "0 is not in the range"),
        (["--with", "typos", "--keep-out", "P"], "unknown dictionary 'P'"),
        (["--with", "typos", "--keep-out", "none.toml"], "cannot read the dictionary"),
    ],
)
def test_mistakes_leave_nothing_behind(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["augment", "reminder:train", "--limit", "20", *arguments, "--out", str(tmp_path / "out")])
    told = capsys.readouterr().err
    assert left.value.code == 2 and words in told and "Traceback" not in told
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.jsonl").write_text("mine")
    with pytest.raises(SystemExit):
        main(["augment", "reminder:train", "--with", "typos", "--out", str(tmp_path)])
    assert "not empty" in capsys.readouterr().err and (tmp_path / "train.jsonl").read_text() == "mine"
