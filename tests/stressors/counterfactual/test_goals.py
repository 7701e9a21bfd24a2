from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import reminder
from dstress.dialogue import (
    Act,
    Coreference,
    Dialogue,
    Frame,
    Intent,
    Schema,
    Service,
    Slot,
    State,
    Turn,
    service_of,
    update,
)
from dstress.errors import DstressError, SpecError, UnknownNameError
from dstress.stressors.base import Unchanged
from dstress.stressors.counterfactual.combinations import SHIPPED, Combinations, build, count_updates, shipped
from dstress.stressors.counterfactual.goals import CounterfactualGoal, Limits, _asked_slots, _with_answers, draw_goal
from dstress.stressors.generators.base import Goal
from dstress.stressors.generators.goals import own_goal, read_goal
from dstress.stressors.values.dictionary import Dictionary
from dstress.stressors.values.dictionary import shipped as shipped_values
from dstress.stressors.values.substitution import are_plausible, meaning_of
from dstress.text.times import time_of
from dstress.text.utterance import Utterance
from tests.stressors.counterfactual.test_combinations import MULTIWOZ
from tests.stressors.samples import sample

O_VALUES = shipped_values("O")
SEEDS = range(12)
ALL = {"drop": st.integers(0, 2), "add": st.integers(0, 3), "slots": st.integers(1, 4), "change": st.booleans()}
limits = (
    st.fixed_dictionaries(ALL)
    .filter(lambda one: one["drop"] or one["add"] or one["change"])
    .map(lambda one: Limits(**one))
)


def utterance(
    user: str, state: State, system: str = "", before: State | None = None, seed: int = 1, **more: object
) -> Utterance:
    """The second turn of a dialogue, in which the state gets `state` on top."""
    before = before or {}
    turns = (Turn("hello", state=before), Turn(user, system, before | state, **more))  # type: ignore[arg-type]
    return Utterance(Dialogue("d", turns), 1, MULTIWOZ, (seed,))


def made(utterance: Utterance, name: str = "rare", limits: Limits | None = None) -> CounterfactualGoal:
    found = draw_goal(utterance, O_VALUES, shipped(name), limits or Limits())
    assert isinstance(found, CounterfactualGoal), found
    return found


def test_the_users_own_goal() -> None:
    state: State = {
        "restaurant-name": ("curry garden",),
        "restaurant-food": ("indian",),
        "restaurant-area": ("dontcare",),
        "restaurant-book day": ("monday",),
    }
    said = utterance("indian in any area is fine , book it", state, "the curry garden is nice")
    assert own_goal(said) == Goal(
        {"restaurant-food": "indian", "restaurant-area": "dontcare"},
        {"restaurant-name": "curry garden", "restaurant-book day": "monday"},
    )


@pytest.mark.parametrize(
    ("user", "said"),
    [("i need parking", {"hotel-parking": "yes"}), ("yes please", {}), ("sure , that is great", {})],
)
def test_a_bare_yes_takes_what_the_system_offers(user: str, said: dict[str, str]) -> None:
    found = own_goal(utterance(user, {"hotel-parking": ("yes",)}, "do you need parking ?"))
    assert found.spoken == said and {**found.spoken, **found.unspoken} == {"hotel-parking": "yes"}


def test_what_is_only_referred_to_is_taken() -> None:
    where = (Coreference("taxi-destination", "the hotel"),)
    said = utterance("to the hotel at the ritz", {"taxi-destination": ("the ritz",)}, coreferences=where)
    assert not own_goal(said).spoken


def test_one_slot_is_changed_never_dropped() -> None:
    for seed in SEEDS:
        found = made(utterance("in the west", {"hotel-area": ("west",)}, seed=seed), limits=Limits(add=0))
        assert found.changed == ("hotel-area",) and not found.dropped and found.tag == "seen"
        assert found.goal.spoken["hotel-area"] in {"north", "south", "east", "centre"}
        assert found.state == {"hotel-area": (found.goal.spoken["hotel-area"],)}


