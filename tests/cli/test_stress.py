"""`dstress stress` as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress import corpora
from dstress.cli.main import cli, main
from dstress.storage.file_names import file_name


def run(*arguments: str) -> str:
    answer = CliRunner().invoke(cli, ["stress", *arguments], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def test_without_out_a_few_turns_are_shown() -> None:
    shown = run("reminder:test", "--with", "typos(rate=0.3)", "--limit", "2")
    assert shown.startswith("typos(rate=0.3)\n") and shown.count("- user:") == shown.count("+ user:") == 5
    assert run("reminder:test", "--with", "typos(rate=0.3)", "--limit", "2", "--preview", "2").count("- user:") == 2
    assert "reminder-test-0000, turn 0" in shown and "\x1b" not in shown


def test_what_changes_in_the_label_is_shown() -> None:
    assert "\n  trips-origin: " in run("reminder:test", "--with", "entities", "--limit", "1", "--preview", "9")


def test_each_spec_gives_a_corpus(tmp_path: Path) -> None:
    out = tmp_path / "stressed"
    shown = run("reminder:test", "--with", "typos(rate=0.3),entities+disfluency", "--limit", "4", "--out", str(out))
    assert {path.name for path in out.iterdir()} == {file_name("typos(rate=0.3)"), "entities+disfluency"}
    assert "changed %" in shown and "fell back %" in shown and "distinct-4" in shown
    assert len(list(corpora.load(str(out / "entities+disfluency")))) == 4


def test_json_tells_all(tmp_path: Path) -> None:
    shown = run("reminder:test", "--with", "typos", "--limit", "4", "--out", str(tmp_path), "--json", "--preview", "2")
    told = json.loads(shown)["typos"]
    assert told["corpus"] == "reminder:test" and told["quality"]["changed"] <= told["quality"]["turns"]
    written = json.loads((tmp_path / "typos" / "stress.json").read_text())
    texts, whole = written.pop("fingerprints"), written.pop("fingerprint")
    assert told == written and len(set(texts.values())) == 4 and whole


def test_a_seed_makes_it_again(tmp_path: Path) -> None:
    for name, seed, workers in (("a", "3", "1"), ("b", "3", "2"), ("c", "4", "1")):
        where = str(tmp_path / name)
        run("reminder:test", "--with", "typos", "--limit", "40", "--out", where, "--seed", seed, "--workers", workers)
    first, second, third = ((tmp_path / name / "typos" / "test.jsonl").read_bytes() for name in "abc")
    assert first == second != third


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reminder:test", "--with", "tpyos"], "did you mean 'typos'"),
        (["remainder:test", "--with", "typos"], "did you mean 'reminder'"),
        (["reminder:tset", "--with", "typos"], "did you mean 'test'"),
        (["reminder:test", "--with", "typos(rate=2)"], "rate"),
        (["reminder:test", "--with", "typos(rate=many)"], "rate"),
        (["reminder:test", "--with", "typos(", "--out", "x"], "cannot read the spec"),
        (["reminder:test", "--with", "typos", "--calibrate", "wer=0.3"], "nothing in typos can be calibrated"),
        (["reminder:test", "--with", "speech", "--calibrate", "loud"], "wer=0.30"),
    ],
)
def test_mistakes_get_one_message(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["stress", *arguments])
    told = capsys.readouterr().err
    assert left.value.code == 2
    assert words in told and "Traceback" not in told


def test_new_names_are_shown() -> None:
    shown = run("reminder:test", "--with", "schema_noise(names=opaque)", "--limit", "1")
    assert "\n- reminders-task: " in shown and shown.count("\n- ") == shown.count("\n+ ") == 5


def test_what_became_of_a_schema_is_told(tmp_path: Path) -> None:
    told = "62 of 62 names changed, mean distance 0.48; 68 of 68 descriptions, BLEU 18.9"
    assert told in run("reminder:test", "--with", "schema_noise", "--limit", "1")
    specs = "schema_noise,schema_noise+distractors(count=2),typos"
    shown = run("reminder:test", "--with", specs, "--limit", "2", "--out", str(tmp_path))
    assert f"schema_noise: {told}" in shown and "distractors(count=2): 2 services added" in shown
    # The words stay, which is no failure to change them.
    assert " 0.0 " not in next(line for line in shown.splitlines() if line.startswith("schema_noise "))
    plain, both, typos = json.loads(run("reminder:test", "--with", specs, "--limit", "2", "--json")).values()
    assert plain["schema"]["names_changed"] == 62 and both["schema"]["services_added"] and "schema" not in typos
    first = plain["schema"]["slots"][0]
    assert first["before"] == "reminders-task" and first["description_before"] != first["description_after"]


def test_a_preview_of_nothing_says_so() -> None:
    shown = run("reminder:test", "--with", "typos(rate=0.0001)", "--limit", "2")
    assert "no turn of 14 has other words" in shown


def test_json_needs_no_folder() -> None:
    told = json.loads(run("reminder:test", "--with", "typos,entities", "--limit", "2", "--json"))
    assert list(told) == ["typos", "entities"] and told["typos"]["quality"]["turns"] == 14


def test_what_is_found_while_preparing_names_the_stressor(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["stress", "reminder:test", "--with", "values(dictionary=nope)", "--limit", "1"])
    assert "values(dictionary=nope): unknown dictionary 'nope'" in capsys.readouterr().err


def test_a_page_is_written_beside_a_folder_or_alone(tmp_path: Path) -> None:
    page, out = tmp_path / "page.html", tmp_path / "stressed"
    shown = run("reminder:test", "--with", "typos,entities", "--limit", "3", "--html", str(page))
    assert f"written to {page}" in shown and "changed %" in shown and list(tmp_path.iterdir()) == [page]
    alone = page.read_text("utf-8")
    assert "dstress stress reminder:test --with typos,entities --limit=3 --seed=1" in alone
    run("reminder:test", "--with", "typos,entities", "--limit", "3", "--html", str(page), "--out", str(out))
    assert page.read_text("utf-8") == alone and (out / "typos" / "stress.json").is_file()


def test_a_page_that_cannot_be_written_is_told_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as left:
        main(["stress", "reminder:test", "--with", "typos", "--html", str(tmp_path / "file" / "page.html")])
    assert left.value.code == 2 and "cannot be written" in capsys.readouterr().err
