"""TripPy's family: where it finds values, what it learns, and what it copies."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import math
from functools import cache, partial
from random import Random
from typing import Any

import pytest

from tests.parts import need

need("torch", "models")

import torch

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, State, Turn
from dstress.errors import DstressError
from dstress.trackers import Context
from dstress.trackers.span.model import Options, SpanModel
from dstress.trackers.span.network import GATES
from tests.trackers.fitting import BRIEF, RIGHT, RIGHT_UNSEEN, fit, has_fallen, mean_share_right

SCHEMA = Schema(
    (
        Service("hotel", slots=(Slot("name"), Slot("area"), Slot("parking"), Slot("day"))),
        Service("taxi", slots=(Slot("destination"),)),
    )
)
NAMES = ("Larkspur", "Gables", "Orchard", "Beacon", "Fenwick", "A&B", "Mill", "Cobden", "Ashby", "St. John's Inn")
AREAS = ("north", "south", "east", "dontcare")
SMALL: dict[str, Any] = {"checkpoint": "", "width": 32, "layers": 1, "heads": 2, "dropout": 0.0, "longest": 64}
NEW = ("ZzyZX", "Quayside", "Old Forge", "Pemberley", "B12", "Tor View")
RATE = 0.01


def dialogue(number: int, names: tuple[str, ...] = NAMES) -> Dialogue:
    """Somebody wants a hotel: names one or takes the one that is offered, says yes or no to parking, takes a taxi."""
    area, name = AREAS[number % len(AREAS)], names[number % len(names)]
    asked = "anywhere will do" if area == "dontcare" else f"something in the {area} please"
    offer, answer = (f"How about {name}?", "yes, book it") if number % 3 else ("Which one?", f"I want {name}, thanks.")
    flag, parking = ("yes", "with parking") if number % 8 < 4 else ("no", "no parking")
    state: State = {"hotel-area": (area,)}
    named: State = {**state, "hotel-name": (name,)}
    parked: State = {**named, "hotel-parking": (flag,)}
    turns = (
        Turn(asked, state=state),
        Turn(answer, offer, named),
        Turn(parking, "Done.", parked),
        Turn("and a taxi to that place", "Fine.", {**parked, "taxi-destination": (name,)}),
    )
    return Dialogue(f"d{number}", turns, ("hotel", "taxi"))


def hotels(count: int = 60) -> Corpus:
    return Corpus("hotels", "train", SCHEMA, lambda: map(dialogue, range(count)))


def create(seed: int = 1) -> SpanModel:
    torch.manual_seed(seed)
    return SpanModel.create(Options(**SMALL, exchanges=3), hotels())


@cache
def learned() -> SpanModel:
    """A model that knows its slots and has seen little."""
    model = create()
    fit(model, hotels(), BRIEF, RATE)
    return model


def ask(model: SpanModel, *asked: Dialogue, schema: Schema = SCHEMA) -> dict[str, list[dict[str, str]]]:
    """Its states of each dialogue, turn after turn for all at once."""
    states: dict[str, list[dict[str, str]]] = {dialogue.id: [] for dialogue in asked}
    for turn in range(max(len(dialogue.turns) for dialogue in asked)):
        going = [dialogue for dialogue in asked if turn < len(dialogue.turns)]
        contexts = [Context(each, turn, schema, [{}, *states[each.id]][-1]) for each in going]
        with torch.inference_mode():
            for each, answer in zip(going, model.track(contexts), strict=True):
                assert isinstance(answer, dict)
                states[each.id].append(answer)
    return states


def gold(asked: Dialogue) -> list[dict[str, str]]:
    return [{slot: forms[0] for slot, forms in turn.state.items()} for turn in asked.turns]


def test_the_loss_falls() -> None:
    assert has_fallen(fit(create(), hotels(), BRIEF, RATE))


@pytest.mark.slow
def test_it_learns_every_gate_and_copies_names_that_training_lacks() -> None:
    unseen = [dialogue(number, NEW) for number in range(len(NEW))]

    def answers(asked: list[Dialogue], seed: int) -> list[tuple[object, object]]:
        states = ask(trained(seed), *asked)
        return [pair for each in asked for pair in zip(states[each.id], gold(each), strict=True)]

    assert mean_share_right(partial(answers, list(hotels(12)))) >= RIGHT
    assert mean_share_right(partial(answers, unseen)) >= RIGHT_UNSEEN


@cache
def trained(seed: int) -> SpanModel:
    model = create(seed)
    fit(model, hotels(), 160, RATE)
    return model


def test_where_values_come_from() -> None:
    before: State = {"hotel-area": ("north",)}
    said = Turn("for Monday, at half past five", state={**before, "hotel-day": ("monday",), "hotel-name": ("17:30",)})
    told = Turn("yes", "The Mill?", {**before, "hotel-name": ("Mill",), "hotel-parking": ("yes",)})
    referred = Turn("take me there", "Fine.", {**before, "taxi-destination": ("north",)})
    older = Turn("that first one", "Fine.", {**before, "hotel-day": ("monday",)})
    unsaid = Turn("hello", state={**before, "hotel-name": ("Cobden",)})
    first = Turn("the north on Monday", state=before)

    def sources(turn: Turn) -> dict[str, Any]:
        context = Context(Dialogue("d", (first, turn)), 1, SCHEMA, {"hotel-area": "north"})
        example = learned()._example("d", context)
        found: dict[str, Any] = {}
        for number, source in example.changes.items():
            slot = learned().knowledge.slots[number]
            if source is None or source.gate in (GATES.index("true"), GATES.index("refer")):
                found[slot] = source and (GATES[source.gate], *(learned().knowledge.slots[n] for n in source.slots))
            else:
                found[slot] = GATES[source.gate], example.reading.words(source.first, source.last)
        return found

    assert sources(said) == {"hotel-day": ("span", "Monday"), "hotel-name": ("span", "half past five")}
    assert sources(told) == {"hotel-name": ("inform", "Mill"), "hotel-parking": ("true",)}
    assert sources(referred) == {"taxi-destination": ("refer", "hotel-area")}
    assert sources(older) == {"hotel-day": ("span", "Monday")}
    assert sources(unsaid) == {"hotel-name": None}


def test_a_value_is_written_as_the_training_data_do() -> None:
    turn = Turn("at half past five", state={"hotel-name": ("17:30",)})
    corpus = Corpus("times", "train", SCHEMA, lambda: iter([Dialogue("d", (turn,))]))
    assert SpanModel.create(Options(**SMALL), corpus).knowledge.spellings["half past five"] == "17:30"


def test_answers_do_not_hang_on_what_else_is_asked() -> None:
    asked = [*hotels(5), Dialogue("empty", (Turn(""),)), Dialogue("long", (Turn("word " * 900),))]
    together = ask(learned(), *asked)
    assert together == {name: states for each in asked for name, states in ask(learned(), each).items()}


def test_what_was_known_stays_and_only_slots_of_the_schema_are_answered() -> None:
    smaller = Schema((Service("hotel", slots=(Slot("area"), Slot("stars"))),))
    asked = Dialogue("d", (Turn("something in the north please"),))
    context = Context(asked, 0, smaller, {"hotel-stars": "4", "taxi-destination": "Mill"})
    with torch.inference_mode():
        [state] = learned().track([context])
    assert isinstance(state, dict)
    assert state["hotel-stars"] == "4" and set(state) <= {"hotel-stars", "hotel-area"}


def test_the_loss_is_the_same_over_given_embeddings_and_pads_cost_nothing() -> None:
    model = SpanModel.create(Options(**SMALL | {"forget": 0.0, "value_dropout": 0.0}), hotels())
    examples = model.examples(hotels(6), Random(1))
    batch = model.collate(examples, Random(1))
    whole = float(model.loss(batch).total.detach())
    assert float(model.loss(batch, model.embed(batch)).total.detach()) == whole
    alone = sum(float(model.loss(model.collate([each], Random(1))).total.detach()) for each in examples)
    assert math.isclose(alone, whole, rel_tol=1e-5)


def test_values_are_hidden_in_training_alone() -> None:
    model = SpanModel.create(Options(**SMALL | {"forget": 0.9, "value_dropout": 0.9}), hotels())
    examples = model.examples(hotels(12), Random(1))
    hidden = model.collate(examples, Random(1))
    plain = model._collate([each.reading for each in examples], [each.before for each in examples])
    assert (hidden["tokens"] == model.backbone.unknown).sum() > 10 > (plain["tokens"] == model.backbone.unknown).sum()
    assert hidden["has_value"].sum() < plain["has_value"].sum()
    words = [examples[row].reading.words(first, last) for row, _, first, last in hidden["spans"].tolist()]
    assert set(words) <= {*NAMES, *AREAS}


def test_slots_that_a_model_lacks_cannot_be_learnt() -> None:
    wider = Schema((*SCHEMA.services, Service("train", slots=(Slot("day"),))))
    with pytest.raises(DstressError, match="no slot 'train-day'"):
        learned().examples(Corpus("wider", "train", wider, lambda: iter(hotels())), Random(1))


def test_data_without_values_are_refused() -> None:
    silent = Corpus("silent", "train", SCHEMA, lambda: iter([Dialogue("d", (Turn("hello"),))]))
    with pytest.raises(DstressError, match="no values to learn"):
        SpanModel.create(Options(**SMALL), silent)