def test_drop_change_and_add_together() -> None:
    state: State = {"hotel-area": ("west",), "hotel-pricerange": ("cheap",)}
    found = made(utterance("a cheap one in the west", state))
    assert len(found.dropped) == len(found.changed) == 1 and len(found.added) == 2 and found.tag == "unseen"
    assert {*found.goal.spoken} == {*found.changed, *found.added} == {*found.state}
    assert {*found.added} <= {*shipped("rare").of(found.changed[0])}


def test_with_nothing_to_add_the_dropped_slot_returns_with_another_value() -> None:
    state: State = {"train-departure": ("ely",), "train-destination": ("norwich",)}
    said = utterance("from ely to norwich", state)
    found = made(said)  # rare adds nothing to either
    assert not found.dropped and not found.added and {*found.changed} == {*state}
    kept = made(said, limits=Limits(add=0))
    assert len(kept.dropped) == 1 and len(kept.goal.spoken) == 1
    assert draw_goal(said, O_VALUES, shipped("rare"), Limits(change=False)) == Unchanged("no other value or slot fits")


def test_what_the_system_named_stays_and_is_said_again() -> None:
    state: State = {"hotel-area": ("west",)}
    for seed in SEEDS:
        found = made(utterance("the west please", state, "north or west ?", seed=seed))
        assert found.goal.spoken["hotel-area"] == "west" and found.added and not found.changed
        assert found.state["hotel-area"] == ("west",)


@pytest.mark.parametrize(
    ("system", "slot", "value"),
    [
        ("it is in the moderate price range .", "restaurant-pricerange", "moderate"),
        ("the lensfield hotel is nice .", "taxi-departure", "lensfield hotel"),
        ("which do you prefer : pizza hut or zizzi ?", "restaurant-name", "zizzi"),
        ("how about zizzi in the west ?", "restaurant-area", "west"),
        ("anything else ?", "restaurant-food", "thai"),
    ],
)
def test_what_nobody_says_and_nobody_takes_up_goes(system: str, slot: str, value: str) -> None:
    state: State = {slot: (value,), "restaurant-name": ("zizzi",), "restaurant-book people": ("3",)}
    for seed in SEEDS:
        found = made(utterance("for 3 people", state, system, seed=seed))
        assert slot not in found.state and slot not in found.goal.slots


def test_who_takes_up_an_offer_adds_only_to_the_booking() -> None:
    state: State = {"restaurant-name": ("zizzi",), "restaurant-book people": ("3",)}
    for seed in SEEDS:
        found = made(utterance("yes , for 3 people", state, "shall i book zizzi ?", seed=seed), "neu")
        assert found.goal.unspoken == {"restaurant-name": "zizzi"}
        assert {*found.added} <= {"restaurant-book day", "restaurant-book time"}


def test_a_yes_to_a_question_is_kept_and_one_who_is_asked_answers() -> None:
    state: State = {"hotel-parking": ("yes",), "hotel-book stay": ("3",), "hotel-book people": ("2",)}
    for seed in SEEDS:
        said = utterance("yes , 3 nights for 2", state, "do you need parking ? and how many nights ?", seed=seed)
        found = made(said)
        assert found.goal.unspoken == {"hotel-parking": "yes"} and "hotel-book stay" not in found.dropped


def test_an_offer_that_is_taken_up_stays() -> None:
    state: State = {"hotel-name": ("acorn guest house",), "hotel-book people": ("3",)}
    for seed in SEEDS:
        found = made(utterance("great , for 3 people", state, "the acorn guest house ?", seed=seed))
        assert found.goal.unspoken == {"hotel-name": "acorn guest house"}
        assert found.state["hotel-name"] == ("acorn guest house",) and found.goal.spoken["hotel-book people"] != "3"


def test_a_taken_offer_alone_gets_no_more() -> None:
    said = utterance("sounds great", {"hotel-name": ("acorn guest house",)}, "the acorn guest house ?")
    assert draw_goal(said, O_VALUES, shipped("freq")) == Unchanged("the user says no value of the turn")


def test_a_turn_without_an_update_has_no_goal() -> None:
    assert draw_goal(utterance("thanks", {}), O_VALUES, shipped("neu")) is None


