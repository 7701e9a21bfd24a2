"""What records and rows hold: how people call the id, the turn and the state of a turn, and every shape of a state."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from dstress.dialogue import Schema
from dstress.errors import PredictionError
from dstress.predictions import checks
from dstress.predictions.trade import Beliefs
from dstress.text.slot_names import SlotNames

# Without blanks, underscores, hyphens and capitals. Where a record has several, the first of these counts: a name that
# says "predicted" before one that does not.
DIALOGUE = (
    *("dialogueid", "dialogid", "dialid", "dialogueidx", "dialogue", "dialog", "conversationid", "convid"),
    *("conversation", "id"),
)
TURN = ("turnid", "turn", "turnidx", "turnindex", "turnnum", "turnnumber", "turnno")
STATE = (
    *("predictedstate", "predictedbelief", "predictedbeliefstate", "predictedslots", "predstate", "predbelief"),
    *("predbeliefstate", "prediction", "predictions", "predicted", "pred"),
    *("state", "belief", "beliefstate", "beliefs", "dialoguestate", "dialogstate", "slotvalues", "slots"),
)
GOLD = ("gold", "goldstate", "goldbelief", "target", "targetstate", "label", "labels", "groundtruth", "reference")
UTTERANCE = ("utterance", "userutterance", "user")

_SQUASHED = re.compile(r"[\s_\-]+")
_ANY = msgspec.json.Decoder(object)


class Names(NamedTuple):
    """How a file calls what a record holds; what is empty is found by the usual spellings."""

    dialogue: str = ""
    turn: str = ""
    state: str = ""
    gold: str = ""
    utterance: str = ""

    def key(self, record: Iterable[str], column: str) -> str | None:
        """The key of a record that holds one of the five; None where there is none."""
        if named := getattr(self, column):
            return named if named in record else None
        return key_of(record, _SPELLINGS[column])

    def require(self, record: Iterable[str], column: str, format: str, where: str) -> str:
        """The same, or an error that says how to name it."""
        key = self.key(record, column)
        if key is None:
            raise self.missing(record, column, format, where)
        return key

    def missing(self, record: Iterable[str], column: str, format: str, where: str) -> PredictionError:
        """What to raise where a record has no such key."""
        called = f" called {named!r}" if (named := getattr(self, column)) else ""
        return PredictionError(
            f"{format} needs a {column} column{called}; found {', '.join([*record][:8]) or 'none'}",
            where=where,
            fix=f"say which it is, --map {column}=COLUMN, or call it {_USUAL[column]}",
        )


_SPELLINGS = {"dialogue": DIALOGUE, "turn": TURN, "state": STATE, "gold": GOLD, "utterance": UTTERANCE}
_USUAL = {"dialogue": "dialogue_id", "turn": "turn_id", "state": "state"}


def key_of(record: Iterable[str], names: Iterable[str]) -> str | None:
    """The key of a record that is spelled like one of these names; the earlier name wins."""
    squashed = {_SQUASHED.sub("", key).casefold(): key for key in reversed(list(record))}
    return next((squashed[name] for name in names if name in squashed), None)


class States:
    """Reads a state in any shape that names its slots: objects flat or nested, lists of beliefs or pairs, text."""

    def __init__(self, schema: Schema | None) -> None:
        self._names, self._beliefs = SlotNames(schema), Beliefs(schema)

    def gold(self, value: object, where: str) -> dict[str, tuple[str, ...]]:
        """A gold state; each value is the only accepted form, unless there is a list of them."""
        listed = value if isinstance(value, dict) else {}
        forms = {slot: texts for slot, texts in listed.items() if isinstance(texts, list)}
        rest = {slot: text for slot, text in listed.items() if slot not in forms} if listed else value
        gold = checks.accepted(self.read(rest, where))
        for slot, texts in forms.items():
            accepted = (checks.text_of(text, slot, where) for text in texts)
            gold[checks.settled(slot, self._names, where)] = tuple(text for text in accepted if text is not None)
        return gold

    def read(self, value: object, where: str) -> dict[str, str]:
        """The state as slot id -> value."""
        if isinstance(value, str):
            return self._text(value.strip(), where)
        if isinstance(value, dict):
            nested = {key: inner for key, inner in value.items() if isinstance(inner, dict)}
            state = checks.flat(nested, self._names, where)
            rest = {key: inner for key, inner in value.items() if key not in nested}
            for slot, text in checks.by_slot(rest, self._names, where).items():
                checks.put(state, slot, text, where)
            return state
        if isinstance(value, list):
            state = self._beliefs.state([belief for belief in value if isinstance(belief, str)], where)
            for slot, entry in (_pair(item, where) for item in value if not isinstance(item, str)):
                listed = checks.text_of(entry, slot, where)
                if listed is not None:
                    checks.put(state, checks.settled(slot, self._names, where), listed, where)
            return state
        if value is None:
            return {}
        raise PredictionError(f"{value!r:.80} is no state", where=where, fix="give an object, slot to value")

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
