"""Corrupted schemas, SGD-X's control for schema augmentation (Lee et al. 2022, section 4.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Literal, NamedTuple

from dstress.dialogue import Schema
from dstress.errors import SpecError
from dstress.stressors.base import SchemaStressor
from dstress.stressors.schema.wording import Element, join_name, reword, split_name
from dstress.text.schema_distance import elements
from dstress.text.tables import read_table
from dstress.text.writing_style import capitalise

Naming = Literal["words", "opaque", "kept"]

_EDGE = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
_TRIES = 20


class SchemaNoise(SchemaStressor):
    """Words of names and descriptions replaced at random, out of order and dropped: a schema that says less.

    SGD-X trained on schemas with replaced words and perturbed word order and saw no gain; it gives no rates. `replace`,
    `shuffle` and `drop` are shares of the words; with `replace`, a text that would stay as it is gets one other word
    all the same, a single word one beside it. `names=opaque` gives made-up names that say nothing, `names=kept`
    leaves them; `descriptions=false` leaves the descriptions. A service or slot is changed in the same way in every
    split.
    """

    languages = ("en",)

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
        original = {service.name: {element.name for element in elements(service)} for service in schema.services}

        def names(element: Element) -> Iterator[str]:
            others = original[element.service] - {element.name}
            return (name for name in self._candidates(element, random) if name not in others)

        def description(element: Element) -> str:
            if not self.descriptions:
                return element.description
            text = " ".join(element.description.split())
            is_capital = text[:1].isupper() and not text[1:2].isupper()
            words = (text[:1].lower() + text[1:] if is_capital else text).split()
            noisy = " ".join(self._disturb(words, random(f"{element.key} description")))
            return capitalise(noisy) if is_capital else noisy  # a capital at its beginning stays there

        return reword(schema, names, description)

    def _candidates(self, element: Element, random: Callable[[str], Random]) -> Iterator[str]:
        """Several, as a name may be taken: noise takes meaning away, but gives no slot the name of another."""
        own = random(f"{element.key} name")
        for _ in range(_TRIES):
            if self.names_as == "opaque":
                # It can be read aloud and means nothing, and is in the case of the original.
                _, onsets, vowels = noise_words()
                made = "".join(own.choice(onsets) + own.choice(vowels) for _ in range(3))
                yield made.capitalize() if element.name[:1].isupper() else made
            elif self.names_as == "words" and element.kind != "service":
                words = [word.lower() for word in split_name(element.name)]
                yield join_name(self._disturb(words, own), element.name) if words else element.name

    def _disturb(self, words: list[str], random: Random) -> list[str]:
        """Some words dropped (never all), some replaced, some moved a place on."""
        kept = [word for word in words if random.random() >= self.drop] or words[:1]
        noisy = [_replace(word, random) if random.random() < self.replace else word for word in kept]
        for place in range(len(noisy) - 1):
            if random.random() < self.shuffle:
                noisy[place], noisy[place + 1] = noisy[place + 1], noisy[place]
        places = [place for place, word in enumerate(noisy) if any(map(str.isalpha, word))]
        if self.replace and places and noisy == words:
            place = random.choice(places)
            # All that a single word says would be gone with it: "area" becomes "cliff area".
            noisy[place : place + (len(noisy) > 1)] = [_replace(noisy[place], random)]
        return noisy


def _replace(word: str, random: Random) -> str:
    """Another word between the same punctuation; what has no letters stays."""
    match = _EDGE.fullmatch(word)
    has_letters = match is not None and any(map(str.isalpha, match[2]))
    return f"{match[1]}{random.choice(noise_words().words)}{match[3]}" if match and has_letters else word


class NoiseWords(NamedTuple):
    """Words to replace others with, and the sounds of made-up names."""

    words: list[str]
    onsets: list[str]
    vowels: list[str]


@cache
def noise_words() -> NoiseWords:
    """The words of `noise.toml`."""
    table = read_table(__package__, "noise.toml")
    return NoiseWords(table["words"].split(), table["onsets"].split(), table["vowels"].split())
