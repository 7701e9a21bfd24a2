"""`dstress diversity` as a person uses it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dstress.cli.main import main
from tests.cli.test_cli import run


def test_a_corpus_beside_its_training_data() -> None:
    shown = run("diversity", "reminder:test", "--slot", "taxi-day")
    words, coverage, company = (part.splitlines() for part in shown.strip().split("\n\n"))
    assert re.split(r"  +", words[1])[:4] == ["train", "600", "5,434", "3,582"]
    assert [line.split()[0] for line in words[1:3]] == ["train", "original"]
    assert any(line.split() == ["taxi-day", "51", "100.0", "7", "100.0"] for line in coverage)
    assert company[0].split()[0] == "taxi-day" and len(company) == 4 and "log 10" in company[3]


def test_without_a_slot_every_slot_has_its_entropy() -> None:
    assert re.search(r"^reminders-date +0\.\d\d +0\.\d\d +0\.60  task \d+ %, time", run("diversity", "reminder"), re.M)


def test_a_stressed_corpus_stands_beside_its_original(tmp_path: Path) -> None:
    run("stress", "reminder:test", "--with", "values", "--limit", "20", "--out", str(tmp_path))
    folder = str(tmp_path / "values")
    shown = run("diversity", folder)
    assert "original > stressed where they differ" in shown and re.search(r"^stressed +20 ", shown, re.M)
    told = json.loads(run("diversity", folder, "--json"))
    assert told["train"] == "reminder:train" and list(told["data"]) == ["train", "original", "stressed"]
    before, after = (told["data"][name]["coverage"]["taxi-destination"] for name in ("original", "stressed"))
    assert before["uses"] == after["uses"] and before["known_uses"] > after["known_uses"]
    assert told["data"]["original"]["company"] == told["data"]["stressed"]["company"]


def test_a_corpus_without_training_data_says_so(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('{"id":"a","turns":[{"user":"hi","state":{"hotel-area":["west"]}}]}\n')
    shown = run("diversity", str(tmp_path))
    assert "give one with --train" in shown and "known %" not in shown
    assert "known %" in run("diversity", str(tmp_path), "--train", str(tmp_path))
    assert "| hotel-area |" in run("diversity", str(tmp_path), "--markdown", "-")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reminder:test", "--slot", "taxi-dya"], "did you mean 'taxi-day'"),
        (["remainder"], "did you mean 'reminder'"),
        (["reminder:test", "--train", "reminder:trian"], "did you mean 'train'"),
    ],
)
def test_mistakes_get_one_message(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["diversity", *arguments])
    assert left.value.code == 2 and words in capsys.readouterr().err
