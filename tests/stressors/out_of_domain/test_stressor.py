from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import reminder
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, State, Turn
from dstress.errors import CorpusError, SpecError, UnknownNameError
from dstress.resources import Resources
from dstress.stressors import create
from dstress.stressors.out_of_domain.stressor import Domain, embedded_utterances, own_utterances
from dstress.text.mentions import find_value
from tests.paths import DOCS
from tests.strategies import dialogues
from tests.stressors.samples import in_memory, sample, undo

PAGE = DOCS / "stressors" / "out_of_domain.md"
SCHEMA = Schema((Service("train", "Trains between cities", slots=(Slot("destination"), Slot("people"))),))
SIMULATED = list(islice(reminder.generate("test"), 60))
KNOWN: State = {"train-destination": ("ely",)}
TRIP = Dialogue("t", (Turn("To Ely.", "", KNOWN), Turn("For 2.", "How many?", KNOWN | {"train-people": ("2",)})))


def nothing(name: str) -> Corpus:
    raise CorpusError(f"no corpus {name}")


def stressed(
    spec: str,
    said: list[Dialogue],
    schema: Schema = SCHEMA,
    load: Callable[[str], Corpus] = nothing,
    seed: int = 0,
) -> list[Dialogue]:
    stressor = create(spec)
    stressor.prepare(Resources(schema, said, load, Path()))
    return stressor.stress(said, seed)


def test_a_foreign_turn_leaves_the_state_before_it() -> None:
    turns = stressed("out_of_domain(rate=1)", [TRIP])[0].turns
    assert [turn.state for turn in turns] == [{}, KNOWN]
    assert all(turn.ood for turn in turns)
    assert all(turn.user in embedded_utterances(SCHEMA, turn.stress.tags[0]) for turn in turns if turn.stress)
    assert turns[0].remembered.state == KNOWN


def test_a_foreign_segment_leaves_words_and_state() -> None:
    seen = set()
    for seed in range(12):
        turn = stressed("out_of_domain(rate=1, mode=segment)", [TRIP], seed=seed)[0].turns[1]
        assert "For 2." in turn.user
        assert turn.state == TRIP.turns[1].state
        assert not turn.ood
        seen.add(turn.user.startswith("For 2."))
    assert seen == {True, False}


def test_a_segment_after_unfinished_words_begins_a_new_sentence() -> None:
    said = [Dialogue("t", (Turn("to ely please ! two", "", KNOWN),))]
    texts = {stressed("out_of_domain(rate=1, mode=segment)", said, seed=seed)[0].turns[0].user for seed in range(12)}
    assert any(text.startswith("to ely please ! two . ") for text in texts)


def test_the_effect_follows_the_mode() -> None:
    assert create("out_of_domain").effect == "directional"
    assert create("out_of_domain(mode=segment)").effect == "invariant"


def test_the_rate_is_the_share_of_turns() -> None:
    after = stressed("out_of_domain(rate=0.3)", SIMULATED, reminder.schema("test"))
    pairs = [
        pair for one, other in zip(SIMULATED, after, strict=True) for pair in zip(one.turns, other.turns, strict=True)
    ]
    share = sum(now.user != was.user for was, now in pairs) / len(pairs)
    assert 0.24 < share < 0.36
    assert all(now == was for was, now in pairs if was.ood)
    assert stressed("out_of_domain(rate=0)", SIMULATED, reminder.schema("test")) == SIMULATED


@pytest.mark.parametrize(
    "spec",
    [
        "out_of_domain(rate=2)",
        "out_of_domain(rate=-0.1)",
        "out_of_domain(mode=word)",
        "out_of_domain(distances=[])",
        "out_of_domain(corpus=kvret, distances=[near])",
        "out_of_domain(corpus=[kvret, sgd], distances=[near])",
        "out_of_domain(services=[Banks])",
        "out_of_domain(part=dev)",
    ],
)
def test_arguments_that_make_no_sense_are_refused(spec: str) -> None:
    with pytest.raises(SpecError):
        create(spec)


