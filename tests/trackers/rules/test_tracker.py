"""The `rules` tracker: what single turns come to, laws that hold for any words, and floors on real corpora."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress import corpora
from dstress.corpora.base import Corpus
from dstress.dialogue import DONTCARE, Dialogue, Intent, Schema, Service, Slot, Turn
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.scoring.score import score
from dstress.trackers import create
from dstress.trackers.base import Context
from dstress.trackers.rules.tracker import Rules
from tests.paths import DOCS

State = dict[str, str]

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
AREAS = ("centre", "east", "north", "south", "west")
PLACES = Schema(
    (
        Service(
            "hotel",
            "Find and book a place to stay",
            (
                Slot("area", "part of town", True, AREAS),
                Slot("book day", "day the stay begins", True, DAYS),
                Slot("book people", "number of people", True, tuple("12345678")),
                Slot("book stay", "number of nights", True, tuple("12345678")),
                Slot("name", "name of the hotel"),
                Slot("parking", "whether there is parking", True, ("yes", "no")),
                Slot("pricerange", "price level", True, ("cheap", "moderate", "expensive")),
                Slot("stars", "star rating", True, tuple("012345")),
                Slot("type", "hotel or guesthouse", True, ("hotel", "guesthouse")),
            ),
        ),
        Service(
            "restaurant",
            "Find a restaurant and book a table",
            (
                Slot("area", "part of town", True, AREAS),
                Slot("book time", "time of the booking"),
                Slot("book people", "number of people", True, tuple("12345678")),
                Slot("food", "cuisine of the restaurant"),
                Slot("name", "name of the restaurant"),
            ),
        ),
        Service(
            "taxi",
            "Book a taxi between two places",
            (
                Slot("arriveby", "time to arrive by"),
                Slot("departure", "where the taxi picks up"),
                Slot("destination", "where the taxi goes"),
                Slot("leaveat", "time to leave"),
            ),
        ),
    )
)


def tracker(schema: Schema = PLACES, known: Iterable[Dialogue] | None = None) -> Rules:
    made = Rules(train="known:train" if known is not None else None)
    made.prepare(Resources(schema, (), lambda _: Corpus("known", "train", schema, lambda: iter(known or ())), Path()))
    return made


def talk(*exchanges: str) -> Dialogue:
    """A dialogue from utterances in turn, the first the user's."""
    said = ["", *exchanges]
    return Dialogue("d", tuple(Turn(user, system) for system, user in zip(said[::2], said[1::2], strict=True)))


def answer(made: Rules, dialogue: Dialogue, turn: int, state: Mapping[str, str]) -> Prediction:
    (found,) = made.track([Context(dialogue, turn, made.schema, state)])
    assert isinstance(found, Prediction)
    return found


def follow(made: Rules, dialogue: Dialogue) -> State:
    """The state after the last turn."""
    state: Mapping[str, str] = {}
    for turn in range(len(dialogue.turns)):
        state = answer(made, dialogue, turn, state).state
    return dict(state)


FIRST_TURNS = {
    "i need a cheap hotel in the north with free parking": {
        "hotel-area": "north",
        "hotel-parking": "yes",
        "hotel-pricerange": "cheap",
    },
    "I 'm looking for a guest house , it does n't need parking .": {"hotel-type": "guesthouse", "hotel-parking": "no"},
    "a 4 star place to stay for 3 people and 2 nights from Friday": {
        "hotel-stars": "4",
        "hotel-book people": "3",
        "hotel-book stay": "2",
        "hotel-book day": "friday",
    },
    "I want a Korean restaurant at half past seven for two": {
        "restaurant-food": "korean",
        "restaurant-book time": "19:30",
        "restaurant-book people": "2",
    },
    "a taxi from Pond Street to the Old Mill leaving after 5:15 pm": {
        "taxi-departure": "Pond Street",
        "taxi-destination": "Old Mill",
        "taxi-leaveat": "17:15",
    },
    "taxi to the Old Mill please, i have to arrive by 08:30": {
        "taxi-destination": "Old Mill",
        "taxi-arriveby": "08:30",
    },
    "is there a hotel or a guest house in town?": {},
    "what is the weather like on the moon?": {},
    "": {},
}


