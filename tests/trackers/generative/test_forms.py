"""What generative trackers read and write, as text."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from dstress.corpora.base import Corpus
from dstress.corpora.database import Database
from dstress.dialogue import Dialogue, Frame, Schema, Service, Slot, Turn
from dstress.errors import SpecError
from dstress.learning.recipe import read_settings
from dstress.predictions.base import Prediction
from dstress.trackers.base import Context
from dstress.trackers.generative.forms import FormOptions, create_form
from dstress.trackers.learned import LabelledTurn, label_turns

SCHEMA = Schema((Service("hotel", slots=(Slot("area", "where it is"), Slot("book day"))), Service("taxi")))
DIALOGUE = Dialogue("d", (Turn("a hotel"), Turn("north", "Where?"), Turn("for friday", "When?")), ("hotel",))
BEFORE = {"hotel-area": "north"}
STATE = {"hotel-area": "north", "hotel-book day": "friday"}


def teach(state: dict[str, str] = STATE, **options: Any) -> list[tuple[str, str]]:
    turn = LabelledTurn(Context(DIALOGUE, 2, SCHEMA, BEFORE), state, "Booked.")
    lessons = create_form(FormOptions(forget=0, **options)).teach_all([turn], Random(1))
    return [(lesson.prompt, lesson.answer) for lesson in lessons]


def test_the_whole_state_of_the_whole_dialogue() -> None:
    assert teach() == [
        (
            "user: a hotel\nsystem: Where?\nuser: north\nsystem: When?\nuser: for friday\nstate:",
            " hotel area = north ; hotel book day = friday ; end",
        )
    ]


def test_what_changed_in_the_state_before() -> None:
    change = {"previous": True, "writes": "change", "exchanges": 1}
    prompt = "before: hotel area = north ; end\nsystem: When?\nuser: for friday\nstate:"
    assert teach(**change) == [(prompt, " hotel book day = friday ; end")]
    assert teach({}, **change) == [(prompt, " hotel area = none ; end")]
    assert teach(BEFORE, **change) == [(prompt, " end")]


@pytest.mark.parametrize("writes", ["state", "change"])
@pytest.mark.parametrize("state", [STATE, BEFORE, {}, {"hotel-area": "south"}])
def test_a_state_is_read_as_it_was_written(writes: str, state: dict[str, str]) -> None:
    form = create_form(FormOptions(previous=True, writes=writes, forget=0))  # type: ignore[arg-type]
    context = Context(DIALOGUE, 2, SCHEMA, BEFORE)
    (lesson,) = form.teach_all([LabelledTurn(context, state)], Random(1))
    assert form.ask(context) == [lesson.prompt]
    assert form.read(context, [lesson.answer]) == state


def test_what_no_schema_knows_and_what_breaks_off_is_left_out() -> None:
    form, context = create_form(FormOptions()), Context(DIALOGUE, 2, SCHEMA)
    assert form.read(context, [" hotel area = north ; hotel pool = yes ; hotel book"]) == {"hotel-area": "north"}
    assert form.read(context, [""]) == {}


def test_what_is_forgotten_comes_back_only_where_it_is_said() -> None:
    form = create_form(FormOptions(previous=True, writes="change", exchanges=1, forget=1))
    turn = LabelledTurn(Context(DIALOGUE, 2, SCHEMA, {"hotel-area": "north", "hotel-book day": "friday"}), STATE)
    taught = {
        (lesson.prompt.partition("\n")[0], lesson.answer)
        for seed in range(60)
        for lesson in form.teach_all([turn], Random(seed))
    }
    assert taught == {
        ("before: hotel area = north ; hotel book day = friday ; end", " end"),
        ("before: hotel book day = friday ; end", " end"),
        ("before: hotel area = north ; end", " hotel book day = friday ; end"),
        ("before: end", " hotel book day = friday ; end"),
    }


def test_what_belongs_together_and_what_does_not() -> None:
    context = Context(DIALOGUE, 2, SCHEMA)
    turn, other = LabelledTurn(context, STATE, "Booked."), LabelledTurn(context, {"hotel-area": "east"}, "Goodbye.")
    form = create_form(FormOptions(objectives=("state", "response", "contrast")))
    lessons = [tuple(form.teach(turn, Random(seed), other)) for seed in range(40)]
    state, response, _ = lessons[0]
    assert (response.prompt, response.answer) == (state.prompt + state.answer + "\nsystem:", " Booked.")
    shown = {(lesson.prompt.removeprefix(state.prompt), lesson.answer) for _, _, lesson in lessons}
    right, wrong = " hotel area = north ; hotel book day = friday ; end", " hotel area = east ; end"
    assert shown == {
        (f"{right}\nsystem: Booked.\nright:", " yes"),
        (f"{wrong}\nsystem: Booked.\nright:", " no"),
        (f"{right}\nsystem: Goodbye.\nright:", " no"),
        (f"{wrong}\nsystem: Goodbye.\nright:", " no"),
    }
    alone = [lesson for seed in range(40) for lesson in form.teach(turn, Random(seed), turn)]
    assert all((right in lesson.prompt) == (lesson.answer == " yes") for lesson in alone if "right:" in lesson.prompt)


def test_the_response_follows_on_what_the_database_has() -> None:
    inns = [{"name": f"inn {number}", "area": "north" if number else "south"} for number in range(8)]
    corpus = Corpus("inns", "test", SCHEMA, lambda: iter(()))
    corpus.open_database = lambda: Database({"hotel": inns})
    form, context = (
        create_form(FormOptions(objectives=("state", "response"), exchanges=1)),
        Context(DIALOGUE, 2, SCHEMA),
    )
    assert "database:" not in form.ask_response(context, STATE)
    form.connect(corpus)
    words = "system: When?\nuser: for friday\nstate: hotel area = "
    assert form.ask_response(context, {"hotel-area": "south", "hotel-book day": "friday"}) == (
        f"{words}south ; hotel book day = friday ; end\ndatabase: hotel 1 ; end\nsystem:"
    )
    assert form.ask_response(context, BEFORE) == f"{words}north ; end\ndatabase: hotel many ; end\nsystem:"
    assert "database: end" in form.ask_response(context, {"taxi-departure": "north", "hotel-book day": "friday"})


def test_intents_and_foreign_turns() -> None:
    turns = (
        Turn("a hotel", frames=(Frame("hotel", "find_hotel"),)),
        Turn("tell me a joke", "Where?", ood=True),
    )
    dialogue = Dialogue("d", turns, ("hotel",), closing="I cannot.")
    form = create_form(FormOptions(objectives=("state", "response", "intent", "ood"), exchanges=1))
    first, second = label_turns(dialogue, SCHEMA)
    lessons = {lesson.prompt: lesson.answer for lesson in form.teach_all([first, second], Random(1))}
    foreign = "system: Where?\nuser: tell me a joke"
    assert lessons == {
        "user: a hotel\nstate:": " end",
        "user: a hotel\nintent:": " find_hotel",
        "user: a hotel\nout of domain:": " no",
        "user: a hotel\nstate: end\nsystem:": " Where?",
        f"{foreign}\nstate:": " end",
        f"{foreign}\nintent:": " none",
        f"{foreign}\nout of domain:": " yes",
    }, "a foreign turn has no answer: what the system said next was said to another one"
    asked = form.ask(second.context)
    assert asked == [f"{foreign}\nstate:", f"{foreign}\nintent:", f"{foreign}\nout of domain:"]
    assert form.read(second.context, [lessons[prompt] for prompt in asked]) == Prediction(
        "d", 1, {}, intent="", ood=True
    )
    answer = form.read(first.context, [" hotel area = north ; end", " find_hotel", " no"])
    assert answer == Prediction("d", 0, {"hotel-area": "north"}, intent="find_hotel", ood=False)


def test_slot_by_slot() -> None:
    form, context = create_form(FormOptions(form="slots", exchanges=1)), Context(DIALOGUE, 2, SCHEMA)
    assert form.ask(context) == [
        "system: When?\nuser: for friday\nhotel area (where it is):",
        "system: When?\nuser: for friday\nhotel book day:",
    ]
    assert form.read(context, [" none", " friday"]) == {"hotel-book day": "friday"}
    lessons = form.teach_all([LabelledTurn(context, {"hotel-book day": "friday"})], Random(1))
    assert [lesson.answer for lesson in lessons] == [" none", " friday"]


@pytest.mark.parametrize(
    "options",
    [
        {"writes": "change"},
        {"objectives": ("response",)},
        {"form": "slots", "previous": True},
        {"exchanges": -1},
        {"forget": 2.0},
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=r"needs|reads|lack|\.exchanges|\.forget"):
        read_settings(options, FormOptions, "recipe.toml")
