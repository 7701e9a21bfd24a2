from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import islice, permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import reminder
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, State, Turn
from dstress.resources import Resources
from dstress.stressors.generators import generators
from dstress.stressors.generators.base import Goal
from dstress.stressors.generators.goals import own_goal
from dstress.stressors.generators.matching import find_oversaid, find_unsaid
from dstress.stressors.generators.templates.composition import Composer
from dstress.stressors.generators.templates.delexical import Delexicalised
from dstress.stressors.generators.templates.generator import Templates, write_sentence
from dstress.stressors.generators.templates.library import Library
from dstress.stressors.generators.templates.selection import Vocabulary
from dstress.stressors.generators.templates.system_acts import ActTagger, SystemAct
from dstress.stressors.values.dictionary import shipped
from dstress.text.mentions import find_value
from dstress.text.utterance import Utterance
from dstress.text.writing_style import WritingStyle
from tests.paths import DOCS
from tests.stressors.samples import in_memory, sample

PAGES = DOCS / "stressors"
EXAMPLE = re.compile(r"^templates \| (.*)\n  goal (.*)\n  \+ (.*)$", re.MULTILINE)

EXAMPLES = """
templates | (the start)
  goal rooms-area=north, rooms-price=cheap, rooms-guests=4
  + Hello, can you find me a hotel on the north side of town for 4 people? It should be affordable.
templates | What is the pick-up address? For which day?
  goal taxi-departure=law courts, taxi-day=friday
  + From the law courts, on Friday.
templates | Done: Midnight in Marrow Lane on 28 June. Your reference is 232J7. Anything else I can do for you?
  goal trips-origin=Hartlebridge, trips-destination=Eastwick Bay, trips-tickets=1
  + Thanks a lot. Can you find me a trip from Hartlebridge to Eastwick Bay for 1?
"""


def prepared(train: Corpus, corpus: Corpus) -> Templates:
    made = Templates()
    made.prepare(Resources(corpus.schema, corpus, load, Path()), train)
    return made


@cache
def generator_of_reminder() -> Templates:
    train = in_memory(list(reminder.generate("train")), reminder.schema("train"), "reminder")
    return prepared(train, sample("reminder", None))


@cache
def requests(dialogues: int = 120) -> list[tuple[str, Goal]]:
    """What users of `reminder` want to say, and what they answer to."""
    corpus = sample("reminder", None, dialogues)
    utterances = [
        Utterance(dialogue, at, corpus.schema, ()) for dialogue in corpus for at in range(len(dialogue.turns))
    ]
    changing = [utterance for utterance in utterances if utterance.turn.state != utterance.before]
    goals = [(utterance.turn.system, own_goal(utterance)) for utterance in changing]
    return [(system, goal) for system, goal in goals if goal.spoken]


def test_it_is_the_generator_of_that_name() -> None:
    assert isinstance(generators.create("templates"), Templates)


# Laws


@pytest.mark.slow
def test_every_candidate_says_the_goal_and_no_more() -> None:
    silent = 0
    for system, goal in requests():
        candidates = generator_of_reminder().generate(system, goal, 4)
        silent += not candidates
        for text, _ in candidates:
            assert all(find_value(text, slot, (value,)) for slot, value in goal.spoken.items()), (text, goal)
            assert not find_unsaid(text, goal) and not find_oversaid(text, goal), (text, goal)
    assert silent == 0


def test_candidates_differ_are_ranked_and_have_no_placeholder_left() -> None:
    for system, goal in requests():
        candidates = generator_of_reminder().generate(system, goal, 4)
        texts, scores = [text for text, _ in candidates], [score for _, score in candidates]
        assert len(set(texts)) == len(texts) <= 4
        assert scores == sorted(scores, reverse=True)
        assert not any(set(text) & set("[]{}<>_") for text in texts)


def test_most_goals_have_several_wordings() -> None:
    assert sum(len(generator_of_reminder().generate(system, goal, 3)) == 3 for system, goal in requests()) > 0.75 * len(
        requests()
    )


@pytest.mark.slow
@given(st.permutations(range(12)))
def test_what_was_asked_before_makes_no_difference(order: list[int]) -> None:
    fresh = pickle.loads(pickle.dumps(generator_of_reminder()))
    for number in order:
        system, goal = requests()[number]
        turned = Goal(dict(reversed(list(goal.spoken.items()))), goal.unspoken)
        assert fresh.generate(system, turned, 3) == generator_of_reminder().generate(system, goal, 3)


