"""Small dialogues with predictions, any at all, and what the metrics' definitions say of them, step by step."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hypothesis import strategies as st

from dstress.conventions import Convention
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Frame, Schema, Service, Slot, Turn, service_of
from dstress.predictions import Prediction
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Columns, gather

SCHEMA = Schema(
    (
        Service("hotel", slots=(Slot("area", categorical=True), Slot("name"))),
        Service("Taxis_1", slots=(Slot("leaveat"), Slot("day", categorical=True))),
    )
)
SLOTS = tuple(SCHEMA.slots)
OUTSIDE = "hotel-colour"
WORDS = ("dontcare", "none", "acorn guest house", "guesthouse", "9:15", "09:15", "The Acorn", "a|b", "yes")
Pair = tuple[Dialogue, list[Prediction]]

plain = st.sampled_from(["1", "2"])
words = plain | st.sampled_from(WORDS)


@st.composite
def pairs(draw: st.DrawFn, *, values: st.SearchStrategy[str] = words, forms: int = 2, outside: bool = True) -> Pair:
    """A dialogue of up to five turns. Slots come, change and go, and gold may say `none` aloud.

    Half of the time the prediction starts from gold, so that right and nearly right turns are not rare.
    """
    accepted = st.lists(values, max_size=forms, unique=True).map(tuple)
    frames = st.lists(st.sampled_from([service.name for service in SCHEMA.services]), unique=True)
    predicted = st.dictionaries(st.sampled_from([*SLOTS, OUTSIDE] if outside else SLOTS), values, max_size=3)
    turns, predictions = [], []
    for index in range(draw(st.integers(1, 5))):
        gold = draw(st.dictionaries(st.sampled_from(SLOTS), accepted, max_size=3))
        turns.append(Turn("?", "", gold, tuple(map(Frame, draw(frames)))))
        copied = {slot: known[0] for slot, known in gold.items() if known} if draw(st.booleans()) else {}
        state = copied | (draw(predicted) if not copied or draw(st.booleans()) else {})
        informed = {slot: draw(st.integers(0, index)) for slot in state if draw(st.integers(0, 4)) == 0}
        predictions.append(Prediction("d", index, state, informed=informed))
    return Dialogue("d", tuple(turns)), predictions


def named(found: list[Pair]) -> list[Pair]:
    """The same pairs, each dialogue with an id of its own."""
    return [
        (Dialogue(f"d{number}", dialogue.turns), [Prediction(f"d{number}", p.turn, p.state) for p in predictions])
        for number, (dialogue, predictions) in enumerate(found)
    ]


several = st.lists(pairs(outside=False), min_size=1, max_size=4).map(named)
simple = pairs(values=plain, forms=1, outside=False)


def corpus_of(found: list[Pair]) -> Corpus:
    return Corpus("small", "test", SCHEMA, lambda: iter([dialogue for dialogue, _ in found]))


def columns_of(*found: Pair) -> Columns:
    return gather(SCHEMA, found)


def aligned(convention: Convention, *found: Pair) -> Alignment:
    return Alignment(columns_of(*found), convention)


# What the definitions say, for plain values: gold's first form, `none` for gold that says so, equality.


def beliefs(pair: Pair) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Gold and predicted state of each turn; gold may hold `none`."""
    for turn, prediction in zip(pair[0].turns, pair[1], strict=True):
        yield {slot: (*forms, "none")[0] for slot, forms in turn.state.items()}, prediction.state


def active(state: dict[str, str]) -> set[tuple[str, str]]:
    return {(slot, value) for slot, value in state.items() if value != "none"}


def change_counts(pair: Pair) -> list[list[int]]:
    """C, W, M, O of each turn: a slot once seen says `none` for as long as it is silent; both sides are judged."""
    result = []
    before: list[dict[str, str]] = [{}, {}]
    for states in beliefs(pair):
        now = [dict.fromkeys(old, "none") | new for old, new in zip(before, states, strict=True)]
        changed = [{s: v for s, v in new.items() if old.get(s) != v} for old, new in zip(before, now, strict=True)]
        result.append(_judged(now, changed))
        before = now
    return result


def _judged(now: list[dict[str, str]], changed: list[dict[str, str]]) -> list[int]:
    counts = dict.fromkeys("CWMO", 0)
    judged: dict[str, str] = {}
    for slot, value in changed[0].items():
        other = now[1].get(slot, "absent")
        if other == "absent":
            kind = "C" if value == "none" else "M"
        elif other == value:
            kind = "C"
        else:
            kind = "O" if value == "none" else "W"
        judged[slot] = kind
        counts[kind] += 1
    for slot, value in changed[1].items():
        other, known = now[0].get(slot, "absent"), judged.get(slot, "")
        if other == "absent":
            counts["C" if value == "none" else "O"] += 1
        elif other == value and known != "C":
            counts["C"] += 1
        elif value == "none":
            counts["M"] += 1
        elif other != value and known != "W":
            counts["W"] += 1
    return [counts[kind] for kind in "CWMO"]


def forgiving(pair: Pair, rate: float, rule: str) -> list[float]:
    """FGA of each turn. `changes`: nothing new on either side may be wrong. `errors`: the wrong slots are the same."""
    scores: list[float] = []
    old: tuple[set[tuple[str, str]], set[tuple[str, str]]] = (set(), set())
    mistake, errors_then = -1, set()
    for index, states in enumerate(beliefs(pair)):
        gold, predicted = (active(state) for state in states)
        errors = {slot for slot, _ in gold ^ predicted}
        old_error = bool(scores) and old[0] != old[1]
        if rule == "changes":
            old_error = old_error and gold - old[0] <= predicted and predicted - old[1] <= gold
        else:
            old_error = old_error and errors == errors_then
        if not errors:
            scores.append(1.0)
        elif old_error:
            scores.append(1.0 - math.exp(-rate * (index - mistake)))
        else:
            scores.append(0.0)
            mistake, errors_then = index, errors
        old = gold, predicted
    return scores


def slot_accuracies(pair: Pair) -> list[dict[str, float | None]]:
    """JGA, SA, AGA and RSA of each turn, from sets of (slot, value)."""
    result: list[dict[str, float | None]] = []
    for states in beliefs(pair):
        gold, predicted = (active(state) for state in states)
        wrong = {slot for slot, _ in gold ^ predicted}
        both = {slot for slot, _ in gold | predicted}
        result.append(
            {
                "jga": float(gold == predicted),
                "sa": (len(SLOTS) - len(wrong)) / len(SLOTS),
                "aga": len(gold & predicted) / len(gold) if gold else None,
                "rsa": (len(both) - len(wrong)) / len(both) if both else 0.0,
            }
        )
    return result


def of_frames(pair: Pair, service: str) -> Pair:
    """The dialogue as one service's frames see it: only its turns, only its slots."""
    dialogue, predictions = pair
    kept = [index for index, turn in enumerate(dialogue.turns) if service in {frame.service for frame in turn.frames}]
    turns = tuple(
        Turn("?", "", {s: v for s, v in dialogue.turns[index].state.items() if service_of(s) == service})
        for index in kept
    )
    states = [{s: v for s, v in predictions[index].state.items() if service_of(s) == service} for index in kept]
    return Dialogue(dialogue.id, turns), [Prediction(dialogue.id, n, state) for n, state in enumerate(states)]
