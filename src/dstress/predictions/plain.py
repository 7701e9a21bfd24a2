"""States in Python's memory, as plain dicts and lists: of predictions, and of gold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import Schema
from dstress.errors import PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Prediction
from dstress.predictions.columns import DIALOGUE, GOLD, STATE, TURN, Names, States, key_of
from dstress.predictions.csv_table import frame_table, read_table

Plain = Mapping[str, Any] | Iterable[Any]
"""`{dialogue: [state, ...]}`, `{dialogue: {turn: state}}`, records with dialogue, turn and state, or a pandas frame."""

_SHAPES = (
    'give {"d1": [{"hotel-area": "north"}, ...], ...}, a state a turn, '
    'or [{"dialogue": "d1", "turn": 0, "state": {"hotel-area": "north"}}, ...]'
)


class _Record(NamedTuple):
    """One turn: the state that is said of it, and the gold state (None: it has none)."""

    dialogue: str
    turn: int
    state: Any
    gold: Any
    where: str


def read_plain(
    plain: Plain, what: str, schema: Schema | None = None, turns: checks.Turns | None = None
) -> Iterator[Prediction]:
    """Predictions from plain data, one at a time; what is a `Prediction` already passes. `what` is for messages.

    `turns` are those that were read before.
    """
    if is_frame(plain):
        yield from read_table(frame_table(plain, what), Names(), what, schema, turns or checks.Turns())
        return
    states = States(schema)
    for record in _records(plain, what, STATE, turns or checks.Turns()):
        if isinstance(record, Prediction):
            yield record
            continue
        gold = None if record.gold is None else states.gold(record.gold, record.where)
        yield Prediction(record.dialogue, record.turn, states.read(record.state, record.where), gold=gold)


def is_frame(data: object) -> bool:
    """Whether it is a pandas frame, without importing pandas."""
    return hasattr(data, "itertuples") and hasattr(data, "columns")


def read_plain_gold(plain: Plain, what: str) -> list[Prediction]:
    """The same of gold states, whose values may be lists of accepted forms: every turn of a dialogue must be there."""
    states, predictions, lengths = States(None), list[Prediction](), dict[str, int]()
    for record in _records(plain, what, (*GOLD, *STATE), checks.Turns()):
        if isinstance(record, Prediction):
            raise PredictionError("a prediction is no gold", where=what, fix=_SHAPES)
        predictions.append(Prediction(record.dialogue, record.turn, {}, gold=states.gold(record.state, record.where)))
    if not predictions:
        raise PredictionError("there is no state in it", where=what, fix=_SHAPES)
    for prediction in sorted(predictions, key=lambda prediction: prediction.turn):
        length = lengths.setdefault(prediction.dialogue, 0)
        if prediction.turn != length:
            where = place(what, prediction.dialogue, length)
            raise PredictionError("this turn is missing", where=where, fix="give the state of every turn, from 0")
        lengths[prediction.dialogue] += 1
    return predictions


def _records(
    plain: Plain, what: str, state_names: tuple[str, ...], turns: checks.Turns
) -> Iterator[_Record | Prediction]:
    items: Iterable[Any] = _by_turn(plain, what) if isinstance(plain, Mapping) else plain
    if is_frame(plain):
        items = (row for _, row in frame_table(plain, what).rows)
    for item in items:
        if isinstance(item, Prediction):
            yield item
            continue
        spellings = (DIALOGUE, TURN, state_names, GOLD)
        keys = [key_of(item, names) for names in spellings] if isinstance(item, Mapping) else [None]
        if None in keys[:3]:
            raise PredictionError(f"{item!r:.80} does not say dialogue, turn and state", where=what, fix=_SHAPES)
        name, number, state, gold = (None if key is None else item[key] for key in keys)
        dialogue, turn, where = turns.locate(str(name), number, what)
        yield _Record(dialogue, turn, _builtin(state, where), _builtin(gold, where), where)


def _by_turn(dialogues: Mapping[str, Any], what: str) -> Iterator[dict[str, Any]]:
    """Records of `{dialogue: turns}`."""
    for dialogue, turns in unwrapped(dialogues).items():
        numbered = numbered_turns(turns)
        if numbered is None:
            raise PredictionError(f"{turns!r:.80} are no turns", where=place(what, str(dialogue)), fix=_SHAPES)
        for turn, state in numbered:
            if is_turn_record(state):
                yield {"dialogue": str(dialogue), **state}
            else:
                yield {"dialogue": str(dialogue), "turn": turn, "state": state}


def is_turn_record(state: Any) -> bool:
    """Whether it says its turn's number and state, instead of being a state."""
    return isinstance(state, Mapping) and None not in (key_of(state, TURN), key_of(state, STATE))


def numbered_turns(turns: Any) -> list[tuple[Any, Any]] | None:
    """The turns of a dialogue with their numbers; None for what is no list of turns, nor an object of numbered ones."""
    if isinstance(turns, Mapping) and all(str(turn).isdecimal() for turn in turns):
        return list(turns.items())
    return list(enumerate(turns)) if isinstance(turns, Sequence) and not isinstance(turns, str) else None


def unwrapped(dialogues: Mapping[str, Any]) -> Mapping[str, Any]:
    """The dialogues of `{any key: {dialogue: turns}}`, which may have notes beside them; all others as they are."""
    wrapped = [
        inner
        for inner in dialogues.values()
        if isinstance(inner, Mapping) and inner and all(map(numbered_turns, inner.values()))
    ]
    others = [part for part in dialogues.values() if not any(part is inner for inner in wrapped)]
    if len(wrapped) != 1 or any(numbered_turns(part) for part in others):
        return dialogues
    # In `{dialogue: {turn: state}}` a state may be a list, but is no object of numbers.
    (inner,) = wrapped
    is_dialogue = numbered_turns(inner) is not None and not all(isinstance(turns, Mapping) for turns in inner.values())
    return dialogues if is_dialogue else inner


def _builtin(state: Any, where: str) -> Any:
    """A state as JSON would have it, so that tuples and sets of accepted forms are lists."""
    try:
        return msgspec.json.decode(msgspec.json.encode(state))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise PredictionError(f"{state!r:.80} is no state: {error}", where=where, fix=_SHAPES) from None
