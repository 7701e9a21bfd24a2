"""People's own rewrites: each row finds its turn, the guard looks at it, and a bad row is one clear message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, State, Turn
from dstress.errors import DstressError
from dstress.pipeline.manifest import hash_stressor
from dstress.pipeline.stress import stress
from dstress.stressors import create
from tests import pages
from tests.paths import DOCS
from tests.stressors.samples import in_memory

PAGE = DOCS / "stressors" / "rewrites.md"
STATE: State = {"train-destination": ("ely",)}
TRIP = Dialogue("t,1", (Turn("To Ely.", "", STATE), Turn("Yes; please.", "Right?", STATE)), ("train",))
ROWS = [("t,1", "0", "Ely it is, mate."), ("t,1", "1", 'He said "yes"; so; yes')]


def corpus() -> Corpus:
    return in_memory([TRIP], Schema((Service("train", slots=(Slot("destination"),)),)), "trips")


def said(path: Path, *more: str) -> list[str]:
    [dialogue] = stress(corpus(), f"rewrites({', '.join([json.dumps(str(path)), *more])})")
    return [turn.user for turn in dialogue.turns]


def write(path: Path, delimiter: str = ",") -> Path:
    quoted = [delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in ROWS]
    path.write_text("\n".join([delimiter.join(("dialogue", "turn", "user")), *quoted]) + "\n", encoding="utf-8-sig")
    return path


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_a_table_of_any_delimiter(delimiter: str, tmp_path: Path) -> None:
    assert said(write(tmp_path / "mine.csv", delimiter)) == [words for _, _, words in ROWS]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"dialogue": "t,1", "turn": 1, "user": "Sure."}) + "\n\n")
    assert said(path) == ["To Ely.", "Sure."]


def test_words_that_lose_the_value_are_left_out_and_counted_unless_they_are_trusted(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text('dialogue,turn,user\n"t,1",0,To the isle of eels.\n')
    [dialogue] = stress(corpus(), f'rewrites("{path}")')
    assert dialogue.turns[0].user == "To Ely."
    assert dialogue.turns[0].stress and dialogue.turns[0].stress.fallbacks == ("a value was no longer said",)
    assert said(path, "trusted=true") == ["To the isle of eels.", "Yes; please."]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('dialogue,turn,user\n"t,2",0,Hi.\n', r"mine, line 2: unknown dialogue 't,2'; did you mean 't,1'"),
        ('dialogue,turn,user\n"t,1",2,Hi.\n', r"mine, line 2, dialogue t,1: there is no turn '2'[^0]*turns 0 to 1"),
        ('dialogue,turn,user\n"t,1",-1,Hi.\n', r"there is no turn '-1'"),
        ('dialogue,turn,user\n"t,1",1,\n', r"mine, line 2, dialogue t,1, turn 1: there are no words"),
        ('dialogue,turn,user\n"t,1",1,a\n"t,1",1,b\n', r"mine, line 3, dialogue t,1, turn 1: the turn is there twice"),
        ('dialogue,turn,words\n"t,1",1,a\n', r"mine, line 2: there is no 'user'"),
        ('{"dialogue": "t,1", "turn": 1}\n', r"mine, line 1: there is no 'user'"),
        ('{"dialogue": "t,1", "turn": 1, "user": "a"}\nnot json\n', r"mine, line 2: there is no 'dialogue'"),
    ],
)
def test_a_bad_row_is_one_message(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text(text)
    with pytest.raises(DstressError, match=message):
        said(path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="the rewrites cannot be read: No such file"):
        said(tmp_path / "none.csv")
    (tmp_path / "latin").write_bytes(b"dialogue,turn,user\nt,0,\xe9\n")
    with pytest.raises(DstressError, match="it is no UTF-8"):
        said(tmp_path / "latin")
    with pytest.raises(DstressError, match="it is no file"):
        said(Path("/dev/zero"))
    with pytest.raises(DstressError, match="which file has them"):
        stress(corpus(), "rewrites")


def test_another_file_of_the_same_name_is_another_stressor(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv")
    before = hash_stressor(create(f'rewrites("{path}")'))
    assert hash_stressor(create(f'rewrites("{path}")')) == before
    write(path, ";")
    assert hash_stressor(create(f'rewrites("{path}")')) != before


@pytest.mark.parametrize("title", pages.sections(PAGE))
def test_the_page_does_what_it_says(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.run(pages.sections(PAGE)[title], PAGE, tmp_path, monkeypatch)
