from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import reminder
from dstress.corpora.base import Corpus
from dstress.dialogue import Coreference, Dialogue, Schema, Service, Slot, State, Turn
from dstress.errors import CorpusError, DstressError, SpecError
from dstress.resources import Resources
from dstress.stressors import create
from dstress.stressors.values.dictionary import shipped
from dstress.text.manners import days_between
from dstress.text.mentions import find_value
from dstress.text.times import date_of, time_of
from tests.paths import DOCS
from tests.stressors.samples import in_memory, sample, undo

PAGE = DOCS / "stressors" / "values.md"
EXAMPLE = re.compile(r"^(\S.*?) \| (\S+), turn (\d+)\n  - (.*)\n  \+ (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def schema(shared: Path) -> Schema:
    return sample("multiwoz", shared).schema


def nothing(name: str) -> Corpus:
    raise CorpusError(f"no corpus {name}")


def own(tmp_path: Path, text: str) -> str:
    (tmp_path / "own.toml").write_text(text, "utf-8")
    return f'values("{tmp_path / "own.toml"}")'


def stress_turn(
    spec: str, user: str, state: State, schema: Schema, system: str = "", before: State | None = None, seed: int = 1
) -> Turn:
    """The second turn of a dialogue, stressed."""
    turns = (Turn("hello", state=before or {}), Turn(user, system, (before or {}) | state))
    stressor = create(spec)
    dialogues = [Dialogue("d", turns)]
    stressor.prepare(Resources(schema, dialogues, nothing, Path()))
    return stressor.stress(dialogues, seed)[0].turns[1]


def test_words_and_state_change_together(schema: Schema) -> None:
    turn = stress_turn("values", "An indian place in the centre.", {"restaurant-food": ("indian",)}, schema)
    [food] = turn.state["restaurant-food"]
    assert food in shipped("O").pool("restaurant-food")
    assert turn.user == f"A {food} place in the centre."
    assert turn.stress and turn.stress.tags == ("unseen",) and turn.original.user == "An indian place in the centre."


def test_seen_values_are_tagged(schema: Schema) -> None:
    turn = stress_turn("values", "in the west", {"hotel-area": ("west",)}, schema)
    assert turn.stress and turn.stress.tags == ("seen",)


@pytest.mark.parametrize(
    ("user", "system", "state"),
    [
        ("the west please", "north or west?", {"hotel-area": ("west",)}),
        ("with parking", "", {"hotel-parking": ("yes",)}),
        ("any area", "", {"hotel-area": ("dontcare",)}),
        ("the cheapest one", "", {"hotel-pricerange": ("cheap",)}),
        ("", "", {"hotel-area": ("west",)}),
    ],
)
def test_what_the_user_did_not_bring_up_stays(schema: Schema, user: str, system: str, state: State) -> None:
    turn = stress_turn("values", user, state, schema, system)
    assert turn.user == user and turn.state == state and turn.stress is None


def test_a_coreference_stays(schema: Schema) -> None:
    before: State = {"hotel-book day": ("friday",)}
    turn = stress_turn("values", "a train on the same friday", {"train-day": ("friday",)}, schema, before=before)
    assert turn.stress is None
    referring = Turn("on friday too", "", {"train-day": ("friday",)}, coreferences=(Coreference("train-day", "too"),))
    stressor = create("values")
    stressor.prepare(Resources(schema, [], nothing, Path()))
    assert stressor.stress([Dialogue("d", (referring,))], 1)[0].turns[0] == referring


def test_a_value_that_is_said_twice_changes_twice(schema: Schema) -> None:
    turn = stress_turn("values", "to ely, yes, Ely", {"train-destination": ("ely",)}, schema)
    [town] = turn.state["train-destination"]
    assert turn.user.lower() == f"to {town}, yes, {town}"


def test_two_slots_of_one_name_change_together(schema: Schema) -> None:
    state: State = {"restaurant-name": ("bedouin",), "taxi-destination": ("bedouin",)}
    turn = stress_turn("values", "a table at bedouin, and a taxi there", state, schema)
    assert turn.state["restaurant-name"] == turn.state["taxi-destination"] != ("bedouin",)
    assert turn.state["restaurant-name"][0] in shipped("O").pool("restaurant-name")


@pytest.mark.parametrize("seed", range(15))
def test_a_journey_stays_plausible(tmp_path: Path, schema: Schema, seed: int) -> None:
    spec = own(
        tmp_path,
        '"train-departure" = ["oxnard", "irvine"]\n"train-destination" = ["oxnard", "irvine"]\n'
        '"train-leaveat" = ["09:01", "12:02"]\n"train-arriveby" = ["09:01", "12:02"]',
    )
    state: State = {
        "train-departure": ("ely",), "train-destination": ("norwich",),
        "train-leaveat": ("10:00",), "train-arriveby": ("11:00",),
    }  # fmt: skip
    turn = stress_turn(spec, "from ely to norwich, leaving at 10:00, there by 11:00", state, schema, seed=seed)
    if turn.state != state:
        assert turn.state["train-departure"] != turn.state["train-destination"]
        leave, arrive = (time_of(turn.state[slot][0]) for slot in ("train-leaveat", "train-arriveby"))
        assert leave is not None and arrive is not None and leave < arrive


@pytest.mark.parametrize(
    ("listed", "slot", "old", "user", "new"),
    [
        ('"hotel-book people" = ["3"]', "hotel-book people", "1", "for 1 person", "for 3 people"),
        ('"hotel-book people" = ["1"]', "hotel-book people", "4", "for four people", "for one person"),
        ('"train-book people" = ["4"]', "train-book people", "1", "one train ticket", "four train tickets"),
        ('"hotel-book stay" = ["31"]', "hotel-book stay", "2", "two nights", "thirty-one nights"),
        ('"train-leaveat" = ["19:15"]', "train-leaveat", "17:00", "after 5 pm", "after 7:15 pm"),
        ('"train-leaveat" = ["19:15"]', "train-leaveat", "17:00", "after 17:00", "after 19:15"),
        ('"attraction-type" = ["library", "zoo"]', "attraction-type", "museum", "any museums?", "any zoos?"),
        ('"attraction-type" = ["zoo"]', "attraction-type", "entertainment", "some entertainment", "some zoos"),
        ('"train-day" = ["april 11th"]', "train-day", "friday", "On a Friday", "On April 11th"),
        ('"hotel-name" = ["a.b*(c) [d]"]', "hotel-name", "ritz", "the ritz", "the a.b*(c) [d]"),
        ('"hotel-name" = ["white rock"]', "hotel-name", "b&b (x+y)", "at b&b (x+y)?", "at white rock?"),
        ('"hotel-name" = ["white rock"]', "hotel-name", "ritz", "😀 at ritz! 😀", "😀 at white rock! 😀"),
        ('"hotel-name" = ["فندق"]', "hotel-name", "ritz", "أريد ritz من فضلك", "أريد فندق من فضلك"),
    ],
)
def test_new_values_fit_the_words(
    tmp_path: Path, schema: Schema, listed: str, slot: str, old: str, user: str, new: str
) -> None:
    turn = stress_turn(own(tmp_path, listed), user, {slot: (old,)}, schema)
    assert turn.user == new


CARS = Schema(
    (
        Service(
            "RentalCars_1",
            slots=(Slot("pickup_date"), Slot("dropoff_date"), Slot("pickup_time"), Slot("pickup_city")),
        ),
    )
)


def drawn(user: str, state: State, before: State | None = None) -> list[Turn]:
    turns = [stress_turn("values", user, state, CARS, before=before, seed=seed) for seed in range(25)]
    return [turn for turn in turns if turn.changed]


@pytest.mark.parametrize(
    ("start", "end"), [("March 6th", "March 11th"), ("the 6th", "the 11th"), ("March 6th", "the 11th")]
)
def test_a_return_comes_after_its_start(start: str, end: str) -> None:
    first, last = "RentalCars_1-pickup_date", "RentalCars_1-dropoff_date"
    together = drawn(f"from {start} until {end}", {first: (start,), last: (end,)})
    later = drawn(f"until {end}", {last: (end,)}, {first: (start,)})
    assert len(together) > 20 and len(later) > 20
    for turn in (*together, *later):
        assert (days_between(turn.state[first][0], turn.state[last][0]) or 0) > 0
        assert turn.state[last][0] in turn.user
    months = {(date_of(turn.state[first][0]) or ("", 0))[0] for turn in together}
    assert len(months) > 4 or "the" in (start[:3], end[:3])


def test_dates_that_do_not_compare_stay() -> None:
    state: State = {"RentalCars_1-pickup_date": ("next Monday",), "RentalCars_1-dropoff_date": ("the 11th",)}
    assert not drawn("from next Monday until the 11th", state)


@pytest.mark.parametrize(
    ("words", "value", "manner"),
    [
        ("quarter to 6", "17:45", r"quarter to \d+"),
        ("half past nine in the evening", "half past nine in the evening", "half past [a-z]+ in the evening"),
        ("5 pm", "5 pm", r"\d+ pm"),
    ],
)
def test_a_spoken_time_stays_one(words: str, value: str, manner: str) -> None:
    turns = drawn(f"at {words} please", {"RentalCars_1-pickup_time": (value,)})
    assert len({turn.user for turn in turns}) > 2
    for turn in turns:
        shown = turn.user.removeprefix("at ").removesuffix(" please")
        assert re.fullmatch(manner, shown) and shown != words
        new, own = time_of(shown), time_of(turn.state["RentalCars_1-pickup_time"][0])
        assert new is not None and own is not None and (new - own) % 720 == 0


def test_a_label_has_the_capitals_that_it_had() -> None:
    for turn in drawn("in Seattle please", {"RentalCars_1-pickup_city": ("Seattle",)}):
        assert turn.user == f"in {turn.state['RentalCars_1-pickup_city'][0]} please"


@pytest.mark.parametrize("user", ["a moderate -ly priced place .", "a moderately priced place."])
def test_no_ending_is_left_of_an_adverb(schema: Schema, user: str) -> None:
    turns = [stress_turn("values", user, {"hotel-pricerange": ("moderate",)}, schema, seed=seed) for seed in range(4)]
    rest = user.split("priced")[1]
    assert {turn.user for turn in turns} == {f"a cheap{rest}", f"an expensive{rest}"}


def test_values_inside_other_values_stay(tmp_path: Path, schema: Schema) -> None:
    spec = own(tmp_path, '"train-destination" = ["oxnard"]\n"hotel-name" = ["white rock"]')
    state: State = {"train-destination": ("cambridge",), "hotel-name": ("cambridge belfry",)}
    turn = stress_turn(spec, "the cambridge belfry please", state, schema)
    assert turn.state == state  # which slot would the new words belong to?


def test_a_slot_that_the_dictionary_lacks_is_counted(tmp_path: Path, schema: Schema) -> None:
    turn = stress_turn(own(tmp_path, '"hotel-name" = ["ritz"]'), "in the west", {"hotel-area": ("west",)}, schema)
    assert turn.user == "in the west"
    assert turn.stress and turn.stress.fallbacks == ("the dictionary has no hotel-area",)


def test_an_accepted_form_as_it_is_said_is_kept(tmp_path: Path) -> None:
    schema = reminder.schema("test")
    state: State = {"tables-time": ("17:00", "5 pm")}
    turn = stress_turn(own(tmp_path, '"tables-time" = ["19:15"]'), "at 5 pm", state, schema)
    assert turn.state == {"tables-time": ("19:15", "7:15 pm")}


def test_bad_arguments_are_told() -> None:
    with pytest.raises(SpecError, match="minimum"):
        create("values(minimum=0)")
    with pytest.raises(DstressError, match="did you mean 'built'"):
        stress_turn("values(bilt)", "hello", {}, reminder.schema("test"))


def test_a_long_utterance_is_rewritten(schema: Schema) -> None:
    long = "please find me something nice " * 150 + "in the west"
    turn = stress_turn("values", long, {"hotel-area": ("west",)}, schema)
    assert turn.state != {"hotel-area": ("west",)}


@given(st.text(max_size=60), st.text(min_size=1, max_size=12), st.integers(0, 60))
def test_any_words_are_survived(text: str, value: str, at: int) -> None:
    user = text[:at] + value + text[at:]
    turn = stress_turn("values", user, {"taxi-destination": (value,)}, reminder.schema("test"))
    if turn.stress and turn.stress.edits:
        assert undo(turn.user, turn.stress.edits) == user
        assert find_value(turn.user, "taxi-destination", turn.state["taxi-destination"])


@pytest.mark.parametrize("name", ["reminder", "multiwoz"])
def test_gold_that_was_said_is_said(name: str, request: pytest.FixtureRequest) -> None:
    corpus = sample(name, request.getfixturevalue("shared") if name != "reminder" else None)
    stressor = create("values(built, train=any:train)")
    stressor.prepare(Resources(corpus.schema, corpus, lambda _: in_memory(list(corpus), corpus.schema), Path()))
    for before, after in zip(corpus, stressor.stress(list(corpus), 3), strict=True):
        for old, new in zip(before.turns, after.turns, strict=True):
            assert old.state.keys() == new.state.keys()
            assert (new.remembered.user, new.remembered.state) == (old.user, old.state)
            for slot in (slot for slot in old.state if old.state[slot] != new.state[slot]):
                assert find_value(old.user, slot, old.state[slot]) or old.state[slot] in (
                    old.state[other] for other in old.state if other != slot
                )
                assert find_value(new.user, slot, new.state[slot]), (new.user, slot)


@pytest.mark.slow
def test_the_page_shows_what_happens() -> None:
    examples = EXAMPLE.findall(PAGE.read_text("utf-8"))
    assert len(examples) >= 3
    corpus = list(reminder.generate("test"))
    for spec, dialogue, turn, before, after in examples:
        stressor = create(spec)
        stressor.prepare(Resources(reminder.schema("test"), corpus, _reminder, Path()))
        done = stressor.stress([original for original in corpus if original.id == dialogue], 1)[0].turns[int(turn)]
        assert (done.original.user, done.user) == (before, after)


def _reminder(name: str) -> Corpus:
    split = name.partition(":")[2]
    return in_memory(list(reminder.generate(split)), reminder.schema(split))
