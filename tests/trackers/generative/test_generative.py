"""Language models and encoder-decoders that write states: they learn, are kept, and come from checkpoints."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.parts import need

need("torch", "models")

import torch

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.corpora.database import Database
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError
from dstress.learning.recipe import AugmentOptions, Recipe, TrainingOptions
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.train import train
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.storage.home import home
from dstress.trackers import Context, create
from dstress.trackers.generative.model import GenerativeModel, Options
from dstress.trackers.generative.networks import CausalModel, Seq2SeqModel
from tests.stressors.generators.training import training
from tests.trackers.fitting import BRIEF, RIGHT, fit, has_fallen, mean_share_right

SCHEMA = Schema((Service("hotel", slots=(Slot("name"), Slot("area"))),))
FAMILIES: dict[str, type[GenerativeModel]] = {"causal": CausalModel, "seq2seq": Seq2SeqModel}
FORMS: dict[str, dict[str, Any]] = {
    "state": {},
    "change": {"previous": True, "writes": "change", "exchanges": 1},
    "soloist": {"objectives": ("state", "response", "contrast")},
    "slots": {"form": "slots"},
}
RATE = 0.005
TINY = {"width": 48, "layers": 2, "heads": 2, "vocabulary": 320, "longest_answer": 40}


def hotels(count: int = 24) -> Corpus:
    """Somebody wants a hotel in some area, then names one."""
    dialogues = []
    for number in range(count):
        area, name = ("north", "south", "east")[number % 3], ("Gables", "Beacon", "Ivy", "Mill")[number % 4]
        turns = (
            Turn(f"something in the {area}", state={"hotel-area": (area,)}),
            Turn(f"I want {name}", "Which one?", {"hotel-area": (area,), "hotel-name": (name,)}),
        )
        dialogues.append(Dialogue(f"d{number}", turns, ("hotel",)))
    return Corpus("hotels", "train", SCHEMA, lambda: iter(dialogues))


def create_model(family: str, form: str, seed: int = 1) -> GenerativeModel:
    torch.manual_seed(seed)
    return FAMILIES[family].create(Options(**TINY, **FORMS[form]), hotels())


@cache
def learned(family: str, form: str) -> GenerativeModel:
    """A model that has seen little."""
    model = create_model(family, form)
    fit(model, hotels(12), BRIEF, RATE)
    return model


def gold(asked: list[Context]) -> list[dict[str, str]]:
    """The right answers."""
    return [{slot: forms[0] for slot, forms in context.gold.state.items()} for context in asked]


def contexts(corpus: Corpus) -> list[Context]:
    """Every turn, with the gold state before it."""
    found = []
    for dialogue in corpus:
        before: dict[str, str] = {}
        for number, turn in enumerate(dialogue.turns):
            found.append(Context(dialogue, number, SCHEMA, before))
            before = {slot: forms[0] for slot, forms in turn.state.items()}
    return found


@pytest.mark.parametrize(
    ("family", "form"), [*(("causal", form) for form in FORMS), ("seq2seq", "slots"), ("seq2seq", "soloist")]
)
def test_the_loss_falls(family: str, form: str) -> None:
    assert has_fallen(fit(create_model(family, form), hotels(12), BRIEF, RATE))


@pytest.mark.slow
@pytest.mark.parametrize(("family", "form"), [("causal", "state"), ("causal", "change"), ("seq2seq", "slots")])
def test_it_learns_to_write_states(family: str, form: str) -> None:
    def answers(seed: int) -> list[tuple[object, object]]:
        model, asked = create_model(family, form, seed), contexts(hotels(12))
        fit(model, hotels(12), 300, RATE)
        with torch.inference_mode():
            return list(zip(model.track(asked), gold(asked), strict=True))

    assert mean_share_right(answers) >= RIGHT


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_do_not_hang_on_what_else_is_asked(family: str) -> None:
    model, asked = learned(family, "slots"), contexts(hotels(4))
    asked.append(Context(Dialogue("long", (Turn("word " * 900),)), 0, SCHEMA, {}))
    with torch.inference_mode():
        assert model.track(asked) == [answer for context in asked for answer in model.track([context])]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_loss_is_the_same_over_given_embeddings_and_pads_cost_nothing(family: str) -> None:
    model = learned(family, "slots")
    examples = model.examples(hotels(6), Random(1))
    batch = model.collate(examples, Random(1))
    with torch.inference_mode():
        whole, over = model.loss(batch), model.loss(batch, model.embed(batch))
        alone = [model.loss(model.collate([each], Random(1))) for each in examples]
    assert float(over.total) == float(whole.total)
    assert sum(float(each.total) for each in alone) == pytest.approx(float(whole.total), rel=1e-4)
    assert sum(each.units for each in alone) == whole.units


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of a few reminder dialogues."""
    out = tmp_path_factory.mktemp("written") / request.param
    few, fewer = training("reminder", None, 6), training("reminder", None, 2)
    options = TrainingOptions(epochs=1, batch=16, rate=0.01)
    train(Recipe(request.param, few, fewer, model=TINY | FORMS["change"] | {"longest": 80}, training=options), out)
    return out


