"""Schemas in back-translated words, SGD-X's way to augment training (Lee et al. 2022, section 4.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import ClassVar

from dstress.dialogue import Schema
from dstress.resources import Resources
from dstress.spec import ComponentSpec
from dstress.stressors.base import SchemaStressor
from dstress.stressors.paraphrase import candidates
from dstress.stressors.paraphrase.phrase_table import PhraseTable, apply_changes, everyday_phrases
from dstress.stressors.schema.wording import Element, join_name, reword, split_name
from dstress.text.schema_distance import elements
from dstress.text.tables import read_table
from dstress.translators import Translation
from dstress.translators.round_trip import Backtranslation

_SUBJECT = re.compile(r"^it (?=\w+s\b)", re.IGNORECASE)
"""Spanish verbs need no subject, so "find a bus" comes back as "it finds a bus"."""


class SchemaBacktranslation(SchemaStressor):
    """Names and descriptions of slots and intents through another language and back; what cannot change stays.

    SGD-X makes one schema for each of its languages: give one route in `pivots` at a time for the same. With several,
    an element takes the words of one of them at random. Names are translated as words and joined in their own style.
    From a rough translator such as Apertium only known good changes are taken over; `whole=true` takes its answers as
    they are, further from the original and with broken grammar, which augmentation may bear.
    """

    languages = ("en",)
    needs: ClassVar[tuple[str, ...]] = ("apertium",)

    def __init__(
        self,
        pivots: tuple[str, ...] = (),
        translator: str | ComponentSpec = "apertium",
        names: bool = True,
        descriptions: bool = True,
        whole: bool = False,
    ) -> None:
        self.backtranslation = Backtranslation(translator, pivots)
        self.phrase_table = PhraseTable(everyday_phrases(), read_table(__package__, "backtranslation.toml"))
        self.with_names, self.with_descriptions = names, descriptions
        self.whole = whole or not self.backtranslation.translator.rough

    def prepare(self, resources: Resources) -> None:
        """Every step of every route can be taken."""
        super().prepare(resources)
        self.backtranslation.check()

    def variant(self, schema: Schema, random: Callable[[str], Random]) -> Schema:
        """The schema in the words that came back; all its texts are translated in one batch."""
        texts = {service.description for service in schema.services}
        for element in (element for service in schema.services for element in elements(service)):
            texts |= {_spoken(element.name), element.description}
        request = sorted(text for text in texts if text.strip())
        back = dict(zip(request, self.backtranslation.translations(request), strict=True))

        def names(element: Element) -> Sequence[str]:
            # A service keeps its name: it says which service it is, and "Restaurants_1" has little to rephrase.
            if not self.with_names or element.kind == "service":
                return ()
            text = _spoken(element.name)
            new = self._draw(text, back, random(f"{element.key} name"))
            return [_written_like(element.name, new)] if new and new != text else ()

        def description(element: Element) -> str:
            if not self.with_descriptions:
                return element.description
            return self._draw(element.description, back, random(f"{element.key} description")) or element.description

        return reword(schema, names, description)

    def _draw(self, text: str, back: dict[str, list[list[Translation]]], random: Random) -> str:
        """The text in other words, by a route drawn from those that change it; empty if none does."""
        ways = sorted({way for route in back.get(text, ()) for way in self._ways(text, route)} - {text})
        return random.choice(ways) if ways else ""

    def _ways(self, text: str, route: Sequence[Translation]) -> list[str]:
        """What a route makes of the text: one way to say it, or none."""
        if not self.whole:
            return [
                apply_changes(text, self.phrase_table.find_changes(text, candidate.text)) for candidate in route[:1]
            ]
        styled = [candidates.match_style(_SUBJECT.sub("", candidate.text), text) for candidate in route]
        return [way for way in styled if not candidates.find_problem(text, way)][:1]


def _spoken(name: str) -> str:
    """A name as words: `alarm_time`, `GetAlarms` -> `alarm time`, `get alarms`."""
    return " ".join(split_name(name)).lower()


def _written_like(name: str, text: str) -> str:
    """A text as a name in the style of another, which may begin with a small letter."""
    joined = join_name([word.lower() for word in split_name(text)], name)
    return joined if name[:1].isupper() else joined[:1].lower() + joined[1:]
