"""`dstress versions` as a person meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli, main
from tests.paths import DOCS

PAGE = DOCS / "comparing.md"


def run(*arguments: str) -> str:
    answer = CliRunner().invoke(cli, ["versions", *arguments], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_the_pages_example(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared / "data/predictions")
    blocks = re.findall(r"^    \$ dstress versions (.*)\n((?:    .*\n|\n)+)", PAGE.read_text("utf-8"), re.MULTILINE)
    assert blocks
    for arguments, expected in blocks:
        assert run(*arguments.split()).split() == expected.split()


def test_table_2_of_sgd_x(shared: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(shared / "golden")
    runs = [f"sgdx/v{number}/preds@sgdx/v{number}/ref" for number in range(1, 6)]
    options = ["--original", "sgd/preds_a@sgd/ref", "--by", "seen", "--resamples", "20"]
    shown = run(*runs, *options)
    columns = ["seen", "units", "jga-orig", "jga-v1-5", "diff-rel", "ss(jga)"]
    start = next(place for place, line in enumerate(shown.splitlines()) if line.split()[:6] == columns)
    rows = [line.split()[:6] for line in shown.splitlines()[start + 1 : start + 4]]
    assert rows == [
        ["all", "2,238", "92.53", "75.22", "-18.70", "56.42"],
        ["seen", "492", "95.13", "80.26", "-15.63", "45.65"],
        ["unseen", "1,746", "91.79", "73.80", "-19.60", "59.46"],
    ]
    run(*runs, *options, "--latex", str(tmp_path / "table.tex"), "--json", str(tmp_path / "card.json"))
    assert r"unseen & 1,746 & 91.79 & 73.80 & -19.60 & 59.46" in (tmp_path / "table.tex").read_text()
    assert json.loads((tmp_path / "card.json").read_text())["slices"]["seen"]["seen"]["units"] == 492


def test_a_wrong_slice_is_told(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shared / "data/predictions"
    files = [str(folder / f"copy-b-{name}.json.zip") for name in ("substituted", "test")]
    with pytest.raises(SystemExit) as stop:
        main(["versions", files[0], "--original", files[1], "--by", "seen"])
    assert stop.value.code == 2 and "training data are not known" in capsys.readouterr().err
