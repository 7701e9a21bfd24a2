"""Texts through other languages and back, by several routes at once; what both back-translating stressors share."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from dstress.errors import SpecError
from dstress.spec import ComponentSpec
from dstress.stressors.translators import Translation, Translator, translators
from dstress.stressors.translators.base import ENGLISH

MOST_KEPT = 50_000
"""How many texts' back-translations are kept at hand: dialogues repeat "thank you" and "that is all" all the time."""


class Backtranslation:
    """A translator and the routes to take with it; without `routes`, those that the translator takes by itself."""

    def __init__(self, translator: str | ComponentSpec, routes: Sequence[str]) -> None:
        self.translator: Translator = translators.create(translator)
        self.routes = tuple(routes) or self.translator.routes
        if not all(all(part.strip() for part in route.split("-")) for route in self.routes):
            raise SpecError(f"pivots: a route is empty in {list(self.routes)}", fix="name languages: es, eo, es-en-eo")
        self._kept: dict[str, list[list[Translation]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What is kept at hand stays behind when it is sent to another process."""
        return self.__dict__ | {"_kept": {}}

    def check(self) -> None:
        """Raise MissingExtraError if a step of a route cannot be taken here."""
        for route in self.routes:
            for source, target in steps(route):
                self.translator.check(source, target)

    def translations(self, texts: Sequence[str]) -> list[list[list[Translation]]]:
        """For each text, for each route, the candidates that came back; none if the translator failed on it."""
        new = sorted({text for text in texts if text not in self._kept})
        if len(self._kept) + len(new) > MOST_KEPT:
            self._kept.clear()
            new = sorted(set(texts))
        # The translator's programs do the work, a thread only waits for them. In two halves, so that one is on its way
        # back while the other is still on its way there.
        tasks = [(route, half) for half in (new[0::2], new[1::2]) if half for route in self.routes]
        with ThreadPoolExecutor(max(1, len(tasks))) as threads:
            done = list(threads.map(lambda task: round_trips(self.translator, task[1], task[0]), tasks))
        for (_, half), translations in zip(tasks, done, strict=True):
            for text, candidates in zip(half, translations, strict=True):
                self._kept.setdefault(text, []).append(candidates)
        return [self._kept[text] for text in texts]


def steps(route: str) -> list[tuple[str, str]]:
    """The translations that a route takes: `es-en_US` is from English to Spanish, then to American English."""
    stations = [ENGLISH, *route.split("-")]
    if stations[-1].partition("_")[0] != ENGLISH:
        stations.append(ENGLISH)
    return list(pairwise(stations))


def round_trips(translator: Translator, texts: Sequence[str], route: str) -> list[list[Translation]]:
    """Each text through other languages and back: with K candidates each way, K x K (CoCo, Li et al. 2021, 4.1).

    A candidate's score is the sum of its steps' scores, CoCo's round-trip confidence; candidates are sorted by it.
    """
    candidates = [[Translation(text)] for text in texts]
    for source, target in steps(route):
        distinct = sorted({candidate.text for each in candidates for candidate in each})
        translations = dict(zip(distinct, translator.translate(distinct, source, target), strict=True))
        for place, before in enumerate(candidates):
            best: dict[str, float] = {}
            for text, score in before:
                for translated, more in translations[text]:
                    best[translated] = max(score + more, best.get(translated, score + more))
            # Sorting keeps the translator's own order where scores are equal.
            candidates[place] = sorted(map(Translation, best.keys(), best.values()), key=lambda each: -each.score)
    return candidates
