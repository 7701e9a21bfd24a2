from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import reminder
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn, update
from dstress.errors import SpecError, UnknownNameError
from dstress.resources import Resources
from dstress.stressors import create
from dstress.text.mentions import find_value, protected_spans
from dstress.text.utterance import Utterance
from tests.paths import DOCS
from tests.strategies import dialogues
from tests.stressors.samples import in_memory, sample, undo

PAGE = DOCS / "stressors" / "disfluency.md"
SCHEMA = Schema((Service("train", slots=(Slot("destination"), Slot("people"), Slot("leaveat"))),))
SIMULATED = list(islice(reminder.generate("test"), 60))


def stressed(spec: str, said: list[Dialogue], schema: Schema = SCHEMA, seed: int = 0) -> list[Dialogue]:
    stressor = create(spec)
    stressor.prepare(Resources(schema, said, lambda name: in_memory(said, schema), Path()))
    return stressor.stress(said, seed)


def changed(after: list[Dialogue]) -> list[Turn]:
    return [turn for dialogue in after for turn in dialogue.turns if turn.stress and turn.stress.edits]


def one(text: str, spec: str = "disfluency(rate=8)", seed: int = 0, **state: str) -> Turn:
    turn = Turn(text, "", {f"train-{slot}": (value,) for slot, value in state.items()})
    return stressed(spec, [Dialogue("d", (turn,))], seed=seed)[0].turns[0]


def test_every_kind_can_be_had_alone_and_turned_off() -> None:
    schema = reminder.schema("test")
    for kind, argument in [
        ("filled", "filled"),
        ("repetition", "repetitions"),
        ("restart", "restarts"),
        ("repair", "repairs"),
    ]:
        tags = {
            turn.stress.tags
            for turn in changed(stressed(f"disfluency(kinds=[{kind}])", SIMULATED, schema))
            if turn.stress
        }
        assert tags == {(kind,)}
        others = changed(stressed(f"disfluency({argument}=0)", SIMULATED, schema))
        assert others
        assert not any(kind in turn.stress.tags for turn in others if turn.stress)


def test_a_false_start_is_no_beginning_of_what_follows() -> None:
    for seed in range(60):
        after = one("book a table for seven .", "disfluency(rate=8, kinds=[restart])", seed).user
        assert not re.search(r"\b(?:can|could) you\b", after), after


def test_rate_zero_changes_nothing() -> None:
    assert stressed("disfluency(rate=0)", SIMULATED, reminder.schema("test")) == SIMULATED


def test_disfluencies_come_at_the_published_rate_times_the_multiplier() -> None:
    text = (
        "I would like to go to the market with my friends and then we could have a look at the river if you like it. "
        * 40
    )
    turn = one(text, "disfluency(rate=1, kinds=[filled, repetition])")
    assert turn.stress
    per_hundred = 100 * len(turn.stress.edits) / len(text.split())
    assert 3.0 < per_hundred < 5.0


@pytest.mark.parametrize(
    "spec", ["disfluency(rate=-1)", "disfluency(filled=-2)", "disfluency(rate=100)", "disfluency(repairs=1e999)"]
)
def test_rates_that_make_no_sense_are_refused(spec: str) -> None:
    with pytest.raises(SpecError):
        create(spec)


def test_an_unknown_kind_gets_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="repair"):
        create("disfluency(kinds=[repairing])")


@pytest.mark.parametrize("corpus", ["reminder", "multiwoz", "sgd"])
def test_values_stay_whole_and_the_right_one_comes_last(corpus: str, shared: Path) -> None:
    material = sample(corpus, shared)
    before = list(material)
    for dialogue, original in zip(stressed("disfluency(rate=4)", before, material.schema), before, strict=True):
        for index, turn in enumerate(dialogue.turns):
            was = original.turns[index]
            assert turn.state == was.state
            earlier = original.turns[index - 1].state if index else {}
            for start, end in protected_spans(was, earlier):
                assert was.user[start:end] in turn.user
            for slot, forms in update(earlier, was.state).items():
                assert not find_value(was.user, slot, forms) or find_value(turn.user, slot, forms)


def test_a_repair_names_a_wrong_value_and_then_the_right_one() -> None:
    after = changed(stressed("disfluency(rate=9, kinds=[repair])", SIMULATED, reminder.schema("test")))
    assert len(after) > 60
    for turn in after:
        assert turn.stress
        for edit in turn.stress.edits:
            # Words are only added: what was there is in what came of it, up to a capital that moved.
            assert edit.before.lower().strip() in edit.after.lower()


