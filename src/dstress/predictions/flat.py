"""Flat records, a line or an item a turn, with ids and a state under whatever names a person gave them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from dstress.dialogue import Schema
from dstress.errors import PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.checkdst import CheckDst
from dstress.predictions.convlab import ConvLab
from dstress.predictions.icdst import IcDst
from dstress.predictions.jsonl import Jsonl
from dstress.predictions.shape import data_files, shape_of
from dstress.predictions.trade import Beliefs
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames

# Without blanks, underscores, hyphens and capitals. Where a record has several, the first of these counts: a name that
# says "predicted" before one that does not.
DIALOGUE = ("dialogueid", "dialogid", "dialid", "dialogueidx", "dialogue", "dialog", "conversationid", "id")
TURN = ("turnid", "turn", "turnidx", "turnindex", "turnnum", "turnnumber", "turnno")
STATE = (
    *("predictedstate", "predictedbelief", "predictedbeliefstate", "predictedslots", "predstate", "predbelief"),
    *("predbeliefstate", "prediction", "predictions", "predicted", "pred"),
    *("state", "belief", "beliefstate", "beliefs", "dialoguestate", "dialogstate", "slotvalues", "slots"),
)
GOLD = ("gold", "goldstate", "goldbelief", "target", "targetstate", "label", "labels", "groundtruth", "reference")
UTTERANCE = ("utterance", "userutterance", "user")

_SQUASHED = re.compile(r"[\s_\-]+")
_RECORD = msgspec.json.Decoder(dict[str, object])
_ANY = msgspec.json.Decoder(object)
_TAKEN: tuple[type[Format], ...] = (Jsonl, CheckDst, ConvLab, IcDst)


class Flat(Format):
    """JSON lines or an array of {"dialogue_id", "turn_id", "state"}, in any spelling of these and of the state."""

    name = "flat"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        record = shape_of(source).members or shape_of(source).item
        keys = [key_of(record, names) for names in (DIALOGUE, TURN, STATE)]
        if None in keys or any(known.matches(source) for known in _TAKEN):
            return False
        dialogue, turn, state = (record[key] for key in keys if key is not None)
        return (
            isinstance(dialogue, str | int)
            and isinstance(turn, str | int)
            and (state is None or isinstance(state, dict | list | str))
        )

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        states, turns = States(schema), checks.Turns()
        for where, raw in _records(source):
            record = checks.decode(raw, _RECORD, where)
            dialogue = checks.dialogue_id(str(_value(record, DIALOGUE, where)), where)
            turn = checks.turn_number(_value(record, TURN, where), place(where, dialogue))
            turns.add(dialogue, turn, where)
            here = place(where, dialogue, turn)
            gold, said = key_of(record, GOLD), key_of(record, UTTERANCE)
            yield Prediction(
                dialogue,
                turn,
                states.read(_value(record, STATE, here), here),
                gold=None if gold is None else states.gold(record[gold], here),
                utterance=str(record[said]) if said is not None and isinstance(record[said], str) else None,
            )


def _records(source: Source) -> Iterator[tuple[str, bytes | msgspec.Raw]]:
    if shape_of(source).kind != "array":
        yield from checks.lines(source)
        return
    for file in data_files(source):
        yield from ((f"{file.label}, item {number}", raw) for number, raw in enumerate(checks.items(file)))


def key_of(record: Iterable[str], names: Iterable[str]) -> str | None:
    """The key of a record that is spelled like one of these names; the earlier name wins."""
    squashed = {_SQUASHED.sub("", key).casefold(): key for key in reversed(list(record))}
    return next((squashed[name] for name in names if name in squashed), None)


def _value(record: Mapping[str, object], names: tuple[str, ...], where: str) -> object:
    key = key_of(record, names)
    if key is None:
        raise PredictionError(
            f"there is none of {', '.join(names[:4])} ...", where=where, fix="give each turn all three"
        )
    return record[key]


class States:
    """Reads a state in any shape that names its slots: objects flat or nested, lists of beliefs or pairs, text."""

    def __init__(self, schema: Schema | None) -> None:
        self._names, self._beliefs = SlotNames(schema), Beliefs(schema)

    def gold(self, value: object, where: str) -> dict[str, tuple[str, ...]]:
        """A gold state; each value is the only accepted form, unless there is a list of them."""
        listed = value if isinstance(value, dict) else {}
        forms = {slot: texts for slot, texts in listed.items() if isinstance(texts, list)}
        rest = {slot: text for slot, text in listed.items() if slot not in forms} if listed else value
        found = checks.accepted(self.read(rest, where))
        for slot, texts in forms.items():
            accepted = (checks.text_of(text, slot, where) for text in texts)
            found[checks.settled(slot, self._names, where)] = tuple(text for text in accepted if text is not None)
        return found

    def read(self, value: object, where: str) -> dict[str, str]:
        """The state as slot id -> value."""
        if isinstance(value, str):
            return self._text(value.strip(), where)
        if isinstance(value, dict):
            nested = {key: inner for key, inner in value.items() if isinstance(inner, dict)}
            state = checks.flat(nested, self._names, where)
            given = {key: inner for key, inner in value.items() if key not in nested}
            for slot, text in checks.by_slot(given, self._names, where).items():
                checks.put(state, slot, text, where)
            return state
        if isinstance(value, list):
            return self._list(value, where)
        if value is None:
            return {}
        raise PredictionError(f"{value!r:.80} is no state", where=where, fix="give an object, slot to value")

    def _list(self, value: list[object], where: str) -> dict[str, str]:
        beliefs = [belief for belief in value if isinstance(belief, str)]
        state = self._beliefs.state(beliefs, where)
        for item in value:
            if isinstance(item, str):
                continue
            slot, given = _pair(item, where)
            text = checks.text_of(given, slot, where)
            if text is not None:
                checks.put(state, checks.settled(slot, self._names, where), text, where)
        return state

    def _text(self, text: str, where: str) -> dict[str, str]:
        if text[:1] in ("{", "["):
            return self.read(checks.decode(text.encode(errors="surrogatepass"), _ANY, where), where)
        state: dict[str, str] = {}
        for piece in filter(None, map(str.strip, text.split(";"))):
            slot, equals, value = piece.partition("=")
            if not equals:
                raise PredictionError(
                    f"{piece!r:.80} is no slot and value",
                    where=where,
                    fix='write the state as JSON, or as "hotel-area=centre; hotel-stars=4"',
                )
            checks.put(state, checks.settled(slot.strip(), self._names, where), value.strip(), where)
        return state


def _pair(item: object, where: str) -> tuple[str, object]:
    """A slot and its value: [slot, value], [service, slot, value], or an object with such keys."""
    if isinstance(item, dict):
        service = key_of(item, ("domain", "service"))
        slot, value = key_of(item, ("slot", "slotname", "name")), key_of(item, ("value", "slotvalue"))
        if slot is not None and value is not None:
            item = [*([item[service]] if service is not None else []), item[slot], item[value]]
    if isinstance(item, list) and len(item) in (2, 3) and all(isinstance(part, str) for part in item[:-1]):
        return "-".join(item[:-1]), item[-1]
    raise PredictionError(f"{item!r:.80} is no slot and value", where=where, fix="give pairs of slot and value")
