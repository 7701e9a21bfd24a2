"""The contract of a translator: texts in one language in, a few candidates in another language out.

Languages are two-letter codes, with a variant after an underscore where there is one: `en`, `es`, `en_US`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
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
