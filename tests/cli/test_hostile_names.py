"""Names in data are no paths: whatever a split is called, a command writes where it was told to and nowhere else."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from dstress import corpora, evaluate
from dstress.cli.main import main
from dstress.corpora import store
from dstress.corpora.audit import audit_corpus
from dstress.stressors.base import Rewriter
from tests.corpora import layouts
from tests.storage.test_file_names import HOSTILE

SPLITS = [name for name in HOSTILE if name != "\ud800"]  # JSON text cannot hold half a letter


class Marking(Rewriter):
    """A number at the end: specs that differ in a sign alone."""

    def __init__(self, number: int = 1, padding: str = "") -> None:
        self.number, self.padding = number, padding

    def rewrite(self, utterance: str, protected: Sequence[tuple[int, int]], random: random.Random) -> str:
        return f"{utterance} {self.number}"


def source(folder: Path, split: str) -> str:
    """A zip with one split of that name, in words that every layout can hold."""
    layouts.unified(folder)
    for path in (folder / "data").iterdir():
        text = path.read_text().replace('"sub-way"', '"train"').replace('"line"', '"day"')
        path.write_text(text.replace('"to"', '"destination"').replace('"from"', '"departure"'))
    dialogues = json.loads((folder / "data" / "dialogues.json").read_text())[:1]
    dialogues[0] |= {"data_split": split, "dialogue_id": "../../id"}
    layouts.write_json(folder / "data" / "dialogues.json", dialogues)
    return str(layouts.packed(folder, "zip"))


def call(*arguments: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == 0


def outside(folder: Path, *allowed: str) -> dict[str, bytes]:
    """Every file below the folder but those where writing was asked for."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        name: path.read_bytes()
        for path in files
        if not (name := path.relative_to(folder).as_posix()).startswith(tuple(allowed))
    }


@pytest.mark.parametrize("split", [*SPLITS, "ABSOLUTE", "../victim/test"])
def test_a_split_of_any_name_is_imported_into_its_own_folder(tmp_path: Path, split: str) -> None:
    corpora.add("victim", layouts.dstress(tmp_path / "victim"))
    split = str(tmp_path / "planted") if split == "ABSOLUTE" else split
    packed = source(tmp_path / "source", split)
    before = outside(tmp_path, "home/corpora/mine/", "home/locks/")
    call("corpora", "add", "mine", packed)
    assert outside(tmp_path, "home/corpora/mine/", "home/locks/") == before
    assert list(store.require_manifest("mine").splits) == [split]
    stored = store.open_corpus("mine", split)
    assert [dialogue.id for dialogue in stored] == ["../../id"]
    audit_corpus("mine", {split: stored})


@pytest.mark.parametrize("layout", ["dstress", "multiwoz", "sgd", "trade", "unified"])
@pytest.mark.parametrize("split", ["ABSOLUTE", "../../planted", "..", "x" * 5000])
def test_every_layout_is_written_below_its_folder(tmp_path: Path, layout: str, split: str) -> None:
    packed = source(tmp_path / "source", str(tmp_path / "planted") if split == "ABSOLUTE" else split)
    before = outside(tmp_path, "a/b/out/")
    call("stress", packed, "--with", "typos", "--layout", layout, "--out", str(tmp_path / "a" / "b" / "out"))
    assert outside(tmp_path, "a/b/out/") == before
    assert outside(tmp_path / "a" / "b" / "out")


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_augment_and_run_write_below_their_folders(tmp_path: Path, split: str) -> None:
    packed = source(tmp_path / "source", split)
    suite = tmp_path / "suite.toml"
    suite.write_text('title = "x"\nmetrics = ["jga"]\nstressors = ["typos(rate=0.9)"]\n')
    before = outside(tmp_path, "a/b/out/", "c/d/run/")
    call("augment", packed, "--with", "typos(rate=0.9)", "--out", str(tmp_path / "a" / "b" / "out"))
    out = tmp_path / "c" / "d" / "run"
    call("run", str(suite), "--tracker", "gold", "--corpus", packed, "--out", str(out))
    assert outside(tmp_path, "a/b/out/", "c/d/run/") == before


@pytest.mark.slow
def test_specs_that_differ_in_a_sign_or_late_have_files_of_their_own(tmp_path: Path) -> None:
    here, late = f"{__name__}:Marking", "x" * 120
    specs = [f"{here}(number=30)", f"{here}(number=-30)", *(f"{here}(padding={late}{end})" for end in "ab")]
    suite = tmp_path / "suite.toml"
    suite.write_text(f'title = "x"\nmetrics = ["jga"]\nstressors = {json.dumps(specs)}\n')
    run = evaluate(str(suite), "gold", str(layouts.dstress(tmp_path / "corpus")), tmp_path / "run")
    assert len(run.variants) == 5 == len({run.variant(variant).path for variant in run.variants})
    assert len({run.variant(variant).predictions_path() for variant in run.variants}) == 5
    last = [
        {turn.user.split()[-1] for d in run.variant(variant).dialogues() for turn in d.turns}
        for variant in run.variants
    ]
    assert last[1:] == [{"30"}, {"-30"}, {"1"}, {"1"}]
    call("stress", str(tmp_path / "corpus"), "--with", ",".join(specs), "--out", str(tmp_path / "stressed"))
    assert len(list((tmp_path / "stressed").iterdir())) == 4
