"""Placeholders in the stead of values, for systems that answer in real names, numbers and times.

What a response says is looked for among the values of the database and of the predicted state; codes, numbers, prices
and times are known by their shape. Of what overlaps, the first and longest counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product

from dstress.corpora.base import Corpus
from dstress.corpora.database import Row
from dstress.dialogue import service_of
from dstress.errors import DstressError
from dstress.text.inflection import plural
from dstress.text.numbers import number_words
from dstress.text.placeholders import PLACE, Placeholders
from dstress.text.tokens import WORD_OR_MARK

_UNSAID = frozenset({"", "?", "yes", "no", "free", "dontcare", "none", "hotel", "restaurant", "train", "place"})
"""Values that a response says without meaning them."""
_TRAVEL = frozenset(
    {"train", "trains", "taxi", "from", "leave", "leaves", "leaving", "depart", "departs", "departing", "arrive"}
    | {"arrives", "arriving", "pick"}
)
"""Words beside which a town is where somebody comes from or goes to."""
_NOT_LOOKED_FOR = frozenset({"id", "introduction", "signature", "openhours", "takesbookings", "internet", "parking"})
_KEPT = "kept"
"""The group of what has the shape of a value, and is none."""
_SHAPES = {
    _KEPT: r"(?<=reserved for )\d+ minutes",
    "trainid": r"tr ?\d{3,4}",
    "plate": r"(?-i:[A-Z]{2}\d{2} [A-Z]{3})",
    "reference": r"(?-i:[A-Z0-9]{8})|(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{8}",
    "phone": r"\d{5} ?\d{5,6}",
    "postcode": r"cb ?\d{1,2},? ?\d[a-z]{2}",
    "price": (
        r"(?<=fee is )free|(?<=admission is )free"
        r"|£ ?\d+(?:\.\d+)?(?: (?:pounds?|gbp))?|\d+(?:\.\d+)? (?:pounds?|gbp)|\d+\.\d{2}(?!\d)"
    ),
    "duration": r"\d+[ -]minutes?",
    "time": r"\d{1,2}:\d{2}(?: ?[ap]\.?m\b\.?)?",
    "choice": rf"\d+|{'|'.join(sorted((word for word in number_words() if word != 'one'), key=len, reverse=True))}",
}
_SHAPED_SLOTS = {"price": ("fare", "cost", "price"), "time": ("start",), "plate": ("plate",)}
"""What services that are not MultiWOZ's call what has a shape."""
_SHAPED = re.compile(
    "|".join(rf"(?P<{name}>(?<![\w.])(?:{shape})(?!\w))" for name, shape in _SHAPES.items()), re.IGNORECASE
)

Words = tuple[str, ...]
Found = tuple[int, int, str]
"""Where it begins and ends, and the placeholder's name."""


class Delexicaliser:
    """Knows the values of a corpus's database."""

    def __init__(self, corpus: Corpus) -> None:
        database = corpus.database
        if database is None:
            fix = "import it again from a source with files such as hotel_db.json"
            raise DstressError("the corpus has no database to find values in", where=corpus.name, fix=fix)
        self._placeholders = Placeholders(corpus.schema)
        self._values: dict[str, dict[Words, dict[str, str]]] = {}
        """By their first word, the words of values; and by service, what stands for them."""
        for service, rows in database.tables.items():
            for row in rows:
                for column, value in _said(row):
                    _put(self._values, service, self._placeholders.name(service, column), value)

    def delexicalise(self, response: str, state: Mapping[str, str]) -> str:
        """A response with placeholders; where several services have a value, it is that of the state's latest."""
        in_state: dict[str, dict[Words, dict[str, str]]] = {}
        for slot, value in state.items():
            service, _, name = slot.partition("-")
            column = name.removeprefix("book ").replace(" ", "")
            _put(in_state, service, self._placeholders.name(service, column), value)
        services = list(dict.fromkeys(service_of(slot) for slot in reversed(list(state))))
        places = [
            *self._find(response, self._values, services),
            *self._find(response, in_state, services),
            *self._shaped(response, services),
        ]
        pieces, done = [], 0
        for start, end, name in sorted(places, key=lambda place: (place[0], -place[1])):
            if start >= done:
                pieces += [response[done:start], f"[{name}]"]
                done = end
        return "".join([*pieces, response[done:]])

    def _shaped(self, response: str, services: list[str]) -> Iterator[Found]:
        """What is known by its shape; to a service that is not MultiWOZ's, a price may be its `fare`."""
        custom = [service for service in services[:1] if service in self._placeholders.custom_services]
        for start, end, name in _shaped(response):
            slots = (f"{service}_{slot}" for service in custom for slot in _SHAPED_SLOTS.get(name, ()))
            if shaped := next(filter(self._placeholders.kind, (*slots, name)), ""):
                yield start, end, shaped

    def _find(
        self, response: str, values: Mapping[str, Mapping[Words, Mapping[str, str]]], services: list[str]
    ) -> Iterator[Found]:
        tokens = list(WORD_OR_MARK.finditer(response))
        words = [_fold(token[0]) for token in tokens]
        for place, word in enumerate(words):
            options = values.get(word, {})
            fitting = [value for value in options if value == tuple(words[place : place + len(value)])]
            if fitting:
                longest = max(fitting, key=len)
                names = options[longest]
                text = " ".join(longest)
                if services and services[0] not in names and _SHAPED.fullmatch(text):
                    continue  # another service's price: the shape tells this one's
                name = next((names[service] for service in services if service in names), next(iter(names.values())))
                # "in Cambridge" is said of everything.
                if (
                    values is not self._values
                    or self._placeholders.kind(name) != PLACE
                    or not _TRAVEL.isdisjoint(words)
                ):
                    yield tokens[place].start(), tokens[place + len(longest) - 1].end(), name


def _said(row: Row) -> Iterator[tuple[str, str]]:
    """What a response may say of a row, by column."""
    for column, value in row.items():
        if column == "address":  # in parts; one word of it may be any place
            yield from ((column, part) for part in value.split(", ") if " " in part or part == value)
        elif column not in _NOT_LOOKED_FOR:
            yield column, value
        if column == "type" and value not in _UNSAID:
            yield column, plural(value)
    for colour, make in product(*(row.get(column, "").split("|") for column in ("taxi_colors", "taxi_types"))):
        yield "type", f"{colour} {make}"


def _put(values: dict[str, dict[Words, dict[str, str]]], service: str, name: str, value: str) -> None:
    words = tuple(_fold(token[0]) for token in WORD_OR_MARK.finditer(value))
    words = words[1:] if words[:1] == ("the",) else words
    if name and " ".join(words) not in _UNSAID and any(letter.isalpha() for letter in value):
        values.setdefault(words[0], {}).setdefault(words, {}).setdefault(service, name)


def _fold(word: str) -> str:
    return "and" if word == "&" else word.casefold()


def _shaped(response: str) -> Iterator[Found]:
    for match in _SHAPED.finditer(response):
        if match.lastgroup and match.lastgroup != _KEPT:
            yield match.start(), match.end(), match.lastgroup
