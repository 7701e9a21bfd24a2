"""Several draws of a task: every metric's mean and spread over them."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, stdev

import pytest

import dstress
from dstress.cli.main import main
from tests.corpora.test_few_shot import add_source, draw


def write_answers(folder: Path, draws: int) -> None:
    """In draw N the first N dialogues are right."""
    for number in range(1, draws + 1):
        lines = [
            {"dialogue": one.id, "turn": 0, "state": {slot: forms[0] for slot, forms in one.turns[0].state.items()}}
            for one in dstress.load(f"few/d{number}:test")
        ]
        for line in lines[number:]:
            line["state"] = {}
        (folder / f"d{number}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_mean_and_deviation_over_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_source()
    for seed in (1, 2, 3):
        draw(f"few/d{seed}", seed, train=[2, 2], test=[3, 3])
    write_answers(tmp_path, 3)
    with pytest.raises(SystemExit) as stop:
        main(["score", f"{tmp_path}/{{draw}}.jsonl", "--gold", "few/{draw}:test", "--metrics", "jga", "--json"])
    assert stop.value.code == 0
    scored = json.loads(capsys.readouterr().out)
    values = [1 / 6, 2 / 6, 3 / 6]
    assert [card["metrics"]["jga"]["value"] for card in scored["draws"].values()] == pytest.approx(values)
    spread = scored["metrics"]["jga"]
    assert spread == pytest.approx({"mean": mean(values), "deviation": stdev(values), "low": 1 / 6, "high": 3 / 6})


@pytest.mark.parametrize(
    ("gold", "answered", "message"),
    [("few/{draw}:test", 1, "d2.jsonl: no such file"), ("few/d1:test", 1, "only d1"), ("no/{draw}:test", 2, "no draw")],
)
def test_draws_that_are_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gold: str, answered: int, message: str
) -> None:
    add_source()
    for seed in (1, 2):
        draw(f"few/d{seed}", seed, train=[2, 2], test=[3, 3])
    write_answers(tmp_path, answered)
    with pytest.raises(SystemExit) as stop:
        main(["score", f"{tmp_path}/{{draw}}.jsonl", "--gold", gold])
    assert stop.value.code == 2 and message in capsys.readouterr().err
