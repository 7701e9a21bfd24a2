"""What a stressor did, in pieces: all of them give the stressed dialogue, none the original; labels go with words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.corpora import load
from dstress.dialogue import Dialogue, Turn
from dstress.pipeline.stress import stress
from dstress.stressors.record import record_dialogue, record_turn
from dstress.studies.shrink.changes import Changes, Manner
from dstress.text.mentions import find_value
from dstress.text.tables import read_table

STRESSORS = (
    "typos(rate=0.3)",
    "disfluency",
    "verbosity(scope=dialogue)",
    "simplification",
    "entities",
    "values",
    "turnback",
    "out_of_domain(rate=0.5)",
    "indirect",
    "entities+typos+disfluency(scope=dialogue)",
)


def plain(dialogue: Dialogue) -> list[tuple[str, str, dict[str, tuple[str, ...]], bool]]:
    return [(turn.system, turn.user, turn.state, turn.ood) for turn in dialogue.turns]


def manner(**changed: object) -> Manner:
    return Manner(True, True, lambda words: False)._replace(**changed)


@pytest.mark.parametrize("spec", STRESSORS)
def test_all_pieces_are_the_stressed_dialogue_and_none_the_original(spec: str) -> None:
    original = load("reminder:test")[:6]
    changed = 0
    for clean, stressed in zip(original, stress(original, spec), strict=True):
        for turn in range(len(clean.turns)):
            changes = Changes(stressed, turn, manner())
            whole = changes.dialogue(range(len(changes.pieces)))
            seen = [*(one.remembered for one in stressed.turns[:turn]), stressed.turns[turn]]
            assert plain(whole) == [(one.system, one.user, one.state, one.ood) for one in seen]
            assert plain(changes.dialogue(())) == plain(clean.first(turn + 1))
            assert changes.is_true(whole) and changes.is_true(changes.dialogue(()))
            changed += bool(changes.pieces)
    assert changed, "the stressor must have done something"


@given(st.data())
@pytest.mark.parametrize("spec", ["entities", "values", "unseen_entities"])
def test_a_changed_label_never_parts_from_its_words(spec: str, data: st.DataObject) -> None:
    corpus = load("reminder:test")[:4]
    stressed = data.draw(st.sampled_from(list(stress(corpus, spec))))
    turn = data.draw(st.integers(0, len(stressed.turns) - 1))
    changes = Changes(stressed, turn, manner())
    parts = data.draw(st.sets(st.sampled_from(range(len(changes.pieces))))) if changes.pieces else set()
    before: dict[str, tuple[str, ...]] = {}
    for old, new, one in zip(changes.before, changes.after, changes.dialogue(parts).turns, strict=True):
        for slot, forms in one.state.items():
            if forms == before.get(slot):
                continue
            was, now = old.state.get(slot, ()), new.state.get(slot, ())
            if was != now and find_value(old.user, slot, was) and find_value(new.user, slot, now):
                assert find_value(one.user, slot, forms), (slot, forms, one.user)
        before = one.state


def changes_of(before: str, after: str, **how: object) -> Changes:
    turn = Turn(before, state={"hotel-day": ("tuesday",)})
    stressed = record_turn(turn, after, turn.state, False, ())
    return Changes(Dialogue("d", (stressed,)), 0, manner(**how))


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("a room on tuesday", "um a room uh well on tuesday", ["um ", " uh", " well"]),
        ("book a cheap room on tuesday please", "book a room on tuesday", [" cheap", " please"]),
        ("i need a room on tuesday", "i neeed a roim on tuesday", ["need>neeed", "room>roim"]),
        ("give me a room on tuesday", "giev em a room on tuesday", ["give>giev", "me>em"]),
        ("leaving on tuesday", "setting off on tuesday", ["leaving>setting off"]),
        ("on tuesday", "on monday no wait on tuesday", [" monday no wait on"]),
        ("tuesday", "i was thinking tuesday", ["i ", "was ", "thinking "]),
        ("tuesday is fine", "let me say tuesday", ["tuesday is fine>let me say tuesday"]),
        ("tuesday is fine", "let's say tuesday", ["tuesday is fine>let's say tuesday"]),
    ],
)
def test_words_come_apart_where_each_means_something_by_itself(before: str, after: str, pieces: list[str]) -> None:
    changes = changes_of(before, after)
    shown = [">".join(filter(None, (e.before, e.after))) for piece in changes.pieces for e in piece.edits]
    assert shown == pieces


@pytest.mark.parametrize("term", read_table("dstress.stressors.disfluency", "disfluency.toml")["repairs"]["terms"])
def test_a_correction_is_never_cut_into_half(term: str) -> None:
    said = term.rstrip(",")
    assert len(changes_of("on tuesday please", f"on someday {said} on tuesday please").pieces) == 1


def test_an_edit_that_names_another_value_stays_whole() -> None:
    assert len(changes_of("on tuesday", "on friday er tuesday").pieces) == 2
    assert len(changes_of("on tuesday", "on friday er tuesday", says_value=lambda words: "friday" in words).pieces) == 1


def test_a_value_that_is_only_hinted_at_keeps_all_edits_of_its_turn_together() -> None:
    hinted = ("a cheap room on tuesday with a bath", "a room with a bath the day after monday")
    assert len(changes_of(*hinted).pieces) == 1
    assert len(changes_of(*hinted, guarded=False).pieces) > 1, "an unguarded stressor may lose values"


def test_the_guard_lets_no_value_go_that_the_stressed_words_keep() -> None:
    changes = changes_of("a room on tuesday", "a room, tuesday")
    lost = changes.dialogue(())
    lost = Dialogue("d", (Turn("a room", state=lost.turns[0].state),))
    assert not changes.is_true(lost)


def test_the_history_of_a_turn_that_changed_alone_is_the_original() -> None:
    first, second = Turn("hello there"), Turn("a room", "hi", {"hotel-type": ("hotel",)})
    alone = record_turn(first, "helo there", {}, False, ())
    changed = record_turn(second, "a roomm", second.state, False, ())
    changes = Changes(Dialogue("d", (alone, changed)), 1, manner())
    assert [edit.turn for piece in changes.pieces for edit in piece.edits] == [1]
    before = Dialogue("d", (first, second))
    widened = record_dialogue(before, Dialogue("d", (Turn("helo there"), Turn("a roomm", "hi", second.state))))
    changes = Changes(widened, 1, manner())
    assert [edit.turn for piece in changes.pieces for edit in piece.edits] == [0, 1]
