"""Corrupted schemas, SGD-X's control for schema augmentation (Lee et al. 2022, section 4.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from random import Random
from typing import Literal

from dstress.dialogue import Schema
from dstress.errors import SpecError
from dstress.stressors.base import SchemaStressor
from dstress.stressors.schema.wording import Element, reworded
from dstress.text.schema_distance import elements
from dstress.text.tables import read_table

Naming = Literal["words", "opaque", "kept"]

_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W0-9_A-Za-z]+")
_EDGE = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
_TRIES = 20


class SchemaNoise(SchemaStressor):
    """Words of names and descriptions replaced at random, out of order and dropped: a schema that says less.

    SGD-X trained on schemas with replaced words and perturbed word order and saw no gain; it gives no rates. `replace`,
    `shuffle` and `drop` are shares of the words. `names=opaque` gives made-up names that say nothing, `names=kept`
    leaves them; `descriptions=false` leaves the descriptions. A service or slot is changed in the same way in every
    split.
    """

    def __init__(
        self,
        replace: float = 0.2,
        shuffle: float = 0.2,
        drop: float = 0.1,
        names: Naming = "words",
        descriptions: bool = True,
    ) -> None:
        for name, rate in (("replace", replace), ("shuffle", shuffle), ("drop", drop)):
            if not 0 <= rate <= 1:
                raise SpecError(f"schema_noise: {name}={rate} is no share of the words", fix="give 0 to 1")
        if names != "opaque" and not (replace or shuffle or drop):
            raise SpecError("schema_noise: nothing would change", fix="give a rate above 0, or names=opaque")
        self.replace, self.shuffle, self.drop = replace, shuffle, drop
        self.names_as, self.descriptions = names, descriptions

    def variant(self, schema: Schema, random: Callable[[str], Random]) -> Schema:
        """The schema with its words disturbed."""
        original = {service.name: {one.name for one in elements(service)} for service in schema.services}

        def names(element: Element) -> Iterator[str]:
            others = original[element.service] - {element.name}
            return (name for name in self._candidates(element, random) if name not in others)

        return reworded(schema, names, partial(self._description, random))

    def _candidates(self, element: Element, random: Callable[[str], Random]) -> Iterator[str]:
        """Several, as a name may be taken: noise takes meaning away, but gives no slot the name of another."""
        own = random(f"{element.key} name")
        for _ in range(_TRIES):
            if self.names_as == "opaque":
                yield _opaque(element.name, own)
            elif self.names_as == "words" and element.kind != "service":
                yield self._noisy_name(element.name, own)

    def _noisy_name(self, name: str, random: Random) -> str:
        words = _PARTS.findall(name)
        return _joined_like(name, self._disturbed([word.lower() for word in words], random)) if words else name

    def _description(self, random: Callable[[str], Random], element: Element) -> str:
        if not self.descriptions:
            return element.description
        words = element.description.split()
        capital = bool(words) and words[0][:1].isupper() and not words[0][1:2].isupper()
        if capital:
            words[0] = words[0][:1].lower() + words[0][1:]
        text = " ".join(self._disturbed(words, random(f"{element.key} description")))
        return text[:1].upper() + text[1:] if capital else text

    def _disturbed(self, words: list[str], random: Random) -> list[str]:
        """Some words dropped (never all), some replaced, some moved a place on."""
        kept = [word for word in words if random.random() >= self.drop] or words[:1]
        done = [_replaced(word, random) if random.random() < self.replace else word for word in kept]
        for place in range(len(done) - 1):
            if random.random() < self.shuffle:
                done[place], done[place + 1] = done[place + 1], done[place]
        return done


def _replaced(word: str, random: Random) -> str:
    """Another word between the same punctuation; what has no letters stays."""
    match = _EDGE.fullmatch(word)
    if match is None or not any(letter.isalpha() for letter in match[2]):
        return word
    return f"{match[1]}{random.choice(_words())}{match[3]}"


def _joined_like(name: str, words: list[str]) -> str:
    """Words written as a name is: snake_case, with blanks, or CamelCase."""
    if "_" in name or name.islower():
        return (" " if " " in name else "_").join(words)
    return "".join(word.capitalize() for word in words)


def _opaque(name: str, random: Random) -> str:
    """A name that can be read aloud and means nothing, in the case of the original."""
    sounds = _sounds()
    made = "".join(random.choice(sounds["onsets"]) + random.choice(sounds["vowels"]) for _ in range(3))
    return made.capitalize() if name[:1].isupper() else made


@cache
def _table() -> dict[str, str]:
    table: dict[str, str] = read_table(__package__, "noise.toml")
    return table


@cache
def _words() -> tuple[str, ...]:
    return tuple(_table()["words"].split())


@cache
def _sounds() -> dict[str, tuple[str, ...]]:
    return {kind: tuple(_table()[kind].split()) for kind in ("onsets", "vowels")}
