"""Schemas in back-translated words, SGD-X's way to augment training (Lee et al. 2022, section 4.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from random import Random
from typing import ClassVar

from dstress.dialogue import Schema
from dstress.resources import Resources
from dstress.spec import ComponentSpec
from dstress.stressors.base import SchemaStressor
from dstress.stressors.paraphrase import candidates
from dstress.stressors.paraphrase.phrase_table import Change, PhraseTable, apply_changes, everyday_phrases
from dstress.stressors.schema.wording import Element, join_name, reword, split_name
from dstress.stressors.translators import Translation
from dstress.stressors.translators.round_trip import Backtranslation
from dstress.text.schema_distance import elements
from dstress.text.tables import read_table

_SUBJECT = re.compile(r"^it (?=\w+s\b)", re.IGNORECASE)
"""Spanish verbs need no subject, so "find a bus" comes back as "it finds a bus"."""

_OPENING = re.compile(r"(?:the|what|how|where|who|when|in which|says|tells|true)\b")
"""How a description may begin, but not go on: "your location" is no "your the place"."""

_SHARES = {"names": 0.24, "descriptions": 0.87}
"""Of the phrases that have a synonym, how many take it: as many as bring SGD's schemas to the paper's distances."""


class SchemaBacktranslation(SchemaStressor):
    """Names and descriptions of slots and intents through another language and back; what cannot change stays.

    SGD-X makes one schema for each of its languages: give one route in `pivots` at a time for the same. Of several,
    each phrase takes the words of one at random. Names are translated as words and joined in their own style.
    From a rough translator such as Apertium only known good changes are taken over, and `synonyms` of our own stand in
    for what it leaves, up to the distances of the paper. `whole=true` takes its answers as they are, with broken
    grammar, which augmentation may bear.
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
        synonyms: bool = True,
    ) -> None:
        self.backtranslation = Backtranslation(translator, pivots)
        self.phrase_table = PhraseTable(everyday_phrases(), read_table(__package__, "backtranslation.toml"))
        table = read_table(__package__, "synonyms.toml")
        self.synonyms = {kind: PhraseTable({"phrases": table["words"] | table[kind]}) for kind in _SHARES}
        self.with_synonyms = synonyms
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
            new = self._reworded(text, back.get(text, ()), "names", random(f"{element.key} name"))
            return [_written_like(element.name, new)] if new != text else ()

        def description(element: Element) -> str:
            text = element.description
            if not self.with_descriptions:
                return text
            return self._reworded(text, back.get(text, ()), "descriptions", random(f"{element.key} description"))

        return reword(schema, names, description)

    def _reworded(self, text: str, routes: Sequence[Sequence[Translation]], kind: str, random: Random) -> str:
        """The text in other words: those that came back, and synonyms where none did."""
        if self.whole:
            # The first answer of each route, if it may stand for the text.
            ways = set()
            for route in routes:
                styled = (candidates.match_style(_SUBJECT.sub("", candidate.text), text) for candidate in route)
                ways.update([way for way in styled if way != text and not candidates.find_problem(text, way)][:1])
            return random.choice(sorted(ways)) if ways else text
        # Changes of one table lie in the same places, whatever came back.
        possible = {
            change
            for route in routes
            for back in route[:1]
            for change in self.phrase_table.find_changes(text, back.text)
        }
        offers = [sorted(ways) for _, ways in groupby(sorted(possible), key=lambda change: change.start)]
        changes = [random.choice(offer) for offer in offers]
        if self.with_synonyms and not (kind == "names" and changes):
            changes += self._draw_synonyms(text, changes, kind, random)
        return apply_changes(text, sorted(changes))

    def _draw_synonyms(self, text: str, taken: Sequence[Change], kind: str, random: Random) -> list[Change]:
        """Synonyms for the phrases that have not changed."""
        drawn = []
        for offer in self.synonyms[kind].offers(text):
            fitting = [way for way in offer if way.start == 0 or not _OPENING.match(way.text)]
            is_free = all(offer[0].end <= change.start or change.end <= offer[0].start for change in taken)
            if fitting and is_free and random.random() < _SHARES[kind]:
                drawn.append(random.choice(fitting))
        return drawn


def _spoken(name: str) -> str:
    """A name as words: `alarm_time`, `GetAlarms` -> `alarm time`, `get alarms`."""
    return " ".join(split_name(name)).lower()


def _written_like(name: str, text: str) -> str:
    """A text as a name in the style of another, which may begin with a small letter."""
    joined = join_name([word.lower() for word in split_name(text)], name)
    return joined if name[:1].isupper() else joined[:1].lower() + joined[1:]