@pytest.mark.parametrize("said", FIRST_TURNS)
def test_a_first_turn(said: str) -> None:
    assert follow(tracker(), talk(said)) == FIRST_TURNS[said]


def test_an_answer_goes_to_the_slot_that_was_asked_for() -> None:
    asked = "a hotel please", "How many nights will you stay?", "4"
    assert follow(tracker(), talk(*asked)) == {"hotel-book stay": "4"}
    assert follow(tracker(), talk("a hotel please", "How many people?", "4")) == {"hotel-book people": "4"}
    assert follow(tracker(), talk("a taxi please", "Where are you leaving from?", "Bishop's Mallow.")) == {
        "taxi-departure": "Bishop's Mallow"
    }


@pytest.mark.parametrize("answer", ["I don't care.", "it does not matter", "any area is fine", "No preference ."])
def test_not_caring_answers_a_question(answer: str) -> None:
    assert follow(tracker(), talk("i need a hotel", "Which area would you like?", answer)) == {"hotel-area": DONTCARE}


def test_not_caring_is_for_the_slot_that_is_named() -> None:
    state = follow(tracker(), talk("i need a hotel", "Which area and price range?", "the east , price does n't matter"))
    assert state == {"hotel-area": "east", "hotel-pricerange": DONTCARE}


@pytest.mark.parametrize(
    "correction",
    ["no, make it tuesday", "not monday, tuesday", "tuesday instead of monday", "Tuesday would be better than Monday."],
)
def test_a_correction_replaces_a_value(correction: str) -> None:
    state = follow(tracker(), talk("a hotel from monday", "A room from Monday. Is that right?", correction))
    assert state == {"hotel-book day": "tuesday"}


def test_letting_one_end_of_a_journey_go_drops_it() -> None:
    taxi = "a taxi leaving at 10:30", "Done. Anything else?", "never mind leaving at 10:30; I must arrive by 8 pm"
    assert follow(tracker(), talk(*taxi)) == {"taxi-arriveby": "20:00"}


def test_a_reference_takes_the_value_of_the_other_service() -> None:
    hotel = "a hotel in the west for 3 people", "Booked. Anything else?"
    near = follow(tracker(), talk(*hotel, "a restaurant in the same area for the same number of people"))
    assert (near["restaurant-area"], near["restaurant-book people"]) == ("west", "3")
    beside = follow(tracker(), talk(*hotel, "and a restaurant near the hotel"))
    assert beside["restaurant-area"] == "west"
    assert beside["hotel-area"] == "west"


def test_a_taxi_goes_between_places_that_were_named() -> None:
    state = follow(
        tracker(),
        talk(
            "a room at the Willow Court please",
            "Done. Anything else?",
            "a table at Painted Tile",
            "Done. Anything else?",
            "a taxi from the hotel to the restaurant",
        ),
    )
    assert state["taxi-departure"] == "Willow Court"
    assert state["taxi-destination"] == "Painted Tile"


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        ("Yes please, book it.", True),
        ("What is their phone number?", True),
        ("No, something else please.", False),
        ("Do you have a different one?", False),
    ],
)
def test_an_offered_name_is_taken_up_or_refused(answer: str, taken: bool) -> None:
    state = follow(tracker(), talk("a cheap hotel", "How about the Willow Court? It is cheap.", answer))
    assert state.get("hotel-name") == ("Willow Court" if taken else None)


def test_a_name_that_is_booked_has_to_be_agreed_to() -> None:
    tables = "an italian restaurant in the north please", "How about Copper Kettle? Shall I book it?"
    reminder = tracker(corpora.load("reminder:dev").schema)
    assert "tables-name" not in follow(reminder, talk(*tables, "What is the address?"))
    asked_back = "What is the address?", "It is at 5 Pond Close. Shall I book it?", "Yes please."
    assert follow(reminder, talk(*tables, *asked_back))["tables-name"] == "Copper Kettle"


def test_a_plain_yes_or_no_answers_a_yes_no_question() -> None:
    for answer, value in (("Yes, please.", "yes"), ("no thanks", "no")):
        assert follow(tracker(), talk("a hotel", "Do you need parking?", answer)) == {"hotel-parking": value}