def test_it_survives_pickling_and_is_small() -> None:
    frozen = pickle.dumps(generator_of_reminder())
    assert len(frozen) < 1_000_000
    system, goal = requests()[0]
    assert pickle.loads(frozen).generate(system, goal, 3) == generator_of_reminder().generate(system, goal, 3)


@pytest.mark.slow
def test_hash_seeds_make_no_difference() -> None:
    program = (
        "from tests.stressors.generators.templates.test_generator import small\n"
        "from dstress.stressors.generators.base import Goal\n"
        "goal = Goal({'hotel-area': 'west', 'hotel-book people': '3', 'hotel-parking': 'yes'})\n"
        "print(small().generate('', goal, 9), small().generate('what area would you like ?', goal, 9))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": "", "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1 and b"west" in outputs.pop()


def test_the_order_of_a_set_makes_no_difference_to_a_score() -> None:
    places = {"hotel-area": 0.1, "hotel-stars": 0.2, "hotel-name": 0.3}
    composer = Composer(Library({}, {}, {}, {}, places), {}, {})
    assert len({composer._delay(frozenset(("taxi-day",)), order) for order in permutations(places)}) == 1


# How a user would answer


def test_only_openings_greet_and_no_opening_agrees() -> None:
    for system, goal in requests():
        for text, _ in generator_of_reminder().generate(system, goal, 3):
            words = text.lower().replace(",", "").split()
            assert not (system and words[0] in ("hi", "hello", "hey")), (system, text)
            assert not (not system and words[0] in ("yes", "no", "thanks", "great")), text


def test_a_number_that_nobody_asked_for_says_what_it_counts() -> None:
    for text, _ in generator_of_reminder().generate("Which day will you arrive?", Goal({"rooms-nights": "7"}), 3):
        assert "night" in text or "stay" in text, text


def test_different_questions_get_different_words() -> None:
    systems = [f"You are booked in, reference {number}. Anything else I can do for you?" for number in range(20)]
    goal = Goal({"rooms-area": "north", "rooms-day": "monday", "rooms-guests": "2"})
    assert len({generator_of_reminder().generate(system, goal, 1)[0].text for system in systems}) > 2


def all_examples() -> Iterator[tuple[str, str, str]]:
    yield from EXAMPLE.findall(EXAMPLES)
    for page in sorted(PAGES.glob("*.md")):
        yield from EXAMPLE.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("system", "wanted", "text"), dict.fromkeys(all_examples()))
def test_the_examples_are_true(system: str, wanted: str, text: str) -> None:
    goal = Goal(dict(pair.split("=") for pair in wanted.split(", ")))
    assert generator_of_reminder().generate("" if system == "(the start)" else system, goal, 1)[0].text == text


# A small corpus, in the writing of TRADE

HOTELS = Schema(
    (
        Service(
            "hotel",
            slots=tuple(map(Slot, ("area", "pricerange", "book people", "book stay", "parking", "name", "type"))),
        ),
        Service("restaurant", slots=tuple(map(Slot, ("area", "pricerange", "food", "book people")))),
    )
)
AREAS, PRICES, FOODS = ("north", "south", "east"), ("cheap", "expensive"), ("thai", "greek", "french")


def one_turn(user: str, state: State, system: str = "", before: State | None = None) -> Dialogue:
    before = before or {}
    return Dialogue(user, (Turn("hello .", state=before), Turn(user, system, before | state)))


def opened(user: str, state: State) -> Dialogue:
    return Dialogue(user, (Turn(user, "", state),))