def test_our_own_list_is_large_varied_and_touches_no_slot() -> None:
    texts = embedded_utterances(Schema(), "far")
    assert len(texts) == len(set(texts)) >= 300
    assert all(Domain(Schema(), []).is_foreign(text) for text in texts)
    assert not any(re.search(r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", text.lower()) for text in texts)
    assert all(re.search(r"[.?!]$", text) for text in texts)


def test_what_is_near_speaks_of_booking_but_of_no_service_and_no_value_of_the_corpus(shared: Path) -> None:
    material = sample("multiwoz", shared)
    domain = Domain(material.schema, material)
    near = own_utterances(material.schema, domain, "near")
    assert len(near) == len(set(near)) >= 90
    assert sum(not domain.is_foreign(text) for text in near) > len(near) / 3
    assert not any(domain.says_value(text) for text in near)
    assert {"I need a flight to Lisbon.", "Which films are showing tonight?"} <= set(near)
    assert not any("flight" in text for text in embedded_utterances(Schema((Service("Flights_4"),)), "near"))


def test_half_of_the_turns_are_near_and_each_says_which_it_is() -> None:
    turns = [turn for dialogue in stressed("out_of_domain(rate=1)", SIMULATED) for turn in dialogue.turns]
    tags = [turn.stress.tags for turn in turns if turn.stress and turn.changed]
    assert set(tags) == {("near",), ("far",)}
    assert 0.4 < tags.count(("near",)) / len(tags) < 0.6
    [alone] = stressed("out_of_domain(rate=1, distances=[near])", [TRIP])
    assert all(turn.user in embedded_utterances(SCHEMA, "near") for turn in alone.turns)


def test_topics_that_a_service_covers_are_left_out() -> None:
    weather = Schema((Service("Weather_1", "Check the weather for any place and any date"),))
    assert set(embedded_utterances(weather, "far")) < set(embedded_utterances(Schema(), "far"))
    assert not any("umbrella" in text or "temperature" in text for text in embedded_utterances(weather, "far"))


def test_a_place_to_sleep_is_not_foreign_where_rooms_are_booked() -> None:
    hotels = Schema((Service("hotel", "find and book a place to stay"),))
    assert any("campsite" in text for text in embedded_utterances(Schema(), "near"))
    assert not any("campsite" in text or "caravan" in text for text in embedded_utterances(hotels, "near"))
    assert not any("flight" in text for text in embedded_utterances(reminder.schema("test"), "near"))


def test_another_corpus_is_asked_for_by_its_name() -> None:
    openings = [
        Dialogue(str(number), (Turn(f"Which {animal} sings the loudest?"),)) for number, animal in enumerate(ANIMALS)
    ]
    after = stressed(
        "out_of_domain(rate=1, corpus=zoo)", [TRIP], load={"zoo": in_memory(openings, Schema())}.__getitem__
    )
    assert all(re.fullmatch(r"Which \w+ sings the loudest\?", turn.user) for turn in after[0].turns)


ANIMALS = [
    f"{name}{kind}"
    for name in ("snow", "wood", "sea", "barn")
    for kind in ("owl", "finch", "wren", "robin", "crow", "dove")
]


def made(texts: list[str], *services: str) -> Corpus:
    """A corpus whose dialogues open with these texts, and are about these services."""
    found = [Dialogue(str(number), (Turn(text),), services) for number, text in enumerate(texts)]
    return in_memory(found, Schema(tuple(Service(name) for name in services)))


SOURCES = {
    "zoo:test": made([f"Which {animal} sings the loudest?" for animal in ANIMALS]),
    "inns:test": made([f"Please book the {animal} hotel for my aunt" for animal in ANIMALS], "Hotels_2"),
    "towns:test": made([f"Does the train stop at {animal}?" for animal in ANIMALS], "Trains_1"),
}


def test_several_corpora_take_turns_and_each_turn_says_which_it_is_from() -> None:
    spec = "out_of_domain(rate=1, corpus=[zoo:test, inns:test], services=[Hotels])"
    assert create(spec).parts[0].reads("") == ("zoo:test", "inns:test")
    turns = [turn for one in stressed(spec, SIMULATED, load=SOURCES.__getitem__) for turn in one.turns if turn.changed]
    tags = [turn.stress.tags for turn in turns if turn.stress]
    assert set(tags) == {("zoo",), ("inns",)} and 0.4 < tags.count(("zoo",)) / len(tags) < 0.6
    assert all(("hotel" in turn.user.lower()) == (turn.stress.tags == ("inns",)) for turn in turns if turn.stress)


def test_services_are_foreign_where_somebody_says_so() -> None:
    """Without, words of booking are near every task; with them, only the corpus's own slots and values are."""
    with pytest.raises(CorpusError, match="only 0 utterances of inns:test"):
        stressed("out_of_domain(corpus=inns:test)", [TRIP], load=SOURCES.__getitem__)
    [after] = stressed("out_of_domain(rate=1, corpus=inns:test, services=[Hotels_2])", [TRIP], load=SOURCES.__getitem__)
    assert all(re.fullmatch(r"Please book the \w+ hotel for my aunt", turn.user) for turn in after.turns)
    with pytest.raises(CorpusError, match="only 0 utterances of towns:test"):
        stressed("out_of_domain(corpus=towns:test, services=[Trains])", [TRIP], load=SOURCES.__getitem__)
    with pytest.raises(UnknownNameError, match=r"service of inns:test 'Hotel'.*Hotels_2"):
        stressed("out_of_domain(corpus=inns:test, services=[Hotel])", [TRIP], load=SOURCES.__getitem__)


def test_training_and_test_share_no_foreign_utterance() -> None:
    said = {}
    for part in ("train", "test", "all"):
        after = stressed(f"out_of_domain(rate=1, part={part})", SIMULATED)
        said[part] = {turn.user.lower() for one in after for turn in one.turns if turn.changed}
    assert not said["train"] & said["test"] and min(map(len, said.values())) > 100
    assert said["all"] & said["train"] and said["all"] & said["test"]


def test_a_corpus_about_the_same_thing_is_refused() -> None:
    same = in_memory([Dialogue("x", (Turn("I need a train to Ely, please"),))], SCHEMA)
    with pytest.raises(CorpusError, match="only 0 utterances of same"):
        stressed("out_of_domain(corpus=same)", [TRIP], load=lambda name: same)


@pytest.mark.parametrize("corpus", ["reminder", "multiwoz", "sgd"])
@pytest.mark.parametrize("mode", ["turn", "segment"])
def test_foreign_words_say_no_value(corpus: str, mode: str, shared: Path) -> None:
    material = sample(corpus, shared)
    before = list(material)
    for dialogue, original in zip(
        stressed(f"out_of_domain(rate=1, mode={mode})", before, material.schema), before, strict=True
    ):
        for turn, was in zip(dialogue.turns, original.turns, strict=True):
            foreign = turn.user if mode == "turn" else turn.user.replace(was.user.strip(), "")
            for slot, forms in was.state.items():
                if not was.ood and forms[0].lower() not in ("dontcare", "yes", "no", "true", "false"):
                    assert not find_value(foreign, slot, forms)


@pytest.mark.slow
@given(
    st.lists(dialogues, min_size=1, max_size=3, unique_by=lambda dialogue: dialogue.id),
    st.sampled_from(["turn", "segment"]),
)
def test_any_dialogue_can_be_interrupted(said: list[Dialogue], mode: str) -> None:
    spec = f"out_of_domain(rate=0.7, mode={mode})"
    after = stressed(spec, said)
    assert after == stressed(spec, said)
    assert after[::-1] == stressed(spec, said[::-1])
    for dialogue, original in zip(after, said, strict=True):
        for index, (turn, was) in enumerate(zip(dialogue.turns, original.turns, strict=True)):
            if turn.stress:
                assert undo(turn.user, turn.stress.edits) == was.user
            if turn.ood:
                assert turn.state == (original.turns[index - 1].state if index else {})
            else:
                assert turn.state == was.state


@pytest.mark.parametrize("text", ["", "word " * 900, "\U0001f695", "\x00\x07", "أريد الذهاب", "(a+)* [b] \\d+ $^"])
@pytest.mark.parametrize("mode", ["turn", "segment"])
def test_odd_utterances_come_through(text: str, mode: str) -> None:
    said = [Dialogue("d", (Turn(text, "", {"train-destination": ("(a+)* [b] \\d+ $^",)}),))]
    turn = stressed(f"out_of_domain(rate=1, mode={mode})", said)[0].turns[0]
    assert turn.user != text
    assert (mode == "turn") == turn.ood
    assert mode == "turn" or text.strip() in turn.user


def test_the_manner_of_writing_is_kept() -> None:
    said = [Dialogue(str(number), (Turn("i would like that , please .", "", {}),)) for number in range(60)]
    text = " ".join(turn.user for dialogue in stressed("out_of_domain(rate=1)", said) for turn in dialogue.turns)
    assert text == text.lower()
    assert not re.search(r"\w[,.?!]|'", text)


def test_the_examples_of_the_page_are_true() -> None:
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"`(out_of_domain[^`]*)`:\n\n```text\n(reminder-test-.*?)```", page, re.DOTALL)
    assert len(blocks) >= 2
    everything = list(reminder.generate("test"))
    for spec, block in blocks:
        after = {dialogue.id: dialogue for dialogue in stressed(spec, everything, reminder.schema("test"))}
        for example in block.strip().split("\n\n"):
            place, before, now = example.split("\n")
            name, _, number = place.partition(" turn ")
            turn = after[name].turns[int(number)]
            assert turn.original.user == before.removeprefix("- ")
            assert turn.user == now.removeprefix("+ ")
