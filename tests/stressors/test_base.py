from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from dstress.dialogue import Act, Dialogue, Edit, Frame, Schema, Service, Slot, Span, Turn
from dstress.errors import SpecError, UnknownNameError
from dstress.pipeline.stress import stress
from dstress.stressors import create, stressors
from dstress.stressors.base import DialogueStressor, Outcome, Rewrite, Rewriter, TurnStressor, Unchanged
from dstress.text.utterance import Ranges, Utterance, random_for
from tests.stressors.samples import in_memory, sample

SCHEMA = Schema((Service("taxi", slots=(Slot("destination"), Slot("leaveat"))),))
PLACE = Frame("taxi", spans=(Span("destination", 12, 21),), acts=(Act("INFORM", "destination", ("pizza hut",)),))
DIALOGUE = Dialogue(
    "d",
    (
        Turn("a taxi to a pizza hut", "", {"taxi-destination": ("pizza hut",)}, (PLACE,)),
        Turn("at 5 pm", "When?", {"taxi-destination": ("pizza hut",), "taxi-leaveat": ("17:00",)}),
        Turn("thanks", "Done.", {"taxi-destination": ("pizza hut",), "taxi-leaveat": ("17:00",)}),
    ),
    ("taxi",),
)
CORPUS = in_memory([DIALOGUE], SCHEMA)


class Shout(Rewriter):
    """Says everything but the values in capitals."""

    def __init__(self, often: float = 1.0) -> None:
        self.often = often

    def rewrite(self, utterance: str, protected: Ranges, random: random.Random) -> str:
        inside = {place for start, end in protected for place in range(start, end)}
        return "".join(letter if at in inside else letter.upper() for at, letter in enumerate(utterance))


class Forget(Rewriter):
    """Forgets what was said."""

    def rewrite(self, utterance: str, protected: Ranges, random: random.Random) -> str:
        return "well then" if protected else "   "


class Elsewhere(TurnStressor):
    """Goes to another place; a user who goes nowhere stays."""

    effect = "directional"

    def __init__(self, place: str = "nandos", says: str = "nandos") -> None:
        self.place, self.says = place, says

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        found = [mention for mention in utterance.mentions if mention.slot == "taxi-destination"]
        if not found:
            return Unchanged("no place") if utterance.index == 1 else None
        text = utterance.text[: found[0].start] + self.says + utterance.text[found[0].end :]
        return Rewrite(text, utterance.turn.state | {"taxi-destination": (self.place,)}, tags=("unseen",))


class Backwards(TurnStressor):
    """Works in batches."""

    def rewrite_utterances(self, utterances: Sequence[Utterance]) -> Sequence[Outcome]:
        return [Rewrite(" ".join([one.text, "please"])) for one in utterances]


class Renamed(DialogueStressor):
    """Calls one place another, everywhere."""

    effect = "directional"

    def rewrite(self, dialogue: Dialogue, random: random.Random) -> Dialogue:
        turns = tuple(
            Turn(t.user.replace("pizza hut", "xixxi hut"), t.system, t.state | {"taxi-destination": ("xixxi hut",)})
            for t in dialogue.turns
        )
        return Dialogue(dialogue.id, turns, dialogue.services)


class HalfRenamed(Renamed):
    """Calls one place another in the labels alone; something else changes in the words."""

    def rewrite(self, dialogue: Dialogue, random: random.Random) -> Dialogue:
        renamed = super().rewrite(dialogue, random)
        turns = tuple(
            Turn(old.user.upper(), old.system, new.state)
            for old, new in zip(dialogue.turns, renamed.turns, strict=True)
        )
        return Dialogue(dialogue.id, turns, dialogue.services)


def stressed_turns(*specs: object) -> tuple[Turn, ...]:
    (done,) = stress(CORPUS, "+".join(f"{__name__}:{spec}" for spec in specs))
    return done.turns


def test_a_user_writes_one_method() -> None:
    first, second, third = stressed_turns("Shout")
    assert (first.user, second.user, third.user) == ("A TAXI TO A pizza hut", "AT 5 pm", "THANKS")
    assert first.stress is not None
    assert first.stress.original == DIALOGUE.turns[0] == first.remembered
    assert first.stress.edits == (Edit(0, "a taxi to a", "A TAXI TO A"),) and first.state == DIALOGUE.turns[0].state
    assert first.frames == (PLACE,), "the span did not move, and the value is still there"


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["typos(rate=0.5)", "simplification", "verbosity", "speech_text"])
def test_what_is_out_of_domain_stays_so_in_other_words(spec: str) -> None:
    turns = [turn for dialogue in stress("reminder:test", spec) for turn in dialogue.turns]
    assert any(turn.ood and turn.changed for turn in turns)
    assert [turn.ood for turn in turns] == [turn.original.ood for turn in turns]


def test_the_guard_keeps_the_turn_and_counts() -> None:
    first, second, third = stressed_turns("Forget")
    assert [turn.user for turn in (first, second, third)] == [turn.user for turn in DIALOGUE.turns]
    assert first.stress is not None and first.stress.fallbacks == ("a value was no longer said",)
    assert third.stress is not None and third.stress.fallbacks == ("no words were left",)
    assert not first.changed


def test_the_guard_keeps_a_whole_dialogue() -> None:
    turns = stressed_turns("HalfRenamed")
    assert [(turn.user, turn.state) for turn in turns] == [(turn.user, turn.state) for turn in DIALOGUE.turns]
    assert turns[0].stress is not None and turns[0].stress.fallbacks == ("a value was no longer said",)