def training_dialogues() -> list[Dialogue]:
    dialogues = []
    for at, area in enumerate(AREAS * 4):
        price, people, food = PRICES[at % 2], str(2 + at % 5), FOODS[at % 3]
        dialogues += [
            opened(f"i am looking for a place to stay in the {area} .", {"hotel-area": (area,)}),
            opened(f"i need a {price} place to stay .", {"hotel-pricerange": (price,)}),
            opened(
                f"i am looking for a {food} restaurant in the {area} .",
                {"restaurant-food": (food,), "restaurant-area": (area,)},
            ),
            one_turn(
                f"yes , please book it for {people} people .",
                {"hotel-book people": (people,)},
                "the ashley is nice . would you like to book a room ?",
            ),
            one_turn(f"in the {area} please .", {"hotel-area": (area,)}, "what area would you like ?"),
            opened(
                f"i need a {price} place to stay . it should have free parking . please book it for {people} people .",
                {"hotel-pricerange": (price,), "hotel-parking": ("yes",), "hotel-book people": (people,)},
            ),
            opened(f"i need a place to stay for {people} nights .", {"hotel-book stay": (people,)}),
            opened(
                f"i need a place to stay in the {area} for {people} nights .",
                {"hotel-area": (area,), "hotel-book stay": (people,)},
            ),
        ]
    return dialogues


def small(more: tuple[Dialogue, ...] = (), schema: Schema = HOTELS) -> Templates:
    train = in_memory([*training_dialogues(), *more], schema)
    return prepared(train, train)


def first(generator: Templates, system: str, **values: str) -> str:
    goal = Goal({slot.replace("__", "-").replace("_", " "): value for slot, value in values.items()})
    return generator.generate(system, goal, 1)[0].text


def test_a_whole_template_is_filled() -> None:
    text = first(small(), "", hotel__area="west")
    assert text == "i am looking for a place to stay in the west ."


OFFER = "the ashley is nice . would you like to book a room ?"


def test_who_wants_something_else_than_is_offered_says_no_to_it() -> None:
    goal = Goal({"hotel-pricerange": "cheap", "hotel-book people": "31"}, may_decline=True)
    for text, _ in small().generate(OFFER, goal, 5):
        assert text.startswith("no , ") and text.index("cheap") < text.index("31")
    assert not any(text.startswith("no") for text, _ in small().generate("which price range ?", goal, 5))
    heard = "the ashley is cheap . would you like to book a room ?"
    assert not any(text.startswith("no") for text, _ in small().generate(heard, goal, 5))
    own = goal._replace(may_decline=False)
    assert not any(text.startswith("no") for text, _ in small().generate(OFFER, own, 5))
    act = SystemAct("book", noun="hotel", is_plain=True, offers=True)
    turned = small()._composer.compose(frozenset({"restaurant-food", "restaurant-area"}), act, ())
    assert turned and all(phrasing.tokens[:4] == ("no", "thank", "you", ".") for phrasing in turned)


def test_a_booking_is_not_hung_on_what_describes() -> None:
    for text, _ in small().generate(OFFER, Goal({"hotel-area": "west", "hotel-book people": "31"}), 10):
        assert "it for 31 people in the west" not in text and "something in the west for 31" not in text


def test_words_that_are_said_of_other_services_are_foreign_to_one() -> None:
    train = Delexicalised(("i", "want", "to", "leave", "on", "[train-day]", "."))
    table = Delexicalised(("i", "want", "a", "table", "on", "[restaurant-book day]", "."))
    slip = Delexicalised(("i", "leave", "on", "[restaurant-book day]", "."))
    foreign = Vocabulary.of([train] * 200 + [table] * 200 + [slip]).foreign
    assert "leave" in foreign["restaurant"] and "leave" not in foreign["train"]
    assert "want" not in foreign["restaurant"] and "table" in foreign["train"]


def test_slots_never_said_together_are_composed() -> None:
    texts = small().generate("", Goal({"hotel-area": "west", "hotel-book people": "31", "hotel-parking": "yes"}), 5)
    assert texts
    for text, _ in texts:
        assert "stay in the west" in text and "31 people" in text and "parking" in text
        assert text.index("west") < text.index("31")
        assert not text.startswith("yes")


def test_a_phrase_is_added_to_a_request() -> None:
    texts = small().generate("", Goal({"hotel-pricerange": "cheap", "hotel-book stay": "4"}), 5)
    assert "i need a cheap place to stay for 4 nights ." in [text for text, _ in texts]


def test_yes_answers_only_an_offer() -> None:
    goal = {"hotel__book_people": "5"}
    assert first(small(), "the ashley is nice . would you like to book a room ?", **goal).startswith("yes ,")
    assert not first(small(), "", **goal).startswith("yes")
    assert not first(small(), "how many nights would you like to stay ?", **goal).startswith("yes")


def test_a_bare_answer_needs_its_question() -> None:
    assert first(small(), "what area would you like ?", hotel__area="west") == "in the west please ."
    assert first(small(), "", hotel__area="west") != "in the west please ."


