"""The README's examples are run, and print what it says they print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli
from tests.paths import ROOT

EXAMPLES = re.findall(r"^\$ dstress (.+)\n((?:.*\n)*?)```", (ROOT / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("command", "expected"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_example_prints_what_it_says(
    command: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(cli, shlex.split(command), catch_exceptions=False)
    assert [line.rstrip() for line in answer.stdout.splitlines() if line.strip()] == [
        line.rstrip() for line in expected.splitlines() if line.strip()
    ]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2
