"""What generative trackers read and write, as text."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import SpecError
from dstress.learning.recipe import read_settings
from dstress.trackers.base import Context
from dstress.trackers.generative.forms import FormOptions, create_form
from dstress.trackers.learned import LabelledTurn

SCHEMA = Schema((Service("hotel", slots=(Slot("area", "where it is"), Slot("book day"))), Service("taxi")))
DIALOGUE = Dialogue("d", (Turn("a hotel"), Turn("north", "Where?"), Turn("for friday", "When?")), ("hotel",))
BEFORE = {"hotel-area": "north"}
STATE = {"hotel-area": "north", "hotel-book day": "friday"}


def teach(state: dict[str, str] = STATE, **options: Any) -> list[tuple[str, str]]:
    turn = LabelledTurn(Context(DIALOGUE, 2, SCHEMA, BEFORE), state, "Booked.")
    lessons = create_form(FormOptions(forget=0, **options)).teach(turn, Random(1))
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
    (lesson,) = form.teach(LabelledTurn(context, state), Random(1))
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
        for lesson in form.teach(turn, Random(seed))
    }
    assert taught == {
        ("before: hotel area = north ; hotel book day = friday ; end", " end"),
        ("before: hotel book day = friday ; end", " end"),
        ("before: hotel area = north ; end", " hotel book day = friday ; end"),
        ("before: end", " hotel book day = friday ; end"),
    }


def test_three_objectives() -> None:
    state, response, contrast = teach(objectives=("state", "response", "contrast"))
    assert response == (state[0] + state[1] + "\nsystem:", " Booked.")
    shown = {teach(objectives=("contrast",))[0]} | {
        (lesson.prompt, lesson.answer)
        for seed in range(40)
        for lesson in create_form(FormOptions(objectives=("contrast",), forget=0)).teach(
            LabelledTurn(Context(DIALOGUE, 2, SCHEMA, BEFORE), STATE, "Booked."), Random(seed)
        )
    }
    assert contrast in shown
    assert {answer for _, answer in shown} == {" yes", " no"}
    assert all((state[1] in prompt) == (answer == " yes") for prompt, answer in shown)


def test_slot_by_slot() -> None:
    form, context = create_form(FormOptions(form="slots", exchanges=1)), Context(DIALOGUE, 2, SCHEMA)
    assert form.ask(context) == [
        "system: When?\nuser: for friday\nhotel area (where it is):",
        "system: When?\nuser: for friday\nhotel book day:",
    ]
    assert form.read(context, [" none", " friday"]) == {"hotel-book day": "friday"}
    lessons = form.teach(LabelledTurn(context, {"hotel-book day": "friday"}), Random(1))
    assert [lesson.answer for lesson in lessons] == [" none", " friday"]


@pytest.mark.parametrize(
    "options",
    [{"writes": "change"}, {"form": "slots", "previous": True}, {"exchanges": -1}, {"forget": 2.0}],
)
def test_what_cannot_work_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=r"needs|reads|\.exchanges|\.forget"):
        read_settings(options, FormOptions, "recipe.toml")