def test_a_flag_without_another_value_stays_but_may_be_dropped() -> None:
    state: State = {"hotel-internet": ("yes",)}
    alone = utterance("with wifi", state)
    assert draw_goal(alone, O_VALUES, shipped("rare"), Limits(add=0)) == Unchanged("no other value or slot fits")
    both = state | {"hotel-area": ("west",)}
    found = [made(utterance("with wifi in the west", both, seed=seed), limits=Limits(add=0)) for seed in SEEDS]
    assert {one.dropped for one in found} == {("hotel-internet",), ("hotel-area",)}
    assert {one.goal.spoken.get("hotel-internet", "yes") for one in found} == {"yes"}


@pytest.mark.parametrize("gold", ["true", "free"])
def test_other_words_for_yes_are_no_other_value(gold: str) -> None:
    said = utterance("with parking", {"hotel-parking": (gold,)})
    assert isinstance(draw_goal(said, O_VALUES, shipped("rare"), Limits(add=0)), Unchanged)


def test_a_dontcare_becomes_a_value() -> None:
    found = made(utterance("any area is fine", {"hotel-area": ("dontcare",)}), limits=Limits(add=0))
    assert found.goal.spoken["hotel-area"] in O_VALUES.pool("hotel-area")


def test_new_values_differ_from_what_was_said_and_what_was_before() -> None:
    values = Dictionary({"hotel-area": ["West", "east", "north"]})
    for seed in SEEDS:
        said = utterance("rather in the west", {"hotel-area": ("west",)}, before={"hotel-area": ("east",)}, seed=seed)
        found = draw_goal(said, values, shipped("rare"))
        assert isinstance(found, CounterfactualGoal) and found.goal.spoken == {"hotel-area": "north"}


def test_a_dropped_slot_keeps_the_value_from_before() -> None:
    before: State = {"hotel-area": ("east",), "hotel-stars": ("4",)}
    state: State = {"hotel-area": ("west",), "hotel-pricerange": ("cheap",)}
    dropped = set()
    for seed in SEEDS:
        said = utterance("cheap in the west", state, before=before, seed=seed)
        found = made(said, limits=Limits(add=0, change=False))
        dropped |= {*found.dropped}
        if found.dropped == ("hotel-area",):
            assert found.state == before | {"hotel-pricerange": ("cheap",)} and found.tag == ""
    assert dropped == {"hotel-area", "hotel-pricerange"}


def test_who_takes_a_value_back_stays_as_is() -> None:
    before: State = {"hotel-name": ("the ritz",), "train-day": ("monday",)}
    for kept, unchanged in (({"train-day": ("monday",)}, True), ({"hotel-name": ("the ritz",)}, False)):
        turns = (Turn("", state=before), Turn("cheap", state=kept | {"hotel-pricerange": ("cheap",)}))
        found = draw_goal(Utterance(Dialogue("d", turns), 1, MULTIWOZ, (1,)), O_VALUES, shipped("rare"))
        assert (found == Unchanged("the user takes a value back")) == unchanged


def test_a_kept_value_keeps_its_forms_and_a_new_one_has_one() -> None:
    state: State = {"restaurant-book time": ("half past 11", "11:30"), "restaurant-food": ("thai",)}
    said = utterance("thai at 11:30", state, "at half past 11 ?")
    found = made(said, limits=Limits(drop=0, add=0))
    assert found.state["restaurant-book time"] == ("half past 11", "11:30")
    assert found.state["restaurant-food"] == (found.goal.spoken["restaurant-food"],)


def test_a_draw_does_not_move_the_others() -> None:
    state: State = {"hotel-area": ("west",), "hotel-pricerange": ("cheap",), "hotel-stars": ("4",)}
    kept = 0
    for seed in SEEDS:
        said = utterance("a cheap 4 star hotel in the west", state, seed=seed)
        full, alone = made(said), made(said, limits=Limits(add=0))
        assert full.dropped == alone.dropped and full.changed == alone.changed
        assert all(full.goal.spoken[slot] == value for slot, value in alone.goal.spoken.items())
        whole = made(said, limits=Limits(drop=0, add=0))
        kept += sum(whole.goal.spoken[slot] == value for slot, value in alone.goal.spoken.items())
        assert made(said, limits=Limits(change=False)).added == full.added
    assert kept == 2 * len(SEEDS)