def test_a_checkpoint_tracks_with_nothing_but_its_folder(folder: Path) -> None:
    tracker = create(f"{folder.name}(path={folder}, device=cpu)")
    tracker.prepare(Resources(SCHEMA, hotels(), lambda name: hotels(), home()))
    assert len(tracker.track(contexts(hotels(2)))) == 4


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_trained_system_answers_and_is_scored_under_raddle(family: str, tmp_path: Path) -> None:
    """States, responses, intents and foreign turns from one checkpoint, with every column of table 2."""
    augment = AugmentOptions("out_of_domain(rate=0.5, part=train)", keep_out="none")
    learns = {"objectives": ["state", "response", "intent", "ood", "contrast"], "exchanges": 1, "longest": 120}
    options = TrainingOptions(epochs=1, batch=32, rate=0.005, evaluate_on=1)
    few = training("reminder", None, 6)
    recipe = Recipe(family, few, few, model=TINY | learns, training=options, augment=augment)
    train(recipe, tmp_path / "trained")
    corpus = load("reminder:test").take(2)
    run = evaluate(
        "raddle", f"{family}(path={tmp_path / 'trained'}, device=cpu)", corpus, tmp_path / "run", resamples=10
    )
    assert not [cell.column for cell in run.scores.table if cell.task and cell.score is None]
    answers = list(run.variant("original").journal())
    assert answers and not any(None in (answer.response, answer.intent, answer.ood) for answer in answers)


def test_responses_are_kept_with_the_checkpoint_and_hang_on_the_database(tmp_path: Path) -> None:
    torch.manual_seed(1)
    options = Options(**TINY, objectives=("state", "response", "intent"))
    model = CausalModel.create(options, hotels())
    fit(model, hotels(12), BRIEF, RATE)
    again = CausalModel.restore(model.save(tmp_path), tmp_path)
    again.module.load_state_dict(model.module.state_dict())
    again.ready()
    asked = contexts(hotels(3))
    with torch.inference_mode():
        answers = model.track(asked)
        assert answers == again.track(asked)
        assert all(isinstance(answer, Prediction) and answer.response is not None for answer in answers)
        stocked = hotels()
        stocked.open_database = lambda: Database({"hotel": [{"name": "Ivy", "area": "north"}]})
        read: list[str] = []
        encode, again.encode = again.encode, lambda texts: (read.extend(texts), encode(texts))[1]  # type: ignore[method-assign]
        again.connect(stocked)
        again.track(asked)
    assert sum("\ndatabase:" in text for text in read) == len(asked), "what the database has is read with each response"


def test_a_checkpoint_that_reads_no_state_need_not_wait_for_its_own(folder: Path, tmp_path: Path) -> None:
    assert create(f"{folder.name}(path={folder})").sequential, "it reads the previous state"
    few = training("reminder", None, 2)
    options = TrainingOptions(epochs=1, batch=32)
    train(
        Recipe(folder.name, few, few, model=TINY | {"longest": 40, "longest_answer": 4}, training=options),
        tmp_path / "t",
    )
    assert not create(f"{folder.name}(path={tmp_path / 't'})").sequential


def test_a_checkpoint_in_the_layout_of_transformers(tmp_path: Path) -> None:
    model = learned("causal", "state")
    model.module.save_pretrained(tmp_path)
    model.backbone.tokenizer.save_pretrained(tmp_path)
    again = CausalModel.create(Options(checkpoint=str(tmp_path)), hotels())
    again.ready()
    asked = contexts(hotels(3))
    with torch.inference_mode():
        assert again.track(asked) == model.track(asked)


def test_a_checkpoint_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"nothing")
    for name in (tmp_path / "nowhere", tmp_path / "m.gguf"):
        with pytest.raises(DstressError, match="cannot be read"):
            CausalModel.create(Options(checkpoint=str(name)), hotels())
