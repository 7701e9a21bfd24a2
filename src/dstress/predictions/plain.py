"""States in Python's memory, as plain dicts and lists: of predictions, and of gold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import Schema
from dstress.errors import PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Prediction
from dstress.predictions.flat import DIALOGUE, GOLD, STATE, TURN, States, key_of

Plain = Mapping[str, Any] | Iterable[Any]
"""`{dialogue: [state, ...]}`, `{dialogue: {turn: state}}`, or records with dialogue, turn and state."""

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


def read_plain(given: Plain, what: str, schema: Schema | None = None) -> Iterator[Prediction]:
    """Predictions from plain data, one at a time; what is a `Prediction` already passes. `what` is for messages."""
    states = States(schema)
    for record in _records(given, what, STATE):
        if isinstance(record, Prediction):
            yield record
            continue
        gold = None if record.gold is None else states.gold(record.gold, record.where)
        yield Prediction(record.dialogue, record.turn, states.read(record.state, record.where), gold=gold)


def read_plain_gold(given: Plain, what: str) -> list[Prediction]:
    """The same of gold states, whose values may be lists of accepted forms: every turn of a dialogue must be there."""
    states, found, lengths = States(None), list[Prediction](), dict[str, int]()
    for record in _records(given, what, (*GOLD, *STATE)):
        if isinstance(record, Prediction):
            raise PredictionError("a prediction is no gold", where=what, fix=_SHAPES)
        found.append(Prediction(record.dialogue, record.turn, {}, gold=states.gold(record.state, record.where)))
    if not found:
        raise PredictionError("there is no state in it", where=what, fix=_SHAPES)
    for prediction in sorted(found, key=lambda prediction: prediction.turn):
        length = lengths.setdefault(prediction.dialogue, 0)
        if prediction.turn != length:
            where = place(what, prediction.dialogue, length)
            raise PredictionError("this turn is missing", where=where, fix="give the state of every turn, from 0")
        lengths[prediction.dialogue] += 1
    return found


def _records(given: Plain, what: str, state_names: tuple[str, ...]) -> Iterator[_Record | Prediction]:
    turns = checks.Turns()
    items: Iterable[Any] = _by_turn(given, what) if isinstance(given, Mapping) else given
    for item in items:
        if isinstance(item, Prediction):
            yield item
            continue
        wanted = (DIALOGUE, TURN, state_names, GOLD)
        keys = [key_of(item, names) for names in wanted] if isinstance(item, Mapping) else [None]
        if None in keys[:3]:
            raise PredictionError(f"{item!r:.80} does not say dialogue, turn and state", where=what, fix=_SHAPES)
        dialogue, turn, state, gold = (None if key is None else item[key] for key in keys)
        dialogue = checks.dialogue_id(str(dialogue), what)
        turn = checks.turn_number(turn, place(what, dialogue))
        turns.add(dialogue, turn, what)
        where = place(what, dialogue, turn)
        yield _Record(dialogue, turn, _builtin(state, where), _builtin(gold, where), where)


def _by_turn(given: Mapping[str, Any], what: str) -> Iterator[dict[str, Any]]:
    """Records of `{dialogue: turns}`."""
    for dialogue, turns in given.items():
        if isinstance(turns, Mapping) and all(str(turn).isdecimal() for turn in turns):
            numbered: Iterable[tuple[Any, Any]] = turns.items()
        elif isinstance(turns, Sequence) and not isinstance(turns, str):
            numbered = enumerate(turns)
        else:
            raise PredictionError(f"{turns!r:.80} are no turns", where=place(what, str(dialogue)), fix=_SHAPES)
        for turn, state in numbered:
            yield {"dialogue": str(dialogue), "turn": turn, "state": state}


def _builtin(state: Any, where: str) -> Any:
    """A state as JSON would have it, so that tuples and sets of accepted forms are lists."""
    try:
        return msgspec.json.decode(msgspec.json.encode(state))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise PredictionError(f"{state!r:.80} is no state: {error}", where=where, fix=_SHAPES) from None