def test_a_proposal_in_place_of_what_is_not_there_can_be_accepted() -> None:
    table = "a restaurant table at 19:00", "Sorry, there is nothing free at 19:00. Would 19:30 do?"
    assert follow(tracker(), talk(*table, "All right."))["restaurant-book time"] == "19:30"
    assert follow(tracker(), talk(*table, "No, thank you."))["restaurant-book time"] == "19:00"


TRAINED = [
    Dialogue("t", (Turn("", state={"hotel-name": (name,), "taxi-departure": (name,)}),))
    for name in ("acorn guest house", "acorn guest house", "the lensfield", "the lensfield", "cityroomz", "cityroomz")
]


@pytest.mark.parametrize("said", ["the Acorn", "acorn guesthouse", "Acorn Guest House", "acron guest house"])
def test_listed_names_are_found_however_they_are_written(said: str) -> None:
    state = follow(tracker(known=TRAINED), talk(f"a room at {said} please"))
    assert state["hotel-name"] == "acorn guest house"
    assert follow(tracker(known=TRAINED), talk("tell me about the hotel lensfield"))["hotel-name"] == "the lensfield"


def test_a_place_slot_takes_the_names_of_the_services_it_goes_to() -> None:
    known = [*TRAINED, *(Dialogue("u", (Turn("", state={"hotel-name": ("bridge lodge",)}),)) for _ in range(2))]
    assert follow(tracker(known=known), talk("a taxi from bridge lodge"))["taxi-departure"] == "bridge lodge"


def test_sgd_values_stay_as_they_were_said() -> None:
    slots = (Slot("leaving_time", "Time of bus leaving"), Slot("travelers", "Number of travelers", True, ("1", "2")))
    both = Schema((Service("Buses_1", "Book bus journeys", slots), Service("Buses_2", "Book bus journeys", slots)))
    dialogue = msgspec.structs.replace(talk("a bus at 5:30 pm for two people"), services=("Buses_2",))
    state = follow(tracker(both), dialogue)
    assert state == {"Buses_2-leaving_time": "5:30 pm", "Buses_2-travelers": "2"}


@given(st.lists(st.text(max_size=60), min_size=1, max_size=7).filter(lambda texts: len(texts) % 2 == 1))
def test_any_words_make_a_state_of_the_schema(texts: list[str]) -> None:
    state = follow(_MADE, talk(*texts))
    assert set(state) <= set(PLACES.slots)
    assert all(isinstance(value, str) and value for value in state.values())


_MADE = tracker()
_WORDS = """
the a hotel taxi from to at not no yes any 3 5:15 pm people nights star north cheap , . ? me it same area friday book
instead of rather than How about Willow Court n't do or between there 12 and half past seven
"""
_PIECES = st.sampled_from(_WORDS.split())


@given(st.lists(st.lists(_PIECES, max_size=12).map(" ".join), min_size=3, max_size=3))
def test_an_answer_depends_on_nothing_but_its_context(texts: list[str]) -> None:
    alone = follow(tracker(), talk(*texts))
    assert follow(_MADE, talk(*texts)) == alone
    assert follow(_MADE, talk(*texts)) == alone


def test_the_example_of_the_page_is_true() -> None:
    page = DOCS / "trackers/rules.md"
    name, *shown = page.read_text(encoding="utf-8").split("```")[1].strip().splitlines()
    corpus = corpora.load("reminder:dev")
    made, state = tracker(corpus.schema), State()
    dialogue = next(dialogue for dialogue in corpus if dialogue.id == name)
    lines = []
    for number, turn in enumerate(dialogue.turns):
        after = answer(made, dialogue, number, state).state
        changes = [f"{slot}={value}" for slot, value in after.items() if state.get(slot) != value]
        changes += [f"{slot} dropped" for slot in state if slot not in after]
        lines += [f"system: {turn.system}"] if turn.system else []
        lines += [f"user:   {turn.user}", *([f"    -> {', '.join(changes)}"] if changes else [])]
        state = after
    assert lines == shown


