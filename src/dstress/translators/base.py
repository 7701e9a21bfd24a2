"""The contract of a translator: texts in one language in, a few candidates in another language out.

Languages are two-letter codes, with a variant after an underscore where there is one: `en`, `es`, `en_US`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple

ENGLISH = "en"


class Translation(NamedTuple):
    """One candidate. `score` is its log-probability; translators without one say 0 and give the best first."""

    text: str
    score: float = 0.0


class Translator(ABC):
    """Translates in batches. Constructor arguments become arguments of its spec."""

    needs: ClassVar[tuple[str, ...]] = ()
    """Programs and extras that must be there; `check` looks for them."""

    routes: tuple[str, ...] = ("es",)
    """The ways from English through other languages that it takes when no others are named: `es`, `es-en-eo`."""

    rough: bool = False
    """Whether its sentences are too broken to be said as they are: then only single words are taken over from them."""

    @abstractmethod
    def check(self, source: str, target: str) -> None:
        """Before any work: raise MissingExtraError if it cannot translate from `source` to `target` here."""

    @abstractmethod
    def translate(self, texts: Sequence[str], source: str, target: str) -> list[list[Translation]]:
        """The candidates for each text, best first; none for a text that it cannot translate, also after retries.

        What comes back for a text must not depend on the texts beside it. Several threads may call at once.
        """

    def close(self) -> None:
        """Give back what it holds, such as processes. It may be used again afterwards."""
        return


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
    found = [[Translation(text)] for text in texts]
    for source, target in steps(route):
        distinct = sorted({candidate.text for candidates in found for candidate in candidates})
        translations = dict(zip(distinct, translator.translate(distinct, source, target), strict=True))
        found = [_translate_candidates(candidates, translations) for candidates in found]
    return found


def _translate_candidates(
    candidates: list[Translation], translations: dict[str, list[Translation]]
) -> list[Translation]:
    best: dict[str, float] = {}
    for candidate in candidates:
        for translation in translations[candidate.text]:
            score = candidate.score + translation.score
            best[translation.text] = max(score, best.get(translation.text, score))
    # Sorting keeps the translator's own order where scores are equal.
    return sorted((Translation(text, score) for text, score in best.items()), key=lambda each: -each.score)
