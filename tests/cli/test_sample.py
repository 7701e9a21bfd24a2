"""`dstress sample` as a person uses it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from dstress.cli.main import main
from dstress.corpora import load
from tests.cli.test_cli import run

Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def stressed(tmp_path_factory: pytest.TempPathFactory, ready_home: Path) -> Path:
    folder = tmp_path_factory.mktemp("stressed")
    specs = "values,values(dictionary=train-O),typos(rate=0.2)"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSTRESS_HOME", str(ready_home))
        run("stress", "reminder:test", "--with", specs, "--limit", "40", "--out", str(folder / "out"))
    return folder / "out"


def rows(path: Path) -> Rows:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return list(csv.DictReader(lines))


def drawn(stressed: Path, out: Path, *more: str) -> tuple[Rows, dict[str, dict[str, str]]]:
    run("sample", str(stressed), "--for", "humans", "--out", str(out.with_suffix(".csv")), *more)
    return rows(out.with_suffix(".csv")), json.loads(out.with_suffix(".key.json").read_text())["items"]


def test_each_turn_is_there_as_it_was_and_under_each_stressor(stressed: Path, tmp_path: Path) -> None:
    sheet, key = drawn(stressed, tmp_path / "j", "--turns", "12")
    assert len(sheet) == len(key) == 36 and [row["item"] for row in sheet] == list(key)
    places = {variant: set[tuple[str, int]]() for variant in ("original", "values", "values(dictionary=train-O)")}
    for place in key.values():
        places[place["variant"]].add((place["dialogue"], int(place["turn"])))
    assert len({frozenset(found) for found in places.values()}) == 1
    originals = {one.id: one for one in load("reminder:test")}
    for row in sheet:
        place = key[row["item"]]
        turn = originals[place["dialogue"]].turns[int(place["turn"])]
        assert (row["user"].strip() == turn.user) == (place["variant"] == "original")
        assert row["system"].strip() == turn.system and row["goal"] and not row["human_like"] + row["correct"]


def test_the_sheet_does_not_tell_what_is_what(stressed: Path, tmp_path: Path) -> None:
    sheet, key = drawn(stressed / "values", tmp_path / "j", "--turns", "30")
    text = "".join((tmp_path / name).read_text() for name in ("j.csv", "j.html", "j.md"))
    text = " ".join(text.split())
    assert "values" not in text.replace("with these values", "") and "original" not in text
    assert not any(place["dialogue"] in text for place in key.values())
    order = "".join(key[row["item"]]["variant"][0] for row in sheet)
    assert re.search("oo.*vv|vv.*oo", order) and order.count("o") == order.count("v") == 30


def test_a_seed_draws_it_again(stressed: Path, tmp_path: Path) -> None:
    first, second, third = (
        drawn(stressed / "values", tmp_path / name, "--turns", "5", "--seed", seed)[0]
        for name, seed in (("a", "3"), ("b", "3"), ("c", "4"))
    )
    assert first == second != third
    assert all(not row["history"] for row in drawn(stressed / "values", tmp_path / "d", "--history", "0")[0])


def test_stressors_can_be_named_and_few_turns_are_told(stressed: Path, tmp_path: Path) -> None:
    shown = run("sample", str(stressed), "--with", "typos(rate=0.2)", "--turns", "9999", "--out", str(tmp_path / "j"))
    assert "under typos(rate=0.2):" in shown and re.search(r"only \d+ turns were changed", shown)


def test_a_run_can_be_judged(tmp_path: Path) -> None:
    suite = tmp_path / "small.toml"
    suite.write_text('title = "Small"\nstressors = ["values", "typos"]\n')
    run(
        "run", str(suite), "--tracker", "gold", "--corpus", "reminder:test", "--limit", "8",
        "--out", str(tmp_path / "run"),
    )  # fmt: skip
    told = json.loads(run("sample", str(tmp_path / "run"), "--turns", "3", "--out", str(tmp_path / "j"), "--json"))
    assert told == {"items": 6, "turns": 3, "variants": ["original", "values"]}


def judged(path: Path, sheet: Rows, answers: dict[str, tuple[str, str]]) -> str:
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["item", "human_like", "correct"])
        writer.writerows((row["item"], *answers[row["item"]]) for row in sheet)
    return str(path)


def test_judgements_come_back_as_the_paper_s_table(stressed: Path, tmp_path: Path) -> None:
    sheet, key = drawn(stressed / "values", tmp_path / "j", "--turns", "4")
    by_variant = {name: [item for item in key if key[item]["variant"] == name] for name in ("original", "values")}
    kind = dict.fromkeys(key, ("yes", "yes"))
    strict = kind | dict.fromkeys(by_variant["values"], ("no", "no"))
    third = kind | {by_variant["values"][0]: ("no", ""), by_variant["original"][0]: ("yes", "")}
    sheets = [
        judged(tmp_path / f"{name}.csv", sheet, answers)
        for name, answers in (("anna", kind), ("ben", strict), ("chloe", third))
    ]
    key_file = str(tmp_path / "j.key.json")
    shown = run("sample", "--judged", key_file, *sheets)
    assert re.search(r"^original +100\.0 \[51\.0, 100\.0\] of 4 +100\.0 \[51\.0, 100\.0\] of 4$", shown, re.M)
    assert re.search(r"^values +75\.0 \[30\.1, 95\.4\] of 4 +100\.0 \[43\.9, 100\.0\] of 3$", shown, re.M)
    assert "values, correctness: 1 items are tied" in shown and "Krippendorff's alpha" in shown
    assert "chloe.csv left 2 of 8 items without an answer to correct" in shown
    told = json.loads(run("sample", "--judged", key_file, *sheets, "--json"))
    assert told["variants"]["values"]["human_like"]["yes"] == 3 and told["judges"] == [
        "anna.csv",
        "ben.csv",
        "chloe.csv",
    ]
    assert "| values |" in run("sample", "--judged", key_file, *sheets, "--markdown", "-")


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(["sample", *arguments])
    told = capsys.readouterr().err
    assert left.value.code == 2 and "Traceback" not in told
    return told


def test_mistakes_get_one_message(stressed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "j")
    assert "neither a run nor a stressed corpus" in failure(capsys, str(tmp_path), "--out", out)
    assert "give one run" in failure(capsys, str(stressed))
    assert "did you mean 'values'" in failure(capsys, str(stressed), "--with", "vaules", "--out", out)
    drawn(stressed / "values", tmp_path / "j", "--turns", "2")
    assert "there already" in failure(capsys, str(stressed), "--out", out)
    (tmp_path / "bad.csv").write_text("item,human_like,correct\nx,1,1\n")
    assert "bad.csv, line 2: the key has no item 'x'" in failure(
        capsys, "--judged", f"{out}.key.json", str(tmp_path / "bad.csv")
    )
    assert "given twice" in failure(capsys, "--judged", f"{out}.key.json", f"{out}.csv", f"{out}.csv")
    assert "this is no key" in failure(capsys, "--judged", f"{out}.csv", f"{out}.csv")
    assert "cannot read the key" in failure(capsys, "--judged", f"{out}.json", f"{out}.csv")
