"""TRADE: what it reads, what it writes, what it learns, and checkpoints that do not fit."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import json
import math
import pickle
import shutil
from functools import cache, partial
from pathlib import Path
from random import Random

import pytest

from tests.parts import need

need("torch", "models")

import torch

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError
from dstress.learning.recipe import Recipe, TrainingOptions
from dstress.pipeline.train import train
from dstress.resources import Resources
from dstress.scoring.score import score
from dstress.storage.home import home
from dstress.trackers import Context, create
from dstress.trackers.copy.model import CopyModel, Options
from dstress.trackers.learned import LearnedTracker
from tests.stressors.generators.training import training
from tests.trackers.fitting import BRIEF, RIGHT, RIGHT_UNSEEN, fit, has_fallen, mean_share_right

SCHEMA = Schema((Service("hotel", slots=(Slot("name"), Slot("area"))),))
AREAS = ("north", "south", "east", "dontcare")
NAMES = (
    "Larkspur",
    "Gables",
    "Orchard",
    "Beacon",
    "Fenwick",
    "A&B",
    "Mill",
    "Cobden",
    "Ashby",
    "St. John's Inn",
    "Ivy",
)
NEW = ("Zzyzx", "Quayside", "Forge", "Pemberley", "B12", "Torview")
RATE = 0.02


def hotels(count: int = 60, names: tuple[str, ...] = NAMES) -> Corpus:
    """Somebody wants a hotel in some area, or does not mind where; then names one."""
    dialogues = []
    for number in range(count):
        area, name = AREAS[number % len(AREAS)], names[number % len(names)]
        asked = "anywhere will do" if area == "dontcare" else f"something in the {area} please"
        turns = (
            Turn(asked, state={"hotel-area": (area,)}),
            Turn(f"I want {name}, thanks.", "Which one?", {"hotel-area": (area,), "hotel-name": (name,)}),
        )
        dialogues.append(Dialogue(f"d{number}", turns, ("hotel",)))
    return Corpus("hotels", "train", SCHEMA, lambda: iter(dialogues))


def create_model(seed: int = 1) -> CopyModel:
    torch.manual_seed(seed)
    return CopyModel.create(Options(width=24, dropout=0.0, word_dropout=0.1), hotels())


@cache
def learned() -> CopyModel:
    """A model that knows its slots and has seen little."""
    model = create_model()
    fit(model, hotels(), BRIEF, RATE)
    return model


def ask(model: CopyModel, *dialogues: Dialogue, schema: Schema = SCHEMA) -> list[object]:
    contexts = [Context(dialogue, turn, schema) for dialogue in dialogues for turn in range(len(dialogue.turns))]
    with torch.inference_mode():
        return list(model.track(contexts))


def test_the_loss_falls() -> None:
    assert has_fallen(fit(create_model(), hotels(), BRIEF, RATE))


@pytest.mark.slow
def test_it_learns_gates_and_values_and_copies_names_that_training_lacks() -> None:
    def answers(asked: Corpus, seed: int) -> list[tuple[object, object]]:
        gold = [{slot: forms[0] for slot, forms in turn.state.items()} for each in asked for turn in each.turns]
        return list(zip(ask(trained(seed), *asked), gold, strict=True))

    assert mean_share_right(partial(answers, hotels(12))) >= RIGHT
    assert mean_share_right(partial(answers, hotels(len(NEW), NEW))) >= RIGHT_UNSEEN


@cache
def trained(seed: int) -> CopyModel:
    model = create_model(seed)
    fit(model, hotels(), 80, RATE, batch=120)
    return model


def test_answers_do_not_hang_on_what_else_is_asked() -> None:
    dialogues = [*hotels(7), Dialogue("empty", (Turn(""),)), Dialogue("long", (Turn("word " * 900),))]
    together = ask(learned(), *dialogues)
    assert together == [answer for dialogue in dialogues for answer in ask(learned(), dialogue)]


def test_only_slots_of_the_schema_are_answered() -> None:
    smaller = Schema((Service("hotel", slots=(Slot("area"),)),))
    assert all(set(answer) == {"hotel-area"} for answer in ask(learned(), *hotels(4), schema=smaller))


def test_the_loss_is_the_same_over_given_embeddings_and_pads_cost_nothing() -> None:
    model = CopyModel.create(Options(width=8, dropout=0.0, word_dropout=0.0), hotels())
    examples = model.examples(hotels(6), Random(1))
    batch = model.collate(examples, Random(1))
    whole = model.loss(batch)
    assert float(model.loss(batch, model.embed(batch)).total.detach()) == float(whole.total.detach())
    alone = sum(float(model.loss(model.collate([each], Random(1))).total.detach()) for each in examples)
    assert math.isclose(alone, float(whole.total.detach()), rel_tol=1e-5)


def test_slots_that_a_model_lacks_cannot_be_learnt() -> None:
    wider = Schema((Service("hotel", slots=(Slot("name"), Slot("area"), Slot("stars"))),))
    with pytest.raises(DstressError, match="no slot 'hotel-stars'"):
        learned().examples(Corpus("wider", "train", wider, lambda: iter(hotels())), Random(1))


def test_turns_without_any_value_can_be_learnt_from() -> None:
    turns = (Turn("hello"), Turn("anywhere", state={"hotel-area": ("dontcare",), "hotel-name": ("__",)}))
    model = CopyModel.create(Options(width=8), hotels())
    silent = Corpus("silent", "train", SCHEMA, lambda: iter([Dialogue("d", turns)]))
    loss = model.loss(model.collate(model.examples(silent, Random(1)), Random(1)))
    assert (loss.units, bool(loss.total.isfinite())) == (2, True)
    loss.total.backward()


def test_words_are_hidden_in_training_alone() -> None:
    model = CopyModel.create(Options(width=8, word_dropout=0.5), hotels())
    batch = model.collate(model.examples(hotels(6), Random(1)), Random(1))
    hidden = (batch["read"] == model.vocabulary.unknown) & (batch["words"] != model.vocabulary.pad)
    assert 0.3 < hidden.sum() / (batch["words"] != model.vocabulary.pad).sum() < 0.7
    assert not (batch["words"] == model.vocabulary.unknown).any()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of a few reminder dialogues."""
    out = tmp_path_factory.mktemp("copy") / "trained"
    options = TrainingOptions(epochs=2, batch=32, rate=0.02, clip=10.0, average=0.5)
    few, fewer = training("reminder", None, 20), training("reminder", None, 6)
    train(Recipe("copy", few, fewer, model={"width": 16, "longest": 60}, training=options), out)
    return out


