"""Whatever a person can get wrong: one clear message with the place and the fix, exit code 2, nothing half-imported."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dstress.cli.main import main
from dstress.corpora import store
from tests.corpora import layouts

pytestmark = pytest.mark.usefixtures("empty_home")

Write = Callable[[Path], Path]


def fails(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must fail as a person's mistake, and return what it said."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    said = capsys.readouterr().err
    assert stop.value.code == 2 and "Traceback" not in said
    return said


def changed_sgd(change: Callable[[dict[str, Any]], None]) -> Write:
    def write(folder: Path) -> Path:
        layouts.sgd(folder)
        dialogue = layouts.sgd_dialogue("2_00000")
        change(dialogue)
        layouts.write_json(folder / "test" / "dialogues_001.json", [dialogue])
        return folder

    return write


def _unknown_slot(dialogue: dict[str, Any]) -> None:
    dialogue["turns"][2]["frames"][0]["state"]["slot_values"]["prise"] = ["cheap"]


def _unknown_service(dialogue: dict[str, Any]) -> None:
    dialogue["turns"][2]["frames"][0]["service"] = "Hotel_1"


def _no_words(dialogue: dict[str, Any]) -> None:
    dialogue["turns"][2]["utterance"] = "  "


def _no_value(dialogue: dict[str, Any]) -> None:
    dialogue["turns"][2]["frames"][0]["state"]["slot_values"]["price"] = []


def _bad_span(dialogue: dict[str, Any]) -> None:
    dialogue["turns"][0]["frames"][0]["slots"][0]["exclusive_end"] = 999


def _stranger(dialogue: dict[str, Any]) -> None:
    dialogue["turns"][2]["speaker"] = "NARRATOR"


def _wrong_type(dialogue: dict[str, Any]) -> None:
    dialogue["turns"][2]["frames"][0]["state"]["slot_values"]["price"] = "cheap"


def _no_second_half(dialogue: dict[str, Any]) -> None:
    del dialogue["turns"][2:]


def _doubled(folder: Path) -> Path:
    layouts.sgd(folder)
    layouts.write_json(folder / "test" / "dialogues_002.json", [layouts.sgd_dialogue("2_00000")])
    return folder


def _truncated_json(folder: Path) -> Path:
    path = layouts.sgd(folder) / "test" / "dialogues_001.json"
    path.write_bytes(path.read_bytes()[:-40])
    return folder


def _latin1(folder: Path) -> Path:
    path = layouts.sgd(folder) / "test" / "dialogues_001.json"
    path.write_bytes(path.read_bytes().replace(b"cheap hotel", b"cheap h\xf4tel"))
    return folder


def _empty_file(folder: Path) -> Path:
    (layouts.sgd(folder) / "test" / "dialogues_001.json").write_bytes(b"")
    return folder


def _empty_split(folder: Path) -> Path:
    layouts.write_json(layouts.sgd(folder) / "test" / "dialogues_001.json", [])
    return folder


def _no_schema(folder: Path) -> Path:
    (layouts.sgd(folder) / "test" / "schema.json").unlink()
    return folder


def _no_lists(folder: Path) -> Path:
    (layouts.multiwoz_single(folder) / "valListFile.txt").unlink()
    return folder


def _cut_log(folder: Path) -> Path:
    dialogue = layouts.raw_dialogue()
    dialogue["log"].pop()
    layouts.write_json(folder / "test.json", {"SNG0001": dialogue})
    return folder


def _hyphen(folder: Path) -> Path:
    layouts.dstress(folder)
    layouts.write_json(folder / "schema.json", {"services": [{"name": "bed-and-breakfast"}]})
    return folder


def _truncated_archive(folder: Path) -> Path:
    archive = layouts.packed(layouts.sgd(folder), "tar.xz")
    archive.write_bytes(archive.read_bytes()[:-100])
    return archive


def _truncated_zip(folder: Path) -> Path:
    archive = layouts.packed(layouts.sgd(folder), "zip")
    archive.write_bytes(archive.read_bytes()[:-100])
    return archive


def _escaping(folder: Path) -> Path:
    folder.mkdir()
    return layouts.tar_with(folder / "bad.tar", "../../evil.json")


def _link(folder: Path) -> Path:
    folder.mkdir()
    return layouts.tar_with(folder / "bad.tar", "data.json", kind=tarfile.SYMTYPE, link="/etc/passwd")


def _device(folder: Path) -> Path:
    folder.mkdir()
    return layouts.tar_with(folder / "bad.tar", "data.json", kind=tarfile.CHRTYPE)


def _nothing(folder: Path) -> Path:
    folder.mkdir()
    return folder


CASES: dict[str, tuple[Write, list[str]]] = {
    "a slot outside the schema": (
        changed_sgd(_unknown_slot), ["_001.json, dialogue 2_00000, turn 1", "'Hotels_1-prise'", "Hotels_1-price"],
    ),
    "a service outside the schema": (changed_sgd(_unknown_service), ["dialogue 2_00000, turn 1", "'Hotels_1'"]),
    "a turn without a user utterance": (changed_sgd(_no_words), ["2_00000, turn 1", "no user utterance"]),
    "a value list without values": (changed_sgd(_no_value), ["2_00000, turn 1", "Hotels_1-price", "empty value"]),
    "a span outside its utterance": (changed_sgd(_bad_span), ["dialogue 2_00000, turn 0", "Hotels_1-price", "outside"]),
    "an unknown speaker": (changed_sgd(_stranger), ["dialogue 2_00000", "NARRATOR"]),
    "a wrong type": (changed_sgd(_wrong_type), ["dialogues_001.json", "Expected `array`", "slot_values"]),
    "a dialogue id twice": (_doubled, ["dialogues_002.json, dialogue 2_00000", "twice", "fix:"]),
    "truncated JSON": (_truncated_json, ["dialogues_001.json", "not valid JSON", "fix:"]),
    "another encoding": (_latin1, ["dialogues_001.json", "UTF-8"]),
    "an empty file": (_empty_file, ["dialogues_001.json", "empty"]),
    "an empty split": (_empty_split, ["'test' has no dialogues", "fix:"]),
    "no schema": (_no_schema, ["test", "no schema.json", "fix:"]),
    "no list files": (_no_lists, ["lists of validation and test", "valListFile"]),
    "a log that ends with the user": (_cut_log, ["test.json, dialogue SNG0001, turn 2", "no state"]),
    "a service with a hyphen": (_hyphen, ["bed-and-breakfast", "hyphen", "fix:"]),
    "a truncated tar": (_truncated_archive, [".tar.xz", "truncated", "fix:"]),
    "a truncated zip": (_truncated_zip, [".zip", "truncated", "fix:"]),
    "a path that escapes": (_escaping, ["bad.tar", "../../evil.json", "outside"]),
    "a link in the archive": (_link, ["bad.tar", "data.json", "link or a device"]),
    "a device in the archive": (_device, ["bad.tar", "data.json", "link or a device"]),
    "an empty folder": (_nothing, ["no known corpus layout", "fix:"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_bad_source(case: str, tmp_path: Path, data_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write, expected = CASES[case]
    said = fails(["corpora", "add", "mine", str(write(tmp_path / "it"))], capsys)
    for words in expected:
        assert words in said
    assert store.stored_names() == [] and not [*(data_home / "corpora").rglob("*")]


@pytest.mark.parametrize("case", CASES)
def test_an_earlier_import_is_untouched(
    case: str, tmp_path: Path, data_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = layouts.dstress(tmp_path / "good")
    (folder / "test.jsonl").unlink()
    main_ok(["corpora", "add", "mine", str(folder)])
    before = {path: path.read_bytes() for path in data_home.rglob("*") if path.is_file()}
    fails(["corpora", "add", "mine", str(CASES[case][0](tmp_path / "it"))], capsys)
    assert {path: path.read_bytes() for path in data_home.rglob("*") if path.is_file()} == before


def main_ok(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0


def test_a_path_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in fails(["corpora", "add", "mine", "nowhere.zip"], capsys)


def test_a_name_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main_ok(["corpora", "add", "mine", str(layouts.sgd(tmp_path / "one"))])
    said = fails(["corpora", "add", "mine", str(changed_sgd(_no_second_half)(tmp_path / "two"))], capsys)
    assert "already has a split 'test'" in said and "remove mine" in said
    assert "embedded" in fails(["corpora", "add", "reminder", str(tmp_path)], capsys)


def test_jsonl_errors_name_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = layouts.dstress(tmp_path)
    good = json.dumps(layouts.dstress_dialogue("a"))
    (folder / "test.jsonl").write_text(f"{good}\n{good[:-9]}\n")
    assert "test.jsonl, line 2" in fails(["corpora", "add", "mine", str(folder)], capsys)


@pytest.mark.parametrize("booked", [1, [1], True])
def test_bookings_that_are_none(booked: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialogue = layouts.raw_dialogue()
    dialogue["log"][1]["metadata"]["hotel"]["book"]["booked"] = booked
    layouts.write_json(tmp_path / "test.json", {"SNG0001": dialogue})
    assert "no list of bookings" in fails(["corpora", "add", "mine", str(tmp_path)], capsys)


def test_no_corpus_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no corpus is named" in fails(["score", __file__, "--gold", ""], capsys)


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyse", "laws", "--cases", "1" + "0" * 19],
        ["augment", "reminder:train", "--with", "typos", "--times", "1" + "0" * 12],
    ],
)
def test_numbers_that_nobody_can_wait_for(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not in the range" in fails(arguments, capsys)


def test_saved_answers_in_a_device(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = ["run", "quick", "--corpus", "reminder:test", "--limit", "1", "--out", str(tmp_path / "run")]
    assert "no such file" in fails([*run, "--tracker", 'saved("/dev/zero")'], capsys)
