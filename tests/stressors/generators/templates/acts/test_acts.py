"""Templates where turns have acts: what they learn, and what they say in the place of a turn."""

from __future__ import annotations

from dstress.dialogue import Turn
from dstress.stressors.generators.base import Goal
from dstress.stressors.generators.templates.acts.turns import has_acts, shape_of
from tests.stressors.generators.templates.acts.tables import ASKED, OFFERED, USUAL, dialogues, generator, said, turn
from tests.stressors.samples import sample

KNOWN = generator(dialogues(*USUAL))
OPENING = turn("I would like a table.", "INFORM_INTENT intent=BookTable")
ASKING = turn("York.", **ASKED)


def test_words_of_training_that_do_the_same_say_the_new_values_with_capitals() -> None:
    goal = {"Tables_1-guests": "4", "Tables_1-date": "May 9th"}
    assert said(KNOWN, goal, OPENING) == ["I need a table for 4 people on May 9th."]


def test_a_value_stands_only_where_one_of_its_kind_stood() -> None:
    assert said(KNOWN, {"Tables_1-guests": "1"}, OPENING) == ["I need a table for 1 person."]
    assert said(KNOWN, {"Tables_1-guests": "3"}, OPENING) == []
    shapes = ["one", "number", "month and day", "day of month", "day", "clock", "near day", "near day", "name"]
    values = ["one", "3", "March 3rd", "3rd of March", "the 3rd", "5:30 pm", "tomorrow", "next Monday", "Olive Press"]
    assert [shape_of(value) for value in values] == shapes


def test_what_no_template_says_whole_is_said_in_a_further_sentence() -> None:
    goal = {"Tables_1-city": "York", "Tables_1-date": "May 9th"}
    assert "I want it in York. I want it for May 9th." not in said(KNOWN, goal, ASKING), "they begin alike"
    assert "York, please. I want it for May 9th." in said(KNOWN, goal, ASKING)


def test_a_fragment_only_answers_its_question() -> None:
    goal = {"Tables_1-city": "York"}
    assert "York, please." in said(KNOWN, goal, ASKING)
    told = turn("Somewhere in York.", system="There is a table.", wants=("OFFER name=Olive Press",))
    assert said(KNOWN, goal, told) == ["I want it in York."]


def test_a_yes_answers_only_what_it_answered() -> None:
    goal = {"Tables_1-guests": "3"}
    assert said(KNOWN, goal, turn("Yes, for 2.", "AFFIRM_INTENT", **OFFERED)) == ["Yes, for 3 people."]
    confirming = turn("Yes.", "AFFIRM_INTENT", system="Is that right?", wants=("CONFIRM city=Leeds",))
    assert said(KNOWN, goal, confirming) == []


def test_a_flag_is_said_as_training_says_it_or_not_at_all() -> None:
    terrace = "Tables_1-terrace"
    assert said(KNOWN, {"Tables_1-city": "York", terrace: "True"}, ASKING)[0].endswith("I want a table on the terrace.")
    assert said(KNOWN, {"Tables_1-city": "York", terrace: "False"}, ASKING) == []


def test_an_unsaid_value_stays_only_where_the_user_takes_it_up() -> None:
    goal, unspoken = {"Tables_1-guests": "1"}, {"Tables_1-city": "Leeds"}
    assert said(KNOWN, goal, OPENING, unspoken) == []
    offered = {"system": "How about Olive Press in Leeds?", "wants": ("OFFER city=Leeds",)}
    taking = turn("Good, a table for me.", "SELECT", "INFORM_INTENT intent=BookTable", **offered)
    assert said(KNOWN, goal, taking, unspoken) == ["That sounds good. I need a table for 1 person."]


def test_who_takes_an_offer_has_no_further_wishes() -> None:
    taking = turn("That works.", "SELECT", system="How about Olive Press?", wants=("OFFER name=Olive Press",))
    assert said(KNOWN, {"Tables_1-city": "York"}, taking) == []


def test_slips_and_names_numbers_and_rare_words_outside_values_teach_nothing() -> None:
    slips = ("I want it in [city:Leeds] near Kew.", "I want it in [city:Leeds] for 3.", "i want it in [city:Leeds].")
    plural = turn("I want it for [guests:1] people.", system="For how many?", wants=("REQUEST guests",))
    rare = turn("I want it in merry [city:Leeds].", **ASKED)
    train = dialogues(*(turn(slip, **ASKED) for slip in slips), plural, *USUAL[:1], USUAL[5]) + dialogues(rare, times=1)
    made = generator(train)
    assert said(made, {"Tables_1-city": "York"}, ASKING) == []
    assert said(made, {"Tables_1-guests": "1"}, plural) == []


def test_a_bare_wish_only_answers_its_question() -> None:
    many = {"system": "How many?", "wants": ("REQUEST guests",)}
    asking = turn("For [guests:4].", **many)
    for wish in ("I want {}.", "Get me {} please.", "Get {}, please."):
        made = generator(dialogues(*USUAL, turn(wish.format("[guests:2]"), **many)))
        assert said(made, {"Tables_1-guests": "3"}, asking) == [wish.format(3)]
        assert said(made, {"Tables_1-city": "York", "Tables_1-guests": "3"}, ASKING) == []


