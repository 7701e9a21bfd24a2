"""TripPy's evaluation (metric_bert_dst.py): other wordings of a value count, and informed values may see gold."""

from __future__ import annotations

import re

from dstress.conventions.base import INFORMED, UNKNOWN_SLOT, Convention
from dstress.conventions.labels import NO_VALUE, invert, kept_forms
from dstress.dialogue import Slot
from dstress.text.tables import read_table

_PARTS = re.compile(r"(\W+)")
_UNVARIED = frozenset({NO_VALUE, "dontcare", "true", "false"})


class TripPy(Convention):
    """Equality of the word sequences, or one of the label map's variants of the gold value.

    A value that was taken over (classes `inform` and `refer`) is replaced with the gold value of that turn as soon as
    either of them, or a variant, contains the other as a run of words, and stays so until the tracker says otherwise.
    Labels are settled as TripPy's data reader settles them (times, `guesthouse`, yes/no slots as `true`/`false`), on
    both sides, since its predictions are words of utterances that went through the same reader.
    """

    name = "trippy"
    reads_informed = True

    def __init__(self) -> None:
        tables = read_table(__package__, "trippy.toml")
        self._variants = {_words(label): tuple(map(_words, forms)) for label, forms in tables["variants"].items()}
        self._booleans = {slot: invert(forms) for slot, forms in tables["booleans"].items()}
        self._times = [(re.compile(rule["find"]), rule.get("give", _in_24_hours)) for rule in tables["times"]]

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return kept_forms([self._read(slot, value) for value in values])

    def predicted(self, slot: str, value: str) -> str | None:
        if not value.startswith(INFORMED):
            return self._read(slot, value)
        taken, *forms = value.split(INFORMED)[1:]
        labels = [self._read(slot, form) or NO_VALUE for form in forms or (NO_VALUE,)]
        # An empty run of words is in every value, so the script puts gold in place of an empty informed value.
        words = self._read(slot, taken) if taken.strip() else labels[0]
        if words is None:
            return None
        settled = next((label for label in labels if self._near(label, words)), words)
        return None if settled == NO_VALUE else settled

    def similarity(self, slot: str, accepted: tuple[str, ...], predicted: str, kind: Slot = UNKNOWN_SLOT) -> float:
        variants = (form for gold in accepted if gold not in _UNVARIED for form in self._variants.get(gold, ()))
        return float(predicted in accepted or predicted in variants)

    def _near(self, gold: str, value: str) -> bool:
        """The variants of gold are only tried if the informed value has none of its own, as in the script."""
        if _overlap(gold, value):
            return True
        if value in self._variants:
            return any(_overlap(gold, variant) for variant in self._variants[value])
        return any(_overlap(variant, value) for variant in self._variants.get(gold, ()))

    def _read(self, slot: str, value: str) -> str | None:
        words = _words(self._settled(slot, value))
        return None if words == NO_VALUE else words

    def _settled(self, slot: str, value: str) -> str:
        value, slot = value.strip().lower(), slot.lower()
        if value in ("", "not mentioned"):
            return NO_VALUE
        if any(part in slot for part in ("leaveat", "arriveby")) or slot == "restaurant-book time":
            for pattern, replacement in self._times:
                value = pattern.sub(replacement, value)
            return value
        if any(part in slot for part in ("type", "name", "destination", "departure")):
            value = value.replace("guesthouse", "guest house")
        return self._booleans.get(slot, {}).get(value, value)


def _in_24_hours(time: re.Match[str]) -> str:
    hour = int(time[1])
    return f"{hour + 12 if hour < 12 else hour}{time[2]}"


def _words(text: str) -> str:
    return " ".join(part for part in map(str.strip, _PARTS.split(text)) if part)


def _overlap(left: str, right: str) -> bool:
    """Whether one text is a run of words of the other."""
    return f" {left} " in f" {right} " or f" {right} " in f" {left} "