def test_a_new_state_carries_its_annotations() -> None:
    first, second, third = stressed_turns("Elsewhere")
    assert first.state == {"taxi-destination": ("nandos",)} and first.user == "a taxi to a nandos"
    (frame,) = first.frames
    assert [first.user[span.start : span.end] for span in frame.spans] == ["nandos"]
    assert frame.acts == (Act("INFORM", "destination", ("nandos",)),)
    assert first.stress is not None and first.stress.tags == ("unseen",)
    assert second.state["taxi-destination"] == ("pizza hut",), "history is the original"
    assert second.stress is not None and second.stress.fallbacks == ("no place",) and third.stress is None


def test_a_new_value_must_be_said() -> None:
    (first, *_) = stressed_turns("Elsewhere(says=somewhere)")
    assert first.stress is not None and first.stress.fallbacks == ("a new value is not said",)
    assert first.state == DIALOGUE.turns[0].state


def test_work_in_batches() -> None:
    assert [turn.user for turn in stressed_turns("Backwards")][1:] == ["at 5 pm please", "thanks please"]


def test_what_changes_more_goes_first() -> None:
    first, second, _ = stressed_turns("Shout", "Renamed")
    assert first.user == "A TAXI TO A xixxi hut"
    assert first.remembered.user == "a taxi to a xixxi hut" and first.original.user == "a taxi to a pizza hut"
    assert second.remembered.state["taxi-destination"] == ("xixxi hut",)
    assert create(f"{__name__}:Shout+{__name__}:Renamed").spec == f"{__name__}:Renamed+{__name__}:Shout"


def test_with_the_scope_dialogue_the_words_stay_in_the_history() -> None:
    alone, wide = stressed_turns("Shout"), stressed_turns("Shout(scope=dialogue)")
    assert [turn.user for turn in wide] == [turn.user for turn in alone]
    assert all(turn.remembered is turn and turn.changed for turn in wide)
    assert [turn.original for turn in wide] == list(DIALOGUE.turns)


def test_a_scope_changes_no_word() -> None:
    corpus = sample("reminder", None)
    alone, wide = (list(stress(corpus, f"disfluency{scope}+typos{scope}")) for scope in ("", "(scope=dialogue)"))
    for one, other in zip(alone, wide, strict=True):
        assert [turn.user for turn in one.turns] == [turn.user for turn in other.turns]
        assert [t.stress and t.stress.tags for t in one.turns] == [t.stress and t.stress.tags for t in other.turns]


def test_a_turn_by_itself_follows_on_the_stressed_history() -> None:
    first, second, _ = stressed_turns("Elsewhere", "Renamed", "Shout(scope=dialogue)")
    assert first.remembered.user == "A TAXI TO A xixxi hut" and second.remembered is second
    order = f"{__name__}:Renamed+{__name__}:Shout(scope=dialogue)+{__name__}:Elsewhere"
    assert create("+".join(reversed(order.split("+")))).spec == order


def test_the_scope_is_a_part_of_the_spec_where_it_is_not_the_usual_one() -> None:
    assert create("typos(scope=turn)").spec == "typos"
    wide = create("typos(scope=dialogue, rate=0.1)")
    assert (wide.spec, wide.scope) == ("typos(scope=dialogue)", "dialogue")
    assert stressors.arguments("typos")["scope"] == "turn" and "scope" not in stressors.arguments("entities")
    assert create("out_of_domain(mode=segment, scope=dialogue)").effect == "invariant"


@pytest.mark.parametrize("spec", ["values(scope=dialogue)", "out_of_domain(scope=dialogue)", "typos(scope=schema)"])
def test_a_scope_that_makes_no_sense_is_refused(spec: str) -> None:
    with pytest.raises((SpecError, UnknownNameError), match="scope"):
        create(spec)


def test_edits_lead_from_the_original_through_several() -> None:
    first, *_ = stressed_turns("Shout", "Backwards")
    assert first.stress is not None and first.stress.original == DIALOGUE.turns[0]
    assert first.user == "A TAXI TO A pizza hut please" and first.stress.edits[-1].after == " please"


def test_the_spec_is_the_shortest() -> None:
    assert create(f"{__name__}:Shout(1.0)").spec == create(f"{__name__}:Shout").spec == f"{__name__}:Shout"
    assert create(f"{__name__}:Shout(often=0.5)").spec == f"{__name__}:Shout(often=0.5)"


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ("tpyos", UnknownNameError, "'typos'"),
        ("typos(rat=0.1)", UnknownNameError, "'rate'"),
        ("typos+typos(rate=0.2)+typos", SpecError, "twice"),
        ("tests.stressors.test_base:Utterance", SpecError, "not a stressor"),
    ],
)
def test_mistakes_are_told(spec: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        create(spec)


def test_randomness_is_the_same_everywhere() -> None:
    assert random_for(1, "typos", "d", 0).random() == 0.5222366993539423
    assert random_for(1, "typos", "d", 1).random() != random_for(1, "typos", "d", 0).random()


def test_which_stressors_know_english_only() -> None:
    any_language = {"released", "rewrites", "schema_variant", "tools"}
    assert {name for name in stressors if stressors.get(name).languages != ("en",)} == any_language


def test_all_are_listed_with_a_summary() -> None:
    for name in stressors:
        assert stressors.summary(name).endswith(".")
