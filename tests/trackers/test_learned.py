"""What a person may get wrong with a tracker that learns, the same for every family."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.parts import need

need("torch", "models")

import torch

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError
from dstress.learning.base import Loss, Session
from dstress.learning.recipe import Recipe, TrainingOptions
from dstress.pipeline.train import train
from dstress.resources import Resources
from dstress.storage.home import home
from dstress.trackers import Context, create, trackers
from dstress.trackers.learned import LearnedTracker, Model
from tests.stressors.generators.training import training

WRITES = {"width": 16, "layers": 1, "heads": 2, "vocabulary": 300, "longest": 48, "longest_answer": 8}
READS = {"checkpoint": "", "width": 16, "layers": 1, "heads": 2, "vocabulary": 300, "longest": 48}
FAMILIES: dict[str, dict[str, Any]] = {
    "copy": {"width": 8, "longest": 40},
    "span": READS,
    "schema_reader": READS,
    "causal": WRITES | {"previous": True, "writes": "change", "exchanges": 1},
    "seq2seq": WRITES,
}
OPTIONS = TrainingOptions(epochs=2, batch=16, rate=0.01, average=0.5)
OTHER = Corpus(
    "zoo",
    "test",
    Schema((Service("zoo", slots=(Slot("animal"),)),)),
    lambda: iter([Dialogue("z", (Turn("lions"),), ("zoo",))]),
)


class Killed(Exception):
    """As by kill -9."""


def recipe(family: str, **settings: Any) -> Recipe:
    few, fewer = training("reminder", None, 5), training("reminder", None, 2)
    return Recipe(family, few, fewer, model=FAMILIES[family] | settings, training=OPTIONS)


def model_of(family: str) -> type[Model]:
    kind = trackers.get(family)
    assert issubclass(kind, LearnedTracker)
    return kind.model_class()


def prepared(family: str, path: Path, corpus: Corpus | None = None, device: str = "cpu") -> LearnedTracker:
    corpus = corpus or load(training("reminder", None, 2))
    tracker = create(f"{family}(path={path}, device={device})")
    assert isinstance(tracker, LearnedTracker)
    tracker.prepare(Resources(corpus.schema, corpus, load, home()))
    return tracker


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole training of a tiny model; the folder has the family's name."""
    out = tmp_path_factory.mktemp("learned") / str(request.param)
    train(recipe(request.param), out)
    return out


@pytest.fixture
def moved(folder: Path, tmp_path: Path) -> Path:
    """A copy of its checkpoint, to be spoilt."""
    shutil.copytree(folder / "best", tmp_path / folder.name)
    return tmp_path / folder.name


def test_every_family_that_learns_is_here() -> None:
    assert set(FAMILIES) == {name for name in trackers.usable() if issubclass(trackers.get(name), LearnedTracker)}


def test_a_killed_training_ends_with_the_same_bits(folder: Path, tmp_path: Path) -> None:
    def kill(what: str, done: int, total: int | None) -> None:
        if total and done == total - 1:
            raise Killed

    with pytest.raises(Killed):
        train(recipe(folder.name), tmp_path / "killed", Session(on_progress=kill))
    train(recipe(folder.name), tmp_path / "killed", resume=True)
    losses = [
        [(line["step"], line.get("loss"), line.get("jga")) for line in map(json.loads, log.splitlines())]
        for log in ((out / "log.jsonl").read_text() for out in (folder, tmp_path / "killed"))
    ]
    assert losses[0] == losses[1]
    weights = [(out / "best/weights.safetensors").read_bytes() for out in (folder, tmp_path / "killed")]
    assert weights[0] == weights[1]


def test_a_checkpoint_of_another_family_is_refused(folder: Path) -> None:
    other = "copy" if folder.name != "copy" else "span"
    with pytest.raises(DstressError, match=f"a checkpoint of {folder.name}, not of {other}\n  fix: use {folder.name}"):
        create(f"{other}(path={folder})").check(["original"])