def test_the_answer_comes_first() -> None:
    text = first(small(), "what area would you like ?", hotel__pricerange="cheap", hotel__area="west")
    assert text.startswith("in the west please . ") and "cheap" in text
    text = first(small(), "", hotel__pricerange="cheap", hotel__area="west")
    assert not text.startswith("in the west")


def test_nouns_agree_with_one() -> None:
    generator = small()
    assert "for 1 night ." in first(generator, "", hotel__area="west", hotel__book_stay="1")
    assert "for 1 person ." in first(generator, "would you like to book a room ?", hotel__book_people="1")


def test_articles_agree_with_the_value() -> None:
    assert "an italian restaurant" in first(small(), "", restaurant__food="italian", restaurant__area="west")
    assert "an expensive place" in first(small(), "", hotel__pricerange="expensive")


@pytest.mark.parametrize(
    "user",
    [
        "i am looking for a place to stay in the north , not the same as before .",
        "i am looking for a place to stay in the north for 3 of us .",
        "actually i want to stay in the north instead .",
        "i would like to stay in the north , near a thai restaurant .",
        "i wanna styay in the north pleese .",
        "does it have rooms in the north ?",
        "i want to stay in the north and it should have free parking .",
        "any is fine , i would like to stay in the north .",
        "i would like to stay in the north , as long as you have a room .",
    ],
)
def test_what_says_more_than_its_label_teaches_nothing(user: str) -> None:
    more = tuple(opened(user.replace("north", area), {"hotel-area": (area,)}) for area in AREAS)
    taught = small(more if "pleese" not in user else more[:1])
    goal = Goal({"hotel-area": "west"})
    texts, others = ({text for text, _ in each.generate("", goal, 50)} for each in (taught, small()))
    assert texts == others


def test_a_label_that_nothing_explains_teaches_nothing() -> None:
    odd = [
        opened(f"it would be lovely to stay in the {area} .", {"hotel-area": (area,), "hotel-name": ("x",)})
        for area in AREAS
    ]
    texts = [text for text, _ in small(tuple(odd)).generate("", Goal({"hotel-area": "west"}), 50)]
    assert not any("lovely" in text for text in texts)


def test_taken_slots_choose_words_that_take_up_an_offer() -> None:
    offer = "the ashley is a fine place . shall i book it ?"
    taking = [
        one_turn(
            f"that sounds good . please book it for {number} people .",
            {"hotel-book people": (number,), "hotel-name": ("ashley",)},
            offer,
        )
        for number in ("3", "4", "6", "7")
    ]
    generator = small(tuple(taking))
    goal = Goal({"hotel-book people": "5"}, {"hotel-name": "ashley"})
    assert generator.generate(offer, goal, 1)[0].text == "that sounds good . please book it for 5 people ."


def taught(*sentences: tuple[str, str]) -> Templates:
    """What each sentence teaches, with the slot of its value in brackets; all of them with several values."""
    values = {"hotel-name": ("ashley", "ritz", "hilton"), "hotel-area": AREAS, "hotel-book people": ("3", "4", "6")}
    more = []
    for at in range(3):
        for user, system in sentences:
            state: State = {slot: (of_slot[at],) for slot, of_slot in values.items() if f"[{slot}]" in user}
            for slot, forms in state.items():
                user = user.replace(f"[{slot}]", forms[0])
            more += [one_turn(user, state, system)] * 4
    return small(tuple(more))


NAMED = ("i am looking for a place called [hotel-name] .", "")


def test_who_gives_a_name_looks_for_nothing_else() -> None:
    vague = ("i need a place for [hotel-book people] people . i would like something in the [hotel-area] .", "")
    any_ = ("are there any in the [hotel-area] ?", "i am sorry , there are no such places . another one ?")
    generator, goal = taught(NAMED, vague, any_), Goal({"hotel-name": "hyatt", "hotel-area": "west"})
    texts = [text for system in ("", any_[1]) for text, _ in generator.generate(system, goal, 30)]
    assert texts and not any(" any " in text or "something" in text.partition("hyatt")[2] for text in texts)
    assert any(
        "something" in text
        for text, _ in generator.generate("", Goal({"hotel-area": "west", "hotel-book people": "5"}), 30)
    )