def test_travel_stays_consistent() -> None:
    before: State = {"train-arriveby": ("10:45",), "train-departure": ("norwich",)}
    values = Dictionary({"train-leaveat": ["11:00", "9:15 am"], "train-destination": ["norwich", "ely"]})
    for seed in SEEDS:
        state: State = {"train-leaveat": ("08:00",), "train-destination": ("leicester",)}
        said = utterance("to leicester after 08:00", state, before=before, seed=seed)
        found = draw_goal(said, values, shipped("rare"), Limits(drop=0))
        assert isinstance(found, CounterfactualGoal)
        assert found.goal.spoken == {"train-leaveat": "9:15 am", "train-destination": "ely"}


def test_two_times_that_change_together_stay_in_order() -> None:
    state: State = {"taxi-leaveat": ("08:00",), "taxi-arriveby": ("09:00",)}
    changed = set()
    for seed in range(60):
        found = made(utterance("leave at 08:00 , arrive by 09:00", state, seed=seed), "freq", Limits(drop=0))
        leave, arrive = (time_of(found.goal.spoken[slot]) for slot in state)
        assert leave is not None and arrive is not None and leave < arrive
        changed.add(found.changed)
    assert ("taxi-leaveat", "taxi-arriveby") in changed


def test_values_of_a_goal_can_be_told_apart() -> None:
    values = Dictionary({"hotel-book people": ["30", "31"], "hotel-book stay": ["30", "31"]})
    for seed in SEEDS:
        said = utterance("3 people", {"hotel-book people": ("3",)}, seed=seed)
        found = draw_goal(said, values, shipped("freq"))
        assert isinstance(found, CounterfactualGoal) and {*found.goal.spoken.values()} == {"30", "31"}


def test_only_services_that_the_user_speaks_of_get_more() -> None:
    lists = {"taxi-leaveat": ["taxi-departure", "train-day"]}
    found = [
        draw_goal(utterance("at 10:15", {"taxi-leaveat": ("10:15",)}, seed=seed), O_VALUES, Combinations(lists))
        for seed in SEEDS
    ]
    assert {one.added for one in found if isinstance(one, CounterfactualGoal)} == {("taxi-departure",)}


@pytest.mark.parametrize("given", [{"drop": -1}, {"add": -1}, {"slots": 0}, {"drop": 0, "add": 0, "change": False}])
def test_limits_that_make_no_sense_are_told(given: dict[str, int]) -> None:
    with pytest.raises(SpecError):
        Limits(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "empty"),
        ({"hotel-pricerang": "cheap"}, "did you mean 'hotel-pricerange'"),
        ({"hotel-area": " "}, "hotel-area has no value"),
        ({"hotel-area": "west", "hotel-Area": "east"}, "hotel-area is there twice"),
    ],
)
def test_a_goal_that_makes_no_sense_is_told(given: dict[str, str], problem: str) -> None:
    with pytest.raises(DstressError, match=problem):
        read_goal(given, MULTIWOZ)


def test_a_persons_goal() -> None:
    found = read_goal({"hotel-book_day": " monday "}, MULTIWOZ, {"hotel-book day": "friday", "hotel-name": "the ritz"})
    assert found == Goal({"hotel-book day": "monday"}, {"hotel-name": "the ritz"})
    with pytest.raises(UnknownNameError):
        read_goal({"zoo": "west"}, MULTIWOZ)


@cache
def material() -> tuple[list[Dialogue], Schema, Dictionary, dict[str, Combinations]]:
    """Dialogues of `reminder`, with dictionaries derived from its training split."""
    schema = reminder.schema("test")
    counts = count_updates(islice(reminder.generate("train"), 100))
    combinations = {name: build(name, counts, schema) for name in SHIPPED}
    return list(islice(reminder.generate("test"), 25)), schema, O_VALUES.adapted(schema), combinations