@pytest.mark.parametrize("state", [{"people": "dontcare"}, {"people": "yes"}, {"people": "1"}])
def test_what_cannot_be_mistaken_gets_no_repair(state: dict[str, str]) -> None:
    texts = {
        "dontcare": "any number of people is fine with me",
        "yes": "yes, people please",
        "1": "it is just me, only myself",
    }
    text = texts[state["people"]]
    assert all(one(text, "disfluency(rate=30, kinds=[repair])", seed, **state).user == text for seed in range(20))


def test_wrong_values_keep_the_form_of_the_right_one() -> None:
    said = {
        one("leaving at 5:15 pm.", "disfluency(rate=60, kinds=[repair])", seed, leaveat="17:15").user
        for seed in range(40)
    }
    added = {re.sub(r"leaving at |5:15 pm\.", "", text) for text in said}
    assert len(added) > 5
    assert all(re.match(r"\d{1,2}:\d\d pm, ", text) for text in added if text)


def test_the_manner_of_writing_is_kept() -> None:
    parted = " ".join(one("I 'd like a train , please .", "disfluency(rate=15)", seed).user for seed in range(40))
    assert not re.search(r"\w,|\w'", parted)
    small = " ".join(one("i would like a train please", "disfluency(rate=15)", seed).user for seed in range(40))
    assert small == small.lower()
    assert "," not in small


def test_fillers_come_mostly_at_beginnings() -> None:
    turns = changed(stressed("disfluency(kinds=[filled])", SIMULATED, reminder.schema("test")))
    begun = Counter(
        bool(re.match(r"(?:um|uh|well|so|er|erm|okay|let me|hmm|oh)\b", turn.user.lower())) for turn in turns
    )
    assert begun[True] > 0.4 * len(turns)


def test_no_filler_parts_an_article_from_its_noun() -> None:
    said = {
        one("Please find a college in the centre, if you can.", "disfluency(kinds=[filled], rate=20)", seed).user
        for seed in range(60)
    }
    assert any(re.search(r"\bthe (?:uh|um|er|erm) centre", text) for text in said)
    assert not any(re.search(r"\b(?:a|an) (?:uh|um|er|erm)\b|\bthe (?:uh|um|er|erm),", text) for text in said)


@given(st.lists(dialogues, min_size=1, max_size=3, unique_by=lambda dialogue: dialogue.id), st.integers(0, 3))
def test_any_dialogue_keeps_its_state_and_its_original(said: list[Dialogue], seed: int) -> None:
    after = stressed("disfluency(rate=5)", said, seed=seed)
    assert after == stressed("disfluency(rate=5)", said, seed=seed)
    assert after[::-1] == stressed("disfluency(rate=5)", said[::-1], seed=seed)
    for dialogue, original in zip(after, said, strict=True):
        for turn, was in zip(dialogue.turns, original.turns, strict=True):
            assert turn.state == was.state
            if turn.stress:
                assert undo(turn.user, turn.stress.edits) == was.user == turn.stress.original.user


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "word " * 10_000,
        "I want \U0001f695\U0001f695 to Ely \U0001f642",
        "I \x00want\x07 to\tgo\nto Ely",
        "أريد الذهاب إلى Ely من فضلك",
        "I go to (a+)* [b] \\d+ $^ please",
        "?!.,",
    ],
)
def test_odd_utterances_come_through(text: str) -> None:
    for seed in range(3):
        turn = one(text, "disfluency(rate=10)", seed, destination="ely", people="(a+)* [b] \\d+ $^")
        assert turn.state == {"train-destination": ("ely",), "train-people": ("(a+)* [b] \\d+ $^",)}
        assert ("Ely" in turn.user) == ("Ely" in text)
        assert ("(a+)* [b] \\d+ $^" in turn.user) == ("(a+)" in text)


def test_the_examples_of_the_page_are_true() -> None:
    blocks = re.findall(r"```text\n(reminder-test-.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    examples = [line for block in blocks for line in block.strip().split("\n\n")]
    assert len(examples) >= 3
    everything = {dialogue.id: dialogue for dialogue in reminder.generate("test")}
    after = {
        dialogue.id: dialogue for dialogue in stressed("disfluency", list(everything.values()), reminder.schema("test"))
    }
    for example in examples:
        place, before, now = example.split("\n")
        name, _, number = place.partition(" turn ")
        assert everything[name].turns[int(number)].user == before.removeprefix("- ")
        assert after[name].turns[int(number)].user == now.removeprefix("+ ")


def test_randomness_is_the_turns_own() -> None:
    said = Utterance(SIMULATED[0], 0, SCHEMA, (0, "disfluency"))
    assert said.random.random() == Utterance(SIMULATED[0], 0, SCHEMA, (0, "disfluency")).random.random()
