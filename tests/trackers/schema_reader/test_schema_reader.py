"""The schema's reader: what it reads, what it learns, services it never saw, and its checkpoints."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import json
import math
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.parts import need

need("torch", "models")

import torch

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Frame, Intent, Schema, Service, Slot, Turn
from dstress.errors import DstressError
from dstress.learning.recipe import Recipe, TrainingOptions
from dstress.pipeline.train import train
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.scoring.score import score
from dstress.storage.home import home
from dstress.trackers import Context, create
from dstress.trackers.schema_reader.model import SchemaReaderModel
from dstress.trackers.schema_reader.pages import CURRENT, Options
from tests.stressors.generators.training import training
from tests.trackers.fitting import BRIEF, RIGHT, RIGHT_UNSEEN, fit, has_fallen, mean_share_right

NAMES = ("Larkspur", "Gables", "Orchard", "Beacon", "Fenwick", "A&B", "Mill", "Cobden", "Ashby", "St. John's Inn")
AREAS = ("north", "south", "east", "dontcare")
SMALL: dict[str, Any] = {"checkpoint": "", "width": 32, "layers": 2, "heads": 2, "dropout": 0.0, "longest": 64}

RATE = 0.005


def service(name: str, area: str = "area", called: str = "name", price: str = "price") -> Service:
    """A service whose slots may have any names: their descriptions tell what they are."""
    slots = (
        Slot(called, "title"),
        Slot(area, "part of town", categorical=True, values=AREAS[:3]),
        Slot(price, "cost"),
    )
    intents = (Intent("find", "search"), Intent("book", "reservation"))
    return Service(name, "service", slots, intents)


def dialogues(schema: Schema, count: int) -> list[Dialogue]:
    """Somebody wants a place in some area, or does not mind where; names one, or takes the one that is offered."""
    made = []
    for number in range(count):
        service = schema.services[number % len(schema.services)]
        called, area, _ = (f"{service.name}-{slot.name}" for slot in service.slots)
        chosen, name = AREAS[number % len(AREAS)], NAMES[number % len(NAMES)]
        asked = "anywhere will do" if chosen == "dontcare" else f"something in the {chosen} please"
        offered, taken = (
            (f"How about {name}?", "yes, that one") if number % 3 else ("Which one?", f"I want {name} now.")
        )
        question = (service.slots[2].name,)
        turns = (
            Turn(asked, state={area: (chosen,)}, frames=(Frame(service.name, "find"),)),
            Turn(taken, offered, {area: (chosen,), called: (name,)}, (Frame(service.name, "book"),)),
            Turn(
                "how much is it", "Done.", {area: (chosen,), called: (name,)}, (Frame(service.name, "NONE", question),)
            ),
        )
        made.append(Dialogue(f"d{number}", turns, (service.name,)))
    return made


def strange(number: int) -> Service:
    """One whose names tell nothing."""
    words = Random(number).sample(("stone", "river", "cloud", "lamp", "leaf", "wheel", "glass", "rope"), 4)
    return service(f"{words[0]}_{number % 11}", *words[1:])


SCHEMA = Schema((service("hotel"), *map(strange, range(12))))


def hotels(count: int = 120) -> Corpus:
    return Corpus("hotels", "train", SCHEMA, lambda: iter(dialogues(SCHEMA, count)))


def create_model(seed: int = 1) -> SchemaReaderModel:
    torch.manual_seed(seed)
    return SchemaReaderModel.create(Options(**SMALL), hotels())


@cache
def learned() -> SchemaReaderModel:
    """A model that has seen little."""
    model = create_model()
    fit(model, hotels(), BRIEF, RATE)
    return model


def ask(model: SchemaReaderModel, *asked: Dialogue, schema: Schema = SCHEMA) -> list[Prediction]:
    """Its answers, with its own state as what was before."""
    answers: list[Prediction] = []
    states: dict[str, dict[str, str]] = {}
    for turn in range(max(len(dialogue.turns) for dialogue in asked)):
        contexts = [
            Context(dialogue, turn, schema, states.get(dialogue.id, {}))
            for dialogue in asked
            if turn < len(dialogue.turns)
        ]
        with torch.inference_mode():
            for answer in model.track(contexts):
                assert isinstance(answer, Prediction)
                answers.append(answer)
                states[answer.dialogue] = answer.state
    return sorted(answers, key=lambda answer: (answer.dialogue, answer.turn))


def gold(asked: list[Dialogue]) -> list[tuple[dict[str, str], str, tuple[str, ...]]]:
    turns = [(dialogue.id, number, turn) for dialogue in asked for number, turn in enumerate(dialogue.turns)]
    return [
        ({slot: forms[0] for slot, forms in turn.state.items()}, turn.frames[0].intent, turn.frames[0].requested)
        for _, _, turn in sorted(turns, key=lambda each: each[:2])
    ]


def told(answers: list[Prediction]) -> list[tuple[object, ...]]:
    return [(answer.state, answer.frames[0].intent, answer.frames[0].requested) for answer in answers]


def test_the_loss_falls() -> None:
    assert has_fallen(fit(create_model(), hotels(), BRIEF, RATE))


@pytest.mark.slow
def test_it_learns_values_intents_and_requests_also_of_services_that_it_never_saw() -> None:
    def answers(schema: Schema, seed: int) -> list[tuple[object, object]]:
        asked = dialogues(schema, 12)
        return list(zip(told(ask(trained(seed), *asked, schema=schema)), gold(asked), strict=True))

    assert mean_share_right(partial(answers, SCHEMA)) >= RIGHT
    assert mean_share_right(partial(answers, Schema((strange(77), strange(78))))) >= RIGHT_UNSEEN


@cache
def trained(seed: int) -> SchemaReaderModel:
    model = create_model(seed)
    fit(model, hotels(), 350, RATE)
    return model


def test_the_metrics_of_intents_and_requested_slots_see_what_it_says() -> None:
    asked = dialogues(SCHEMA, 12)
    answers, wanted = told(ask(learned(), *asked)), gold(asked)
    corpus = Corpus("hotels", "test", SCHEMA, lambda: iter(asked))
    card = score(ask(learned(), *asked), corpus, "dstc8", ["intent-accuracy"], resamples=0)
    right = [answer[1] == intent for answer, (_, intent, _) in zip(answers, wanted, strict=True)]
    assert card["intent-accuracy"].value == pytest.approx(sum(right) / len(right))


def test_every_text_is_made_into_tokens_once_and_many_together(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[list[str]] = []
    model = SchemaReaderModel.create(Options(**SMALL), hotels())
    tokenize = model.backbone.tokenizer
    model.backbone._passages.clear()
    monkeypatch.setattr(model.backbone, "tokenizer", lambda texts, **how: read.append(texts) or tokenize(texts, **how))
    examples = model.examples(hotels(), Random(1))
    texts = [text for together in read for text in together]
    assert len(texts) == len(set(texts))
    assert len(read[0]) > len(texts) / 2
    assert [example.length for example in examples] == [
        len(model.pages.lay_out(example.page).tokens) for example in examples
    ]


def test_answers_do_not_hang_on_what_else_is_asked() -> None:
    strange = [Dialogue("empty", (Turn(""),)), Dialogue("long", (Turn("word " * 900),))]
    asked = [*dialogues(SCHEMA, 5), *strange]
    together = {(answer.dialogue, answer.turn): answer for answer in ask(learned(), *asked)}
    alone = {(answer.dialogue, answer.turn): answer for dialogue in asked for answer in ask(learned(), dialogue)}
    assert together == alone


def test_the_loss_is_the_same_over_given_embeddings_and_pads_cost_nothing() -> None:
    model = SchemaReaderModel.create(Options(**SMALL | {"forget": 0.0}), hotels())
    examples = model.examples(hotels(6), Random(1))
    batch = model.collate(examples, Random(1))
    whole = float(model.loss(batch).total.detach())
    assert float(model.loss(batch, model.embed(batch)).total.detach()) == whole
    one, other = model.collate(examples[:1], Random(1)), model.collate([examples[0], examples[-1]], Random(1))
    rest = {name: part[1:] for name, part in other.items()}
    parts = [float(model.loss(each).total.detach()) for each in (one, rest, other)]
    assert math.isclose(parts[0] + parts[1], parts[2], rel_tol=1e-5)


def test_a_service_is_parted_into_pages_that_hold_each_slot_once() -> None:
    slots = tuple(Slot(f"slot{n}", "words " * 20, True, ("one", "two", "three")) for n in range(30))
    wide = Schema((Service("wide", "many slots", slots, (Intent("do", "it"),)),))
    model = learned()
    context = Context(Dialogue("d", (Turn("hello"),), ("wide",)), 0, wide, {})
    pages = list(model.pages.of(context))
    assert len(pages) > 1
    assert [slot for page in pages for slot in page.slots] == list(slots)
    sizes = [len(model.pages.lay_out(page).tokens) for page in pages]
    assert max(sizes) <= model.options.longest + model.options.page
    assert [
        frame.service for frame in ask(model, Dialogue("d", (Turn("hello"),), ("wide",)), schema=wide)[0].frames
    ] == ["wide"]


def test_a_value_of_another_service_is_read_and_can_be_copied() -> None:
    both = Schema((service("hotel"), service("cinema")))
    turns = (Turn("a hotel", state={"hotel-name": ("Fenwick",)}), Turn("the same for the cinema"))
    context = Context(Dialogue("d", turns, ("hotel", "cinema")), 1, both, {"hotel-name": "Fenwick"})
    hotel, cinema = learned().pages.of(context)
    assert (hotel.previous, cinema.previous) == ({"hotel-name": "Fenwick"}, {})
    assert cinema.pieces[0].passage.text == "name: Fenwick"
    said = Turn("the same for the cinema", state={"cinema-name": ("Fenwick",)})
    corpus = Corpus("both", "train", both, lambda: iter([Dialogue("d", (turns[0], said), ("hotel", "cinema"))]))
    *_, example = learned().examples(corpus, Random(1))
    span = example.targets["cinema-name"].span
    assert span is not None
    assert (span[0], example.targets["cinema-name"].is_new) == (0, True)


def test_some_values_are_forgotten_in_training_alone() -> None:
    model = SchemaReaderModel.create(Options(**SMALL | {"forget": 0.9}), hotels())
    examples = [example for example in model.examples(hotels(12), Random(1)) if example.page.previous]
    now, kept = (
        model.collate(examples, Random(1)),
        SchemaReaderModel.create(Options(**SMALL | {"forget": 0.0}), hotels()),
    )
    whole = kept.collate(examples, Random(1))
    assert (now["kinds"] == CURRENT).sum() < (whole["kinds"] == CURRENT).sum()
    assert (now["statuses"] == 1).sum() > (whole["statuses"] == 1).sum()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of a few reminder dialogues."""
    out = tmp_path_factory.mktemp("schema_reader") / "trained"
    options = TrainingOptions(epochs=1, batch=16, rate=0.002)
    few, fewer = training("reminder", None, 12), training("reminder", None, 4)
    train(Recipe("schema_reader", few, fewer, model=SMALL | {"width": 16}, training=options), out)
    return out


def test_a_checkpoint_tracks_as_it_did_in_training_and_takes_any_corpus(folder: Path) -> None:
    corpus = load(training("reminder", None, 4))
    tracker = create(f"schema_reader(path={folder}, device=cpu)")
    tracker.prepare(Resources(corpus.schema, corpus, load, home()))
    answers: dict[str, list[dict[str, str]]] = {}
    for dialogue in corpus:
        state: dict[str, str] = {}
        answers[dialogue.id] = []
        for turn in range(len(dialogue.turns)):
            [answer] = tracker.track([Context(dialogue, turn, corpus.schema, state)])
            assert isinstance(answer, Prediction)
            answers[dialogue.id].append(state := answer.state)
    best = json.loads((folder / "training.json").read_text())["best"]
    assert score(answers, corpus, "exact", ["jga"], resamples=0)["jga"].value == best["jga"]
    tracker.prepare(Resources(SCHEMA, hotels(1), load, home()))
    assert len(tracker.track([Context(dialogues(SCHEMA, 1)[0], 0, SCHEMA, {})])) == 1


def test_an_encoder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="cannot be read"):
        SchemaReaderModel.create(Options(checkpoint=str(tmp_path / "nowhere")), hotels(1))
