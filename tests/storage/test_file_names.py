"""Any name becomes a file name that stays in its folder, and no two become the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dstress.storage.file_names import file_name, legible

HOSTILE = [
    "",
    ".",
    "..",
    "../x",
    "../../x/test",
    "/etc/x",
    "a/b",
    "a\\b",
    "C:x",
    "CON",
    "nul.txt",
    "com1.5",
    "~",
    "-rf",
]
HOSTILE += ["a\0b", "a\nb", "\x1b]52;c;x\a", "é", "e\u0301", "\ud800", "測試", "\u202etxt", "x" * 5000, " ", "a ", "a."]
# Names that look alike to a file system or to a reader, and what the function itself makes of a name.
TWINS = ["Test", "TEST", "test", "typos(rate=0.1)", "typos(rate=-0.1)", "typos-rate-0.1", file_name("../x")]
names = st.text() | st.sampled_from(HOSTILE + TWINS) | st.text("aA.-/+_0", max_size=6)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_makes_a_file_in_its_folder(tmp_path: Path, name: str) -> None:
    path = tmp_path / "folder" / f"{file_name(name)}.schema.json"
    path.parent.mkdir()
    path.write_bytes(b"x")
    assert [found.name for found in path.parent.iterdir()] == [path.name]
    assert sorted(found.name for found in tmp_path.iterdir()) == ["folder"]


@given(names)
def test_a_file_name_is_short_and_of_few_letters(name: str) -> None:
    made = file_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_+][A-Za-z0-9._+-]{0,97}", made) and not made.endswith(".")
    assert made.split(".")[0].casefold() not in {"con", "prn", "aux", "nul", "com1", "lpt1"}


@given(names, names)
@example("Test", "test")
@example("../x", file_name("../x"))
@example("x" * 100 + "a", "x" * 100 + "b")
def test_two_names_never_share_a_file(one: str, other: str) -> None:
    assert (file_name(one).casefold() == file_name(other).casefold()) == (one == other)


@pytest.mark.parametrize("name", ["original", "typos", "entities+typos", "test", "dev_de", "v1", "dialogues_001"])
def test_a_plain_name_stays(name: str) -> None:
    assert file_name(name) == name


def test_what_can_be_read_of_a_spec_stays() -> None:
    assert file_name("typos(rate=0.1)").startswith("typos-rate-0.1-")
    assert legible('http(url="http://a/b")') == "http-url-http-a-b"