def prepared(spec: str, corpus: Corpus | None = None) -> LearnedTracker:
    corpus = corpus or load(training("reminder", None, 6))
    tracker = create(spec)
    assert isinstance(tracker, LearnedTracker)
    tracker.prepare(Resources(corpus.schema, corpus, load, home()))
    return tracker


def test_a_checkpoint_tracks_as_it_did_in_training(folder: Path) -> None:
    corpus = load(training("reminder", None, 6))
    tracker = pickle.loads(pickle.dumps(prepared(f"copy(path={folder}, device=cpu)")))
    tracker.prepare(Resources(corpus.schema, corpus, load, home()))
    answers = {
        dialogue.id: tracker.track([Context(dialogue, turn, corpus.schema) for turn in range(len(dialogue.turns))])
        for dialogue in corpus
    }
    best = json.loads((folder / "training.json").read_text())["best"]
    assert score(answers, corpus, "exact", ["jga"], resamples=0)["jga"].value == best["jga"]


def test_the_fingerprint_is_that_of_the_weights(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "best", tmp_path / "moved")
    spec = f"copy(path={tmp_path / 'moved'})"
    before = create(spec).fingerprint()
    assert create(spec).fingerprint() == before
    with (tmp_path / "moved" / "weights.safetensors").open("r+b") as stream:
        stream.seek(-1, 2)
        stream.write(b"\1")
    assert create(spec).fingerprint() != before


def test_a_vocabulary_that_does_not_fit_its_weights_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "best", tmp_path / "moved")
    notes = json.loads((tmp_path / "moved" / "model.json").read_text())
    notes["model"]["words"].append("surplus")
    (tmp_path / "moved" / "model.json").write_text(json.dumps(notes))
    with pytest.raises(DstressError, match=r"do not fit the network: word_embedding.weight is \d+ x 16 in the weights"):
        prepared(f"copy(path={tmp_path / 'moved'})")
    del notes["model"]["words"]
    (tmp_path / "moved" / "model.json").write_text(json.dumps(notes))
    with pytest.raises(DstressError, match="words"):
        prepared(f"copy(path={tmp_path / 'moved'})")


def test_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="no checkpoint of a tracker"):
        create(f"copy(path={tmp_path / 'nowhere'})").check(["original"])