def test_no_booking_is_hung_on_a_name_that_is_looked_for() -> None:
    stays = [(f"i need {noun} for [hotel-book people] people .", "") for noun in ("a room", "a bed", "a hotel")]
    texts = taught(NAMED, *stays).generate("", Goal({"hotel-name": "hyatt", "hotel-book people": "5"}), 30)
    assert texts and not any("hyatt for 5" in text for text, _ in texts)


def test_a_number_of_people_says_what_it_is_for() -> None:
    asked = "would you like to book a room ?"
    generator = taught(("yes , i would like it for [hotel-book people] .", asked), NAMED)
    texts = generator.generate(asked, Goal({"hotel-book people": "5"}), 30)
    assert texts and not any("it for 5 ." in text for text, _ in texts)


def test_a_kind_that_is_a_noun_stands_before_no_other() -> None:
    schema = Schema((Service("attraction", slots=(Slot("type"),)),))
    train = [
        opened(f"i am looking for a {kind}{noun} .", {"attraction-type": (kind,)})
        for kind in ("museum", "college", "park")
        for noun in (" attraction", "")
        for _ in range(5)
    ]
    made = prepared(in_memory(train, schema), in_memory(train, schema))
    texts = [text for text, _ in made.generate("", Goal({"attraction-type": "zoo"}), 10)]
    assert "i am looking for a zoo ." in texts and not any("zoo attraction" in text for text in texts)


def test_who_turns_from_a_question_to_something_else_says_nothing() -> None:
    asked = "which kind of dish shall our cook bring your guests for dinner at this restaurant ?"
    turns = [
        one_turn(f"{food} please .", {"restaurant-food": (food,)}, asked, {"restaurant-area": ("north",)})
        for food in FOODS * 8
    ]
    turns += [
        one_turn(f"the {area} .", {"hotel-area": (area,)}, "where is the hotel ?", {"hotel-parking": ("yes",)})
        for area in AREAS * 8
    ]
    generator, goal = small(tuple(turns)), Goal({"hotel-area": "west"})
    assert generator.generate(asked, goal, 5), "a user who said so in the corpus"
    assert not generator.generate(asked, goal._replace(may_decline=True), 5)


def test_the_service_is_not_spoken_of_as_if_it_were_known() -> None:
    asked = "when shall it come ?"
    schema = Schema((Service("taxi", slots=(Slot("leaveat"),)),))
    train = [
        one_turn(user.format(time), {"taxi-leaveat": (time,)}, system)
        for time in ("10:15", "11:30", "12:45")
        for user, system in (("i want the taxi at {} .", asked), ("i need a taxi at {} .", ""))
        for _ in range(4)
    ]
    made = prepared(in_memory(train, schema), in_memory(train, schema))
    goal = Goal({"taxi-leaveat": "09:00"})
    assert "i want the taxi at 09:00 ." in [text for text, _ in made.generate(asked, goal, 9)]
    more = [text for text, _ in made.generate("is there anything else ?", goal, 9)]
    assert more and "i want the taxi at 09:00 ." not in more


def test_services_of_one_goal_are_said_one_after_the_other() -> None:
    text = first(small(), "", hotel__area="west", restaurant__food="thai", restaurant__area="east")
    assert re.search(r"stay in the west \. .*thai restaurant in the east \.$", text)


# Slots that training does not have

LIKE = Schema(
    (
        *HOTELS.services,
        Service("hotel_2", slots=(Slot("area"), Slot("book stay"))),
        Service("spa", slots=(Slot("book stay"), Slot("sauna_type"), Slot("has_massage"), Slot("towel_number"))),
    )
)


def unseen(schema: Schema = LIKE) -> Templates:
    corpus = in_memory(training_dialogues(), schema)
    return prepared(in_memory(training_dialogues(), HOTELS), corpus)


def test_an_unseen_service_borrows_from_one_of_its_kind() -> None:
    text = unseen().generate("", Goal({"hotel_2-area": "west", "hotel_2-book stay": "3"}), 1)[0].text
    assert text == "i need a place to stay in the west for 3 nights ."