def test_a_checkpoint_of_another_corpus_is_refused_where_slots_are_known_by_name(folder: Path) -> None:
    if folder.name in ("copy", "span"):
        with pytest.raises(DstressError, match=r"trained on .*: it was trained for another corpus"):
            prepared(folder.name, folder, OTHER)
    else:  # these read the schema at hand
        [dialogue] = OTHER
        assert len(prepared(folder.name, folder, OTHER).track([Context(dialogue, 0, OTHER.schema, {})])) == 1


def test_a_vocabulary_of_another_training_is_refused(moved: Path) -> None:
    if moved.name == "copy":
        notes = json.loads((moved / "model.json").read_text())
        notes["model"]["words"].append("surplus")
        (moved / "model.json").write_text(json.dumps(notes))
    else:
        config = json.loads((moved / "config.json").read_text())
        (moved / "config.json").write_text(json.dumps(config | {"vocab_size": config["vocab_size"] + 1}))
    with pytest.raises(DstressError, match=r"the weights do not fit the network: .* in the weights"):
        prepared(moved.name, moved)


# `copy` has its words in model.json.
@pytest.mark.parametrize("folder", sorted(FAMILIES.keys() - {"copy"}), indirect=True)
def test_a_tokenizer_of_another_training_is_refused(moved: Path) -> None:
    tokenizer = json.loads((moved / "tokenizer.json").read_text())
    tokenizer["added_tokens"].append(
        tokenizer["added_tokens"][0] | {"id": len(tokenizer["model"]["vocab"]), "content": "<surplus>"}
    )
    (moved / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(DstressError, match=r"the tokenizer has \d+ tokens, the network \d+"):
        prepared(moved.name, moved)


def test_weights_are_never_unpickled(moved: Path) -> None:
    (moved / "weights.safetensors").write_bytes(pickle.dumps({"weights": 1}))
    with pytest.raises(DstressError, match="weights cannot be read"):
        prepared(moved.name, moved)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="no device 'cuda'"):
        prepared(folder.name, folder, device="cuda")
    with pytest.raises(DstressError, match="no device 'cuda'"):
        train(recipe(folder.name), tmp_path / "out", Session(device="cuda"))
    assert not (tmp_path / "out").exists()


def test_out_of_memory_halves_what_is_tracked_and_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = load(training("reminder", None, 2))
    contexts = [Context(each, turn, corpus.schema, {}) for each in corpus for turn in range(len(each.turns))][:8]
    tracker = prepared(folder.name, folder)
    whole, track = tracker.track(contexts), model_of(folder.name).track

    def scarce(model: Model, asked: Any) -> Any:
        if len(asked) > 4:
            raise torch.OutOfMemoryError("too much")
        return track(model, asked)

    monkeypatch.setattr(model_of(folder.name), "track", scarce)
    with pytest.warns(UserWarning, match="out of memory with 8 turns at once; tracking 4 at a time"):
        assert tracker.track(contexts) == whole


@pytest.mark.parametrize("family", FAMILIES)
def test_out_of_memory_halves_the_batch_and_says_so(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collate, lines = model_of(family).collate, list[str]()

    def scarce(model: Model, examples: Any, random: Any) -> Any:
        if len(examples) > 8:
            raise torch.OutOfMemoryError("too much")
        return collate(model, examples, random)

    monkeypatch.setattr(model_of(family), "collate", scarce)
    train(recipe(family), tmp_path / "out", Session(say=lines.append))
    assert any("a batch of 16 goes through it in 2 pieces" in line for line in lines)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_loss_that_is_no_number_names_the_step_and_the_batch(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = model_of(family).loss

    def broken(model: Model, batch: Any, embeddings: Any = None) -> Loss:
        right = loss(model, batch, embeddings)
        return right._replace(total=right.total * float("nan"))

    monkeypatch.setattr(model_of(family), "loss", broken)
    with pytest.raises(
        DstressError, match=r"the loss is nan at step 1, in the batch of dialogue reminder-train-.* turn"
    ):
        train(recipe(family), tmp_path / "out")


@pytest.mark.parametrize("family", FAMILIES)
def test_an_unknown_setting_is_named(family: str, tmp_path: Path) -> None:
    with pytest.raises(DstressError, match=rf"recipe of {family}, \[model\]: unknown setting 'widht'.*'width'"):
        train(recipe(family, widht=8), tmp_path / "out")
    assert not (tmp_path / "out").exists()