@given(st.integers(0, 24), st.integers(0, 9), st.sampled_from(SHIPPED), limits)
def test_the_laws_of_a_counterfactual_goal(number: int, seed: int, name: str, limits: Limits) -> None:
    dialogues, schema, values, combinations = material()
    dialogue = dialogues[number]
    for index, turn in enumerate(dialogue.turns):
        said = Utterance(dialogue, index, schema, (seed,))
        found = draw_goal(said, values, combinations[name], limits)
        assert found == draw_goal(Utterance(dialogue, index, schema, (seed,)), values, combinations[name], limits)
        if not isinstance(found, CounterfactualGoal):
            assert (found is None) == (not any(update(said.before, turn.state).values()))
            continue
        own, goal = _with_answers(own_goal(said), turn.system), found.goal
        assert goal.unspoken.items() <= own.unspoken.items() and goal.spoken and goal != own
        assert len(goal.spoken) <= max(limits.slots, len(own.spoken))
        assert len(found.dropped) <= limits.drop and len(found.added) <= limits.add
        assert goal.spoken.keys() == (own.spoken.keys() - {*found.dropped}) | {*found.added}
        for slot in (*found.changed, *found.added):
            assert goal.spoken[slot] in values.pool(slot)
            held = (*turn.state.get(slot, ()), *said.before.get(slot, ()))
            assert meaning_of(goal.spoken[slot]) not in map(meaning_of, held)
        assert all(
            goal.spoken[slot] == own.spoken[slot] for slot in goal.spoken.keys() - {*found.changed, *found.added}
        )
        active = [*(goal.spoken.keys() - {*found.added}), *goal.unspoken]
        for slot in found.added:
            assert slot not in said.before and slot not in turn.state
            together = [one for one in active if service_of(one) == service_of(slot)]
            assert slot in combinations[name].addable(together) or slot in _asked_slots(said, {service_of(slot)})
            assert service_of(slot) in map(service_of, own.spoken)
        _check_state(said, found)


def _check_state(utterance: Utterance, found: CounterfactualGoal) -> None:
    """B_t: the state before the turn, under the new turn-level goal."""
    goal, before = {**found.goal.unspoken, **found.goal.spoken}, utterance.before
    assert found.state.keys() == before.keys() | goal.keys()
    for slot, forms in found.state.items():
        assert goal[slot] in forms if slot in goal else forms == before[slot]
    assert are_plausible(utterance.turn.state, found.state, found.state)


def test_most_turns_of_multiwoz_get_a_goal(shared: Path) -> None:
    corpus = sample("multiwoz", shared, 60)
    values, combinations = O_VALUES.adapted(corpus.schema), shipped("rare").adapted(corpus.schema)
    assert combinations is not None
    found = [
        draw_goal(Utterance(dialogue, index, corpus.schema, (1,)), values, combinations)
        for dialogue in corpus
        for index in range(len(dialogue.turns))
    ]
    eligible = [one for one in found if one is not None]
    goals = [one for one in eligible if isinstance(one, CounterfactualGoal)]
    assert len(goals) > 0.82 * len(eligible) > 150
    assert {len(one.added) for one in goals} == {0, 1, 2} and {len(one.dropped) for one in goals} == {0, 1}


TABLES = Schema(
    (
        Service(
            "Tables_1",
            slots=tuple(Slot(name) for name in ("city", "date", "hour", "food")),
            intents=(Intent("Find", required=("city", "food")), Intent("Book", required=("city", "date", "hour"))),
        ),
    )
)
TABLE_VALUES = Dictionary(
    {"Tables_1-city": ["York", "Leeds", "Bath"], "Tables_1-date": ["May 9th", "May 4th"]}
    | {"Tables_1-hour": ["5 pm"], "Tables_1-food": ["Thai", "Greek"]}
)
ANY_TABLE = Combinations({slot: [other for other in TABLES.slots if other != slot] for slot in TABLES.slots})