def test_nothing_is_asked_for_twice() -> None:
    again = turn("Please book a table for [date:March 5th].", system="When?", wants=("REQUEST date",))
    opening = turn("Please book me a table.", "INFORM_INTENT intent=BookTable")
    other = turn("I need it for [date:March 5th].", system="When?", wants=("REQUEST date",))
    made = generator(dialogues(*USUAL[2:4], USUAL[5], again, opening, other))
    assert said(made, {"Tables_1-date": "May 9th"}, OPENING) == ["Please book me a table. I need it for May 9th."]


def test_words_about_the_value_of_another_slot_teach_nothing() -> None:
    made = generator(dialogues(*USUAL[:1], USUAL[5], turn("I want the city for [date:March 5th].", system="When?")))
    assert said(made, {"Tables_1-date": "May 9th"}, turn("On [date:May 3rd].", system="When?")) == []


def test_a_value_with_a_noun_of_its_own_stands_before_no_other() -> None:
    made = generator(dialogues(*USUAL[:1], USUAL[5], turn("I want a [city:Leeds] table.", **ASKED)))
    assert said(made, {"Tables_1-city": "York"}, ASKING) == ["I want a York table."]
    assert said(made, {"Tables_1-city": "Love Story"}, ASKING) == []


def test_who_asks_for_another_does_not_speak_of_it() -> None:
    offered = {"system": "How about Olive Press?", "wants": ("OFFER name=Olive Press",)}
    asking = [
        turn(f"What else is there? {each}", "REQUEST_ALTS", **offered)
        for each in ("It's on [date:March 5th].", "I need a table on [date:March 5th].")
    ]
    made = generator(dialogues(*USUAL[:1], USUAL[5], *asking))
    assert said(made, {"Tables_1-date": "May 9th"}, asking[0]) == ["What else is there? I need a table on May 9th."]


def test_a_direction_that_is_another_slots_is_a_wrong_label() -> None:
    right = [turn("I want to go from [city:Leeds].", **ASKED)] * 9
    wrong = turn("I want to go from [date:May 2nd].", system="When?", wants=("REQUEST date",))
    made = generator(dialogues(*right, wrong, *USUAL))
    assert "I want to go from York." in said(made, {"Tables_1-city": "York"}, ASKING)
    assert said(made, {"Tables_1-date": "May 9th"}, wrong) == ["I want it for May 9th."]


HUT = {"name": "Huts_1", "system": "Which peak?", "wants": ("REQUEST peak",)}
CLIMBING = turn("Scafell.", **HUT)


def test_a_service_that_training_lacks_is_spoken_of_as_in_other_dialogues_of_the_corpus() -> None:
    own = dialogues(turn("I want to climb [peak:Snowdon].", **HUT), name="test")
    assert said(generator(dialogues(*USUAL), own), {"Huts_1-peak": "Cairn Gorm"}, CLIMBING) == [
        "I want to climb Cairn Gorm."
    ]


def test_no_dialogue_gets_its_own_words_back() -> None:
    words = [turn(f"I want to climb {way}[peak:Snowdon].", **HUT) for way in ("", "up ")]
    often = dialogues(*(turn(f"I want to climb up [peak:Snowdon] {at}.", **HUT) for at in range(6)), times=1)
    own = [*often, *dialogues(*words, times=1, name="test")]
    made = generator(dialogues(*USUAL), own)
    goal = {"Huts_1-peak": "Cairn Gorm"}
    assert said(made, goal, CLIMBING, dialogue="test-0-0") == ["I want to climb up Cairn Gorm."]
    assert said(made, goal, CLIMBING, dialogue="test-1-0") == ["I want to climb Cairn Gorm."]


def test_a_slot_of_the_same_name_lends_what_is_not_about_its_own_service() -> None:
    about = turn("I want a table in [city:Leeds].", **ASKED)
    made = generator(dialogues(*USUAL, about, times=24))
    there = turn("In Leeds.", name="Huts_1", system="In which city?", wants=("REQUEST city",))
    assert said(made, {"Huts_1-city": "York"}, there) == ["I want it in York."]


def test_candidates_depend_on_nothing_but_the_request() -> None:
    goal = {"Tables_1-city": "York", "Tables_1-date": "May 9th"}
    first = said(generator(dialogues(*USUAL)), goal, ASKING)
    assert first == said(KNOWN, goal, ASKING)
    assert KNOWN.generate("", Goal({}), 3) == []


def test_only_acts_that_tell_of_intents_are_learned_from() -> None:
    assert has_acts(dialogues(*USUAL))
    assert not has_acts(dialogues(USUAL[2]))
    assert not has_acts(dialogues(Turn("I want it in Leeds.")))
    assert not has_acts(sample("reminder", None, 40)), "its users never agree to an intent"