@pytest.mark.parametrize(
    ("slot", "value", "text"),
    [
        ("spa-sauna_type", "finnish", "i would like the sauna type to be finnish ."),
        ("spa-sauna_type", "dontcare", "any sauna type is fine ."),
        ("spa-has_massage", "True", "i would like massage ."),
        ("spa-has_massage", "no", "i do not need massage ."),
    ],
)
def test_an_unknown_slot_is_said_plainly(slot: str, value: str, text: str) -> None:
    assert unseen().generate("", Goal({slot: value}), 1)[0].text == text


def test_without_any_training_there_are_still_plain_words() -> None:
    nothing = in_memory([], HOTELS)
    texts = prepared(nothing, nothing).generate("", Goal({"hotel-area": "west", "hotel-book stay": "3"}), 3)
    assert texts and all("west" in text and "3 nights" in text for text, _ in texts)


def test_nothing_to_say_has_no_words() -> None:
    assert small().generate("", Goal({}), 3) == []
    assert small().generate("", Goal({}, {"hotel-area": "west"}), 3) == []
    assert small().generate("", Goal({"hotel-area": "west"}), 0) == []


def test_many_slots_can_be_said_at_once() -> None:
    dictionary = shipped("O")
    values = {slot: dictionary.pool(slot)[0] for slot in dictionary.slots if slot.startswith("hotel")}
    assert small().generate("", Goal(values), 2)


# Writing

LINE = "i need the places -s that s moderate -ly priced for monday , it s fine . i'll go ."


@pytest.mark.parametrize(
    ("style", "text"),
    [
        (WritingStyle(False, True, False, endings_apart=True), LINE),
        (
            WritingStyle(True, True, True, titled=True),
            "I need the places that 's moderately priced for Monday , it 's fine . I 'll go .",
        ),
        (
            WritingStyle(True, False, True, titled=True),
            "I need the places that's moderately priced for Monday, it's fine. I'll go.",
        ),
    ],
)
def test_a_text_is_written_as_the_corpus_writes(style: WritingStyle, text: str) -> None:
    line = LINE if style.endings_apart else LINE.replace("places -s", "place -s")
    assert write_sentence(line, style) == text


def test_small_letters_get_capitals_where_the_corpus_has_them() -> None:
    schema = Schema((Service("taxi", slots=(Slot("destination"),)),))
    train = [
        opened(f"i need a taxi to {place} .", {"taxi-destination": (place,)})
        for place in ("ely inn", "the ritz", "kings arms")
    ]
    shown = [opened("Take me to the Ritz, please. I'm late!", {"taxi-destination": ("the ritz",)})]
    generator = prepared(in_memory(train, schema), in_memory(shown, schema))
    text = generator.generate("", Goal({"taxi-destination": "grand hyatt"}), 1)[0].text
    assert text == "I need a taxi to Grand Hyatt."


# What the system does


def test_the_tagger_tells_what_the_system_does() -> None:
    turns = [(f"what {word} would you like ?", [f"hotel-{word}"], "") for word in ("area", "day")] * 9
    tagger = ActTagger.learn(turns)
    kinds = {
        "": "start",
        "what area would you like ?": "asks",
        "would you like me to book it ?": "book",
        "your table is booked . is there anything else ?": "more",
        "your table is booked . can i help you further ?": "more",
        "i am sorry , there are no such places . would you like another ?": "fails",
        "it is booked . your reference number is 1 .": "done",
        "it is in the north .": "tells",
        "please confirm : a table for 2 .": "confirm",
    }
    assert {system: tagger.tag(system).kind for system in kinds} == kinds
    assert tagger.tag("what area would you like ?").requested == {"area"}
    assert tagger.tag("what area would you like ?").kind_toward({"hotel-stars"}) == "besides"


# MultiWOZ


def test_rare_combinations_of_multiwoz_are_said(shared: Path) -> None:
    corpus = load(f"{shared / 'data' / 'multiwoz21-raw'}")
    dialogues = list(islice(iter(corpus), 250))
    generator = prepared(in_memory(dialogues, corpus.schema), in_memory(dialogues, corpus.schema))
    dictionary = shipped("O")
    for find_slot in ("restaurant-food", "restaurant-area", "restaurant-pricerange"):
        for book_slot in ("restaurant-book day", "restaurant-book people", "restaurant-book time"):
            goal = Goal({slot: dictionary.pool(slot)[0] for slot in (find_slot, book_slot)})
            texts = generator.generate("", goal, 3)
            assert texts and not any(find_unsaid(text, goal) for text, _ in texts)