INTENDED = Schema(
    (
        Service(
            "tables",
            "Find a restaurant and book a table",
            (Slot("area", "", True, AREAS), Slot("name"), Slot("time"), Slot("phone")),
            (Intent("find_restaurant", optional={"area": ""}), Intent("book_table", "", True, ("name", "time"))),
        ),
        Service("taxi", "Book a taxi", (Slot("destination"),), (Intent("order_taxi", "", True, ("destination",)),)),
    )
)


@pytest.mark.parametrize(
    ("said", "intent"),
    [
        (["a restaurant in the north"], "find_restaurant"),
        (["a table at the Ruby Thistle"], "book_table"),
        (["a restaurant in the north", "There is the Ruby Thistle.", "great, that one"], "book_table"),
        (["a taxi to the Old Mill"], "order_taxi"),
        (["a restaurant in the north", "Any time?", "at 19:00. and then a taxi to the Old Mill"], "order_taxi"),
    ],
)
def test_the_intent_is_that_of_the_service_spoken_of(said: list[str], intent: str) -> None:
    made, dialogue, state = tracker(INTENDED), talk(*said), State()
    for turn in range(len(dialogue.turns)):
        found = answer(made, dialogue, turn, state)
        state = found.state
    assert (found.intent, found.ood) == (intent, False)


@pytest.mark.parametrize(
    ("words", "foreign"),
    [
        ("do you know a remedy for hiccups?", True),
        ("the stairs creak all night.", True),
        ("the north", False),  # a value
        ("what's their phone number?", False),  # a fact
        ("what about the restaurant?", False),  # a service
        ("yes, go ahead", False),
        ("no, thank you, bye", False),
        ("I don't mind", False),
        ("...", False),
    ],
)
def test_what_gives_no_evidence_is_out_of_domain(words: str, foreign: bool) -> None:
    dialogue = talk("a restaurant in the north", "There is the Ruby Thistle. Shall I book it?", words)
    found = answer(tracker(INTENDED), dialogue, 1, {"tables-area": "north"})
    assert found.ood is foreign and bool(found.intent) is not foreign


def test_labels_are_not_looked_at() -> None:
    corpus = corpora.load("reminder:dev")
    made = tracker(corpus.schema)
    for dialogue in list(corpus)[:20]:
        bare = Dialogue(dialogue.id, tuple(Turn(turn.user, turn.system) for turn in dialogue.turns))
        assert follow(made, dialogue) == follow(made, bare)


def test_it_can_be_sent_to_a_worker_and_knows_itself() -> None:
    made = pickle.loads(pickle.dumps(create("rules(train=reminder:train)")))
    assert (made.train, made.spec) == ("reminder:train", "rules(train=reminder:train)")
    assert made.fingerprint() == create("rules(train=reminder:train)").fingerprint()
    assert made.fingerprint() != create("rules").fingerprint()


def jga(corpus: Corpus, train: str | None, convention: str) -> float:
    made = Rules(train)
    made.prepare(Resources(corpus.schema, corpus, corpora.load, Path()))
    answers: list[Prediction] = []
    for dialogue in corpus:
        state: Mapping[str, str] = {}
        for turn in range(len(dialogue.turns)):
            answers.append(answer(made, dialogue, turn, state))
            state = answers[-1].state
    return score(answers, corpus, convention=convention)["jga"].value


@pytest.mark.slow
@pytest.mark.parametrize("train", [None, "reminder:train"])
def test_reminder_is_neither_hopeless_nor_solved(train: str | None) -> None:
    """The embedded corpus has to be hard enough that trackers differ on it."""
    assert 0.45 < jga(corpora.load("reminder:test"), train, "exact") < 0.85


def test_the_floor_on_multiwoz(shared: Path) -> None:
    """The issue asks for 15 %; a change that loses points of what the page says should be seen."""
    folder = shared / "data/multiwoz21-trade"
    assert jga(corpora.load(f"{folder}:test"), f"{folder}:train", "trade") > 0.41


def test_the_floor_on_multiwoz_from_the_schema_alone(shared: Path) -> None:
    assert jga(corpora.load(f"{shared / 'data/multiwoz21-trade'}:test"), None, "trade") > 0.25
