"""The data home: what is there stays as it is, whatever happens to an import."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dstress import corpora
from dstress.cli.main import main
from dstress.corpora import store
from dstress.corpora.base import LocatedDialogue, Split
from dstress.dialogue import Dialogue, Edit, Schema, Stress, Turn
from dstress.errors import CorpusError, DstressError, UnknownNameError
from tests.corpora import layouts

pytestmark = pytest.mark.usefixtures("empty_home")


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file but the locks, which stay."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def split_of(*names: str, split: str = "test") -> Iterator[tuple[str, Split]]:
    located: list[LocatedDialogue] = [("here", Dialogue(name, (Turn("hi"),))) for name in names]
    return iter([("dstress", Split(split, Schema(), lambda: iter(located)))])


def test_a_new_split_joins_what_is_there() -> None:
    store.add("mine", "a", split_of("one"))
    after = store.add("mine", "b", split_of("two", split="train"))
    assert list(after.splits) == ["train", "test"]
    assert [d.id for d in corpora.load("mine:train")] == ["two"]


def test_a_corpus_knows_its_language(tmp_path: Path, data_home: Path) -> None:
    corpora.add("mine", layouts.dstress(tmp_path), language="de")
    assert corpora.load("mine:test").language == "de"
    manifest = data_home / "corpora" / "mine" / "corpus.json"
    written_before_languages = manifest.read_text().replace(',\n      "language": "de"', "")
    assert "language" not in written_before_languages
    manifest.write_text(written_before_languages)
    assert corpora.load("mine:test").language == "en"


def test_a_corpus_knows_that_it_is_stressed_wherever_its_first_stressed_turn_is() -> None:
    """People rewrite a few turns only, and these may come late."""
    was = Turn("hi")
    turns = [Turn("well " * 50_000), Turn("hello", stress=Stress(was, (Edit(0, "hi", "hello"),)))]
    for name, kept in (("rewritten", 2), ("plain", 1)):
        located: list[LocatedDialogue] = [("here", Dialogue(str(n), (turn,))) for n, turn in enumerate(turns[:kept])]
        store.add(name, "a", iter([("dstress", Split("test", Schema(), lambda found=located: iter(found)))]))
        assert corpora.load(f"{name}:test").stressed is (name == "rewritten")


def test_the_same_split_again_changes_nothing(data_home: Path) -> None:
    store.add("mine", "a", split_of("one"))
    before = snapshot(data_home)
    store.add("mine", "a", split_of("one"))
    assert snapshot(data_home) == before


@pytest.mark.parametrize("other_name", ["test", "validation"])
def test_a_split_that_would_change_is_refused(data_home: Path, other_name: str) -> None:
    store.add("mine", "a", split_of("one", split="val" if other_name == "validation" else "test"))
    before = snapshot(data_home)
    with pytest.raises(CorpusError, match="already has a split"):
        store.add("mine", "b", split_of("other", split=other_name))
    assert snapshot(data_home) == before


def test_when_one_of_two_splits_is_wrong_neither_arrives(data_home: Path) -> None:
    both = [*split_of("one"), *split_of("two", "two", split="train")]
    with pytest.raises(CorpusError, match="twice"):
        store.add("mine", "a", iter(both))
    assert snapshot(data_home) == {} and store.stored_names() == []


def test_a_full_disk_leaves_the_earlier_import_untouched(data_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add("mine", "a", split_of("one"))
    before = snapshot(data_home)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "_write_split", full)
    with pytest.raises(CorpusError, match="no space left"):
        store.add("mine", "b", split_of("two", split="train"))
    assert snapshot(data_home) == before


def test_a_really_full_disk(small_disk: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    small = small_disk("64k")
    monkeypatch.setenv("DSTRESS_HOME", str(small / "home"))
    with pytest.raises(CorpusError, match="no space left"):
        store.add("mine", "a", split_of(*(f"dialogue-{number:060}" for number in range(2000))))
    assert snapshot(small) == {}


_SLOW_IMPORT = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from dstress.corpora import store
from dstress.corpora.base import Split
from dstress.dialogue import Dialogue, Edit, Schema, Stress, Turn

def dialogues():
    for number in range(10**6):
        print(number, flush=True)
        yield "here", Dialogue(str(number), (Turn("hi"),))
        time.sleep(0.01)

store.add("mine", "slow", iter([("dstress", Split("train", Schema(), dialogues))]))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_import_is_as_if_it_never_was(data_home: Path, how: signal.Signals) -> None:
    store.add("mine", "a", split_of("one"))
    before = (data_home / "corpora/mine/corpus.json").read_bytes()
    importing = subprocess.Popen(
        [sys.executable, "-c", _SLOW_IMPORT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert importing.stdout is not None
    for _ in range(5):
        importing.stdout.readline()
    importing.send_signal(how)
    importing.wait(timeout=60)
    importing.stdout.close()
    assert (data_home / "corpora/mine/corpus.json").read_bytes() == before
    assert [d.id for d in corpora.load("mine:test")] == ["one"]
    store.add("mine", "b", split_of("two", split="dev"))
    assert not list((data_home / "corpora/mine").glob(".incoming*"))


def test_a_second_import_at_once_waits() -> None:
    importing = subprocess.Popen(
        [sys.executable, "-c", _SLOW_IMPORT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert importing.stdout is not None
    importing.stdout.readline()
    try:
        told: list[str] = []

        def on_progress(what: str, _: int) -> None:
            told.append(what)
            importing.kill()  # then it is our turn

        store.add("mine", "b", split_of("two"), on_progress)
        assert told[0] == "waiting for another import into mine"
    finally:
        importing.kill()
        importing.wait(timeout=60)
        importing.stdout.close()


def test_removal_leaves_no_trace(data_home: Path) -> None:
    store.add("group/mine", "a", split_of("one"))
    store.remove("group/mine")
    assert store.stored_names() == [] and snapshot(data_home) == {}
    with pytest.raises(UnknownNameError):
        corpora.load("group/mine:test")


@pytest.mark.parametrize("name", ["", "../up", "/root", "a/b/c", ".hidden", "a b", "a\\b"])
def test_names_that_could_lead_elsewhere(name: str) -> None:
    with pytest.raises(DstressError):
        store.add(name, "a", split_of("one"))


def test_unknown_names_suggest_the_nearest() -> None:
    store.add("multiwoz21", "a", split_of("one", split="val"))
    with pytest.raises(UnknownNameError, match="'multiwoz21'"):
        corpora.load("multiwoz-21:test")
    with pytest.raises(UnknownNameError, match="val"):
        corpora.load("multiwoz21:tset")
    assert corpora.load("multiwoz21:dev").split == corpora.load("multiwoz21:validation").split == "val"


def test_a_changed_value_is_never_scored_silently(data_home: Path, tmp_path: Path) -> None:
    corpora.add("mine", layouts.dstress(tmp_path))
    for file, old in (("test.jsonl", b"cheap"), ("test.schema.json", b"hotel")):
        path = data_home / "corpora/mine" / file
        whole = path.read_bytes()
        assert old in whole
        path.write_bytes(whole.replace(old, old[::-1], 1))
        with pytest.raises(CorpusError, match=rf"{file}: the file has changed since it was imported(.|\n)*remove mine"):
            corpora.load("mine:test")
        path.unlink()
        with pytest.raises(CorpusError, match=rf"{file}: the file is gone"):
            corpora.load("mine:test")
        path.write_bytes(whole)
    assert list(corpora.load("mine:test"))


def test_a_base_that_changed_is_told_when_a_variant_is_loaded(data_home: Path, tmp_path: Path) -> None:
    corpora.add("sgd", layouts.sgd(tmp_path / "sgd"))
    layouts.write_json(tmp_path / "x" / "v1" / "test" / "schema.json", layouts.sgd_schema())
    corpora.add("sgd-x", tmp_path / "x")
    assert list(corpora.load("sgd-x/v1:test"))
    with (data_home / "corpora/sgd/test.jsonl").open("ab") as file:
        file.write(b"\n")
    with pytest.raises(CorpusError, match="has changed since it was imported"):
        corpora.load("sgd-x/v1:test")


def test_a_file_is_hashed_once_while_it_stays_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[object] = []
    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *given: hashed.append(given) or digest(*given))
    store.add("mine", "a", split_of("one"))
    for _ in range(3):
        assert len(list(corpora.load("mine:test"))) == 1
    assert len(hashed) == 2  # the schema and the dialogues


@pytest.mark.parametrize("damage", ["manifest", "schema", "dialogues", "all gone"])
def test_a_damaged_corpus_can_be_removed_and_added_again(
    data_home: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = data_home / "corpora/mine"
    store.add("other", "a", split_of("one"))
    store.add("mine", "a", split_of("one"))
    before = snapshot(folder)
    if damage == "all gone":
        (folder / "test.jsonl").unlink()
        (folder / "test.schema.json").unlink()
    else:
        files = {"manifest": "corpus.json", "schema": "test.schema.json", "dialogues": "test.jsonl"}
        (folder / files[damage]).write_bytes(b'{"id": ')
    with pytest.raises(CorpusError, match="remove mine"):
        corpora.load("mine:test")
    with pytest.raises(SystemExit) as left:
        main(["corpora", "list"])
    assert left.value.code == 0 and "other" in (shown := capsys.readouterr().out) and "mine" in shown
    with pytest.raises(SystemExit) as left:
        main(["corpora", "remove", "mine"])
    assert left.value.code == 0 and snapshot(folder) == {}
    store.add("mine", "a", split_of("one"))
    assert snapshot(folder) == before and list(corpora.load("mine:test"))


@pytest.mark.slow
def test_the_embedded_corpus_comes_back_by_itself(data_home: Path) -> None:
    list(corpora.load("reminder:dev"))
    (data_home / "corpora/reminder/dev.jsonl").write_bytes(b"")
    with pytest.raises(CorpusError, match=r"remove reminder`, then it is made again at its next use"):
        corpora.load("reminder:dev")
    store.remove("reminder")
    assert list(corpora.load("reminder:dev"))


def test_damage_after_loading_is_told_with_its_line(data_home: Path) -> None:
    store.add("mine", "a", split_of("one"))
    loaded = corpora.load("mine:test")
    (data_home / "corpora/mine/test.jsonl").write_bytes(b'{"id": ')
    with pytest.raises(CorpusError, match="line 1"):
        list(loaded)


@pytest.mark.slow
def test_memory_stays_flat_in_the_number_of_files(tmp_path: Path) -> None:
    """Twenty times the files, and the peak grows by less than half."""
    peaks = [_peak(_many_files(tmp_path / str(count), count)) for count in (5, 100)]
    assert peaks[1] < 1.5 * peaks[0]


def _many_files(folder: Path, count: int) -> Path:
    layouts.write_json(folder / "test" / "schema.json", layouts.sgd_schema())
    for number in range(count):
        dialogues = [layouts.sgd_dialogue(f"{number}_{index}") for index in range(200)]
        layouts.write_json(folder / "test" / f"dialogues_{number:03}.json", dialogues)
    return folder


def _peak(folder: Path) -> int:
    """Peak resident size of an import in a process of its own, in kB."""
    code = (
        "import resource, sys; from dstress import corpora; corpora.add('flat', sys.argv[1]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    home = {"DSTRESS_HOME": str(folder / "home")}
    answer = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, check=True, env=os.environ | home
    )
    return int(answer.stdout)


def test_an_imported_name_is_not_shadowed_by_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sgd` is the import, also where the folder that it came from lies there; `./sgd` is the folder."""
    corpora.add("sgd", layouts.sgd(tmp_path / "sgd"))
    layouts.write_json(tmp_path / "sgd" / "test" / "dialogues_001.json", [layouts.sgd_dialogue("other")])
    (tmp_path / "reminder").mkdir()
    monkeypatch.chdir(tmp_path)
    for text in ("sgd", "sgd:test"):
        assert [dialogue.id for dialogue in corpora.load(text)] == ["2_00000"]
    for text in ("./sgd", "./sgd:test", f"{tmp_path}/sgd:test"):
        assert [dialogue.id for dialogue in corpora.load(text)] == ["other"]
    assert corpora.load("reminder:test").schema.services


@pytest.mark.parametrize("where", ["sgd:test", "sgd/test"])
def test_a_path_knows_the_services_of_its_training_data(where: str, tmp_path: Path) -> None:
    root = layouts.sgd(tmp_path / "sgd")
    trained = layouts.sgd_schema()[:1]
    layouts.write_json(root / "train" / "schema.json", trained)
    assert corpora.load(f"{tmp_path}/{where}").seen == {trained[0]["service_name"]}
    for file in (root / "train").iterdir():
        file.unlink()
    assert corpora.load(f"{tmp_path}/{where}").seen is None
