"""What files say reaches the terminal as text, never as a command to it; and any terminal will do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dstress.cli.main import main
from dstress.cli.output import OutputFiles
from dstress.reports.tables import Table
from tests.attacks.poison import CLIPBOARD
from tests.paths import SEARCHED


def test_no_control_character_of_a_file_reaches_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"dialogue {CLIPBOARD}"
    turn = {"user": CLIPBOARD, "state": {f"hotel-{CLIPBOARD}": [CLIPBOARD]}}
    gold = tmp_path / "gold.jsonl"
    gold.write_text(json.dumps({"id": name, "services": ["hotel"], "turns": [turn]}) + "\n")
    predicted = tmp_path / "predicted.jsonl"
    predicted.write_text(json.dumps({"dialogue": name, "turn": 3, "state": {}}) + "\n")
    for arguments in (
        ["score", str(predicted), "--gold", str(gold)],
        ["stress", str(gold), "--with", "verbosity", "--preview", "1"],
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        shown = "".join(capsys.readouterr())
        assert "dialogue a" in shown and not {"\x1b", "\x07"} & set(shown), arguments


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_no_control_character_in_a_table_on_the_screen(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = OutputFiles(None, None, None, None)
    nowhere._replace(**{form: "-"}).write({}, [Table(["name"], [[CLIPBOARD]])])
    shown = capsys.readouterr().out
    assert "␛" in shown and not {"\x1b", "\x07"} & set(shown)


def test_a_terminal_without_utf8_shows_what_it_can(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    turn = {"user": "i want the café near the museum", "state": {"hotel-name": ["i want the café near the museum"]}}
    gold.write_text(json.dumps({"id": "é", "services": ["hotel"], "turns": [turn]}) + "\n")
    command = [sys.executable, "-m", "dstress", "stress", str(gold), "--with", "verbosity", "--preview", "1"]
    setting = {**os.environ, "PYTHONPATH": SEARCHED, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    told = subprocess.run(command, capture_output=True, env=setting)
    assert told.returncode == 0 and b"caf\\xe9" in told.stdout, told.stderr.decode()


@pytest.mark.parametrize(
    "wrong",
    [
        ["--seed", "-1"],
        ["--timeout", "inf"],
        ["--timeout", "nan"],
        ["--max-failed", "nan"],
        ["--limit", "9" * 30],
        ["--workers", "9" * 20],
    ],
)
def test_impossible_numbers_are_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: list[str]
) -> None:
    out = tmp_path / "run"
    with pytest.raises(SystemExit) as ended:
        main(["run", "quick", "--tracker", "gold", "--corpus", "reminder:test", "--out", str(out), *wrong])
    assert ended.value.code == 2 and wrong[0] in capsys.readouterr().err and not out.exists()


def test_a_wrong_option_is_not_quoted_whole(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["gate", "x" * 100_000, "--against", "."], ["stress", "reminder:test", "--seed", "x" * 100_000]):
        with pytest.raises(SystemExit):
            main(arguments)
        assert "xxx..." in (said := capsys.readouterr().err) and len(said) < 1000
