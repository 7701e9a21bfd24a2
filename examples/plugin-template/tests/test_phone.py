"""The plug-in's parts do what they say, and dstress finds them by their names."""

import dstress
from dstress.api import Context, create

GOLD = {"d1": [{"hotel-area": "north"}, {"hotel-area": "south"}], "d2": [{"hotel-area": "east"}]}
MINE = {"d1": [{"hotel-area": "north"}, {"hotel-area": "west"}], "d2": [{}]}


def test_the_stressor_shortens_words_and_keeps_labels() -> None:
    corpus = dstress.load("reminder:test", limit=10)
    turns = [turn for dialogue in dstress.stress(corpus, "shorthand(rate=1.0)") for turn in dialogue.turns]
    changed = [turn for turn in turns if turn.changed]
    assert changed and all(turn.state == turn.original.state for turn in changed)
    assert not any("thanks" in turn.user.lower().split() for turn in turns)


def test_the_tracker_takes_what_is_said() -> None:
    corpus = dstress.load("reminder:test", limit=10)
    tracker, found = create("last_words"), set()
    for dialogue in corpus:
        state = {}
        for turn in range(len(dialogue.turns)):
            [answer] = tracker.track([Context(dialogue, turn, corpus.schema, state)])
            assert state.keys() <= answer.keys()
            state = answer
        found |= set(state)
    assert "trips-day" in found


def test_the_metric_counts_first_turns_only() -> None:
    card = dstress.score(MINE, GOLD, metrics=["jga", "first-turn-jga"])
    assert card["jga"].value == 1 / 3
    assert card["first-turn-jga"].value == 1 / 2