def drawn_with_acts(user: str, state: State, intent: str, *wants: Act) -> list[CounterfactualGoal]:
    """Many draws for a turn of SGD's kind, which answers these acts of the system."""
    frames = {"frames": (Frame("Tables_1", intent),), "system_frames": (Frame("Tables_1", acts=wants),)}
    turn = Turn(user, "Yes?", state, **frames)  # type: ignore[arg-type]
    dialogue = Dialogue("d", (turn,))
    found = [draw_goal(Utterance(dialogue, 0, TABLES, (seed,)), TABLE_VALUES, ANY_TABLE) for seed in range(40)]
    return [one for one in found if isinstance(one, CounterfactualGoal)]


def test_who_is_asked_for_a_slot_gives_it() -> None:
    state: State = {"Tables_1-city": ("Oslo",), "Tables_1-food": ("Thai",)}
    goals = drawn_with_acts("Thai in Oslo", state, "")
    assert any(goal.dropped == ("Tables_1-city",) for goal in goals)
    asked = drawn_with_acts("Thai in Oslo", state, "", Act("REQUEST", "city"))
    assert len(asked) == 40
    assert all("Tables_1-city" in goal.goal.spoken for goal in asked)


def test_what_is_added_is_of_the_intent() -> None:
    goals = drawn_with_acts("in Oslo", {"Tables_1-city": ("Oslo",)}, "Book")
    assert {slot for goal in goals for slot in goal.added} == {"Tables_1-date", "Tables_1-hour"}
    free = drawn_with_acts("in Oslo", {"Tables_1-city": ("Oslo",)}, "")
    assert "Tables_1-food" in {slot for goal in free for slot in goal.added}


def test_nobody_asks_for_what_is_refused() -> None:
    state: State = {"Tables_1-city": ("Oslo",)}
    assert {goal.goal.spoken["Tables_1-city"] for goal in drawn_with_acts("no, Oslo", state, "Find")} == {
        *("York", "Leeds", "Bath")
    }
    refused = drawn_with_acts("no, Oslo", state, "Find", Act("CONFIRM", "city", ("York",)))
    assert {goal.goal.spoken["Tables_1-city"] for goal in refused} == {"Leeds", "Bath"}


ASHLEY: State = {"hotel-name": ("ashley hotel",)}


@pytest.mark.parametrize(
    ("user", "system", "state"),
    [
        # an offer that the words go on from, though they describe something
        ("yeah , has it free parking ?", "i suggest the ashley hotel .", ASHLEY | {"hotel-parking": ("yes",)}),
        ("does it have free parking ?", "how about the ashley hotel ?", ASHLEY | {"hotel-parking": ("yes",)}),
        # a yes to what the sentences before the question tell, and to what the question names
        (
            "yes , 7 tickets please",
            "i have a train at 19:17 that arrives at 20:08 . would that work for you ?",
            {"train-leaveat": ("19:17",), "train-arriveby": ("20:08",), "train-book people": ("7",)},
        ),
        (
            "you book for 5 people",
            "the train leaves at 20:21 . would that work ?",
            {"train-leaveat": ("20:21",), "train-book people": ("5",)},
        ),
        (
            "yes on thursday",
            "are you departing from cambridge ?",
            {"train-departure": ("cambridge",), "train-day": ("thursday",)},
        ),
    ],
)
def test_what_is_taken_up_stays_in_the_label(user: str, system: str, state: State) -> None:
    for seed in SEEDS:
        said = utterance(user, state, system, seed=seed)
        taken = own_goal(said).unspoken
        found = made(said, "neu")
        assert taken and found.goal.unspoken == taken
        assert all(found.state[slot] == state[slot] for slot in taken)


@pytest.mark.parametrize(
    ("system", "user", "before"),
    [
        ("the ashley s phone number is 01223 . shall i book it ?", "for 3 people", ASHLEY),
        ("there is a nice one . would you like me to book it ?", "yes , for 3 people", {}),
    ],
)
def test_of_what_is_chosen_only_the_booking_gets_more(system: str, user: str, before: State) -> None:
    added = set()
    for seed in SEEDS:
        found = made(utterance(user, {"hotel-book people": ("3",)}, system, before, seed), "neu")
        added |= {*found.added}
    assert added == {"hotel-book day", "hotel-book stay"}


