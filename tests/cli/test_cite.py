"""`dstress cite`."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from dstress.cli.main import cli
from dstress.runs.folder import Manifest, RunFolder
from dstress.runs.suites.base import Suite


def cite(*arguments: str) -> str:
    answer = CliRunner().invoke(cli, ["cite", *arguments], catch_exceptions=False)
    assert answer.exit_code == 0
    return answer.stdout


def test_a_run_is_cited_with_its_reasons_and_its_corpus(tmp_path: Path) -> None:
    suite = Suite("mine", stressors=("typos",))
    RunFolder.create(tmp_path / "run", Manifest("rules", "multiwoz21:test", "mine", 1, 0, "", {}, {}, suite))
    shown = cite(str(tmp_path / "run"))
    assert "% for the stressor typos\n@inproceedings{peng2021raddle,\n" in shown
    assert "li2021coco" not in shown
    assert "% the corpus multiwoz21: " in shown
    told = json.loads(cite(str(tmp_path / "run"), "--json"))
    assert [entry["key"] for entry in told["entries"]] == ["dstress", "peng2021raddle"]


def test_without_a_run_there_are_no_reasons() -> None:
    assert cite().count("@inproceedings{") == 5
    assert "%" not in cite()
