from __future__ import annotations

import pytest

from dstress.dialogue import Dialogue, Schema, Service, Slot, State, Turn
from dstress.errors import UnknownNameError
from dstress.pipeline.stress import stress
from dstress.stressors import create
from dstress.text.times import time_of
from tests.stressors.samples import in_memory

SCHEMA = Schema((Service("taxi", slots=(Slot("leaveat"), Slot("arriveby"), Slot("year"))),))


def reformat(user: str, label: str, spec: str = "time_format", slot: str = "leaveat", seed: int = 1) -> Turn:
    """A turn that says a time, stressed, in a corpus that labels times on the clock."""
    turn = Turn(user, state={f"taxi-{slot}": (label,)})
    clock = Dialogue("c", (Turn("at 9:00", state={"taxi-leaveat": ("09:00",), "taxi-arriveby": ("10:00",)}),))
    return next(iter(stress(in_memory([Dialogue("d", (turn,)), clock], SCHEMA), spec, seed=seed))).turns[0]


@pytest.mark.parametrize(
    ("said", "label", "kind", "shown"),
    [
        ("17:15", "17:15", "am_pm", {"5:15 pm", "5:15pm", "5.15 pm"}),
        ("17:00", "17:00", "am_pm", {"5 pm", "5pm"}),
        ("00:10", "00:10", "am_pm", {"12:10 am", "12:10am", "12.10 am"}),
        ("17:15", "17:15", "spoken", {"five fifteen in the afternoon", "quarter past five in the afternoon"}),
        ("11:45", "11:45", "spoken", {"eleven forty-five in the morning", "quarter to twelve in the morning"}),
        ("20:07", "20:07", "spoken", {"eight oh seven in the evening"}),
        ("12:00", "12:00", "spoken", {"noon"}),
        ("9:30 pm", "21:30", "spoken", {"nine thirty at night", "half past nine at night"}),
        ("half past two in the afternoon", "14:30", "clock", {"14:30"}),
        # Whether morning or evening is left open, and stays so.
        ("5:15", "17:15", "spoken", {"five fifteen", "quarter past five"}),
    ],
)
def test_the_same_minute_in_another_form(said: str, label: str, kind: str, shown: set[str]) -> None:
    turns = [
        reformat(f"a taxi at {said} please", label, f"time_format(kinds=[{kind}])", seed=seed) for seed in range(20)
    ]
    assert {turn.user.removeprefix("a taxi at ").removesuffix(" please") for turn in turns} == shown
    assert {turn.state["taxi-leaveat"] for turn in turns} == {(label,)}
    assert {turn.stress.tags for turn in turns if turn.stress} == {(kind,)}


@pytest.mark.parametrize(
    ("user", "label", "slot"),
    [
        ("songs from 2015", "2015", "year"),  # no time at all
        ("on monday morning at 9:15", "09:15", "leaveat"),  # the part of the day is said already
        ("at 09:15 , in the morning", "09:15", "leaveat"),
        ("at 17:15ish", "17:15", "leaveat"),
        ("at 5:15", "17:20", "leaveat"),  # the words say something else than the label
    ],
)
def test_what_is_no_plain_time_stays(user: str, label: str, slot: str) -> None:
    assert reformat(user, label, slot=slot).user == user


@pytest.mark.parametrize("seed", range(6))
def test_before_a_noun_no_words(seed: int) -> None:
    assert reformat("an 18:00 train", "18:00", seed=seed).user in {"a 6 pm train", "a 6pm train"}


def test_a_sentence_begins_with_a_capital() -> None:
    turn = reformat("Hi. 17:00 please.", "17:00", "time_format(kinds=[spoken])")
    assert turn.user in {"Hi. Five in the afternoon please.", "Hi. Five o'clock in the afternoon please."}


def accepted(*label: str) -> tuple[str, ...]:
    """The label of a time in a corpus that labels so; the last is how it was said."""
    state: State = {"taxi-leaveat": label}
    corpus = in_memory([Dialogue("d", (Turn(f"at {label[-1]}", state=state),))], SCHEMA)
    turn = next(iter(stress(corpus, "time_format(kinds=[spoken])"))).turns[0]
    assert time_of(turn.user.removeprefix("at ")) == time_of(label[0])
    return tuple("NEW" if form == turn.user.removeprefix("at ") else form for form in turn.state["taxi-leaveat"])


def test_labels_as_spoken_accept_what_is_said_now() -> None:
    assert accepted("17:15") == ("17:15",)
    assert accepted("5:15 pm") == ("NEW", "5:15 pm")
    assert accepted("17:15", "5:15 pm") == ("17:15", "5:15 pm", "NEW")


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(UnknownNameError, match="roman"):
        create("time_format(kinds=[roman])")