def test_who_is_asked_answers() -> None:
    area: State = {"hotel-area": ("dontcare",), "hotel-stars": ("4",)}
    for seed in SEEDS:
        asked = "is there a particular area you would like to stay in ?"
        told = made(utterance("wherever you like , with 4 stars", area, asked, seed=seed))
        assert "hotel-area" in told.goal.spoken, "words that the finder does not know leave it open"
        added = made(utterance("with 4 stars", {"hotel-stars": ("4",)}, asked, seed=seed), "rare")
        assert added.added[0] == "hotel-area"
        full = utterance("with 4 stars", {"hotel-stars": ("4",)}, asked, seed=seed)
        silent = draw_goal(full, O_VALUES, shipped("rare"), Limits(add=0))
        assert silent == Unchanged("the system's question would go unanswered")
        time = made(utterance("i arrive by 10:15", {"train-arriveby": ("10:15",)}, "when do you leave ?", seed=seed))
        assert "train-arriveby" in time.goal.spoken


def test_where_it_is_open_whether_an_offer_is_taken_the_turn_stays() -> None:
    said = utterance("is the parking free ?", ASHLEY | {"hotel-parking": ("yes",)}, "i recommend the ashley hotel .")
    found = draw_goal(said, O_VALUES, shipped("neu"))
    assert found == Unchanged("it is open whether the user takes the offer")


def test_no_name_is_added_to_a_choice_of_names() -> None:
    state: State = {"hotel-parking": ("yes",)}
    for seed in SEEDS:
        found = draw_goal(
            utterance("one with parking", state, "the ashley or the ritz , which would you like ?", seed=seed),
            *(O_VALUES, shipped("neu")),
        )
        assert isinstance(found, CounterfactualGoal) and "hotel-name" not in found.added


def test_the_song_that_is_chosen_has_its_singer() -> None:
    told = Turn(
        "Leeds?", "It is in York.", {}, system_frames=(Frame("Tables_1", acts=(Act("INFORM", "city", ("York",)),)),)
    )
    for acts, expected in (((), False), ((Act("NEGATE"),), False), ((Act("REQUEST_ALTS"),), True)):
        turn = Turn("Thai", "Anything else?", {"Tables_1-food": ("Thai",)}, frames=(Frame("Tables_1", acts=acts),))
        added = set()
        for seed in range(40):
            found = draw_goal(Utterance(Dialogue("d", (told, turn)), 1, TABLES, (seed,)), TABLE_VALUES, ANY_TABLE)
            assert isinstance(found, CounterfactualGoal)
            added |= {*found.added}
        assert ("Tables_1-city" in added) == expected and "Tables_1-date" in added


def test_what_is_taken_by_an_act_stays_though_another_service_is_spoken_of() -> None:
    rooms = Service("Rooms_1", slots=(Slot("city"), Slot("nights")))
    frames = (Frame("Tables_1", acts=(Act("SELECT"),)), Frame("Rooms_1", acts=(Act("INFORM", "city", ("Oslo",)),)))
    turn = Turn(
        "Good. A room in Oslo.", "It costs 9.", {"Tables_1-hour": ("6 am",), "Rooms_1-city": ("Oslo",)}, frames=frames
    )
    values = Dictionary({"Rooms_1-city": ["York", "Leeds"]})
    found = draw_goal(Utterance(Dialogue("d", (turn,)), 0, Schema((*TABLES.services, rooms)), (1,)), values, ANY_TABLE)
    assert isinstance(found, CounterfactualGoal) and found.goal.unspoken == {"Tables_1-hour": "6 am"}


def test_a_date_in_other_words_is_no_other_date() -> None:
    values = Dictionary({"Tables_1-date": ["11th of this month", "May 9th"]})
    for seed in SEEDS:
        turn = Turn("May 11th", "When?", {"Tables_1-date": ("May 11th",)})
        found = draw_goal(Utterance(Dialogue("d", (turn,)), 0, TABLES, (seed,)), values, ANY_TABLE)
        assert isinstance(found, CounterfactualGoal) and found.goal.spoken["Tables_1-date"] == "May 9th"
