"""The contract of a slot classifier: which slots do a system turn and the user's answer speak about?

CoCo rejects an utterance that speaks about a slot outside its goal (4.3, over-generation). The classifier reads words,
never labels, so that it can judge utterances that nobody has labelled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from dstress.resources import Material, Resources


class Exchange(NamedTuple):
    """What a classifier sees: the words before the system's turn (the latest last), the system's turn, the answer."""

    history: tuple[str, ...]
    system: str
    user: str


class SlotClassifier(ABC):
    """Says which slots an exchange adds to the state. Constructor arguments become arguments of its spec."""

    needs: ClassVar[tuple[str, ...]] = ()
    """Extras that must be there; `prepare` looks for them."""

    @abstractmethod
    def prepare(self, resources: Resources, train: Material) -> None:
        """Check every need, and learn from the training corpus. Afterwards it must survive pickling."""

    @abstractmethod
    def slots(self, exchanges: Sequence[Exchange]) -> list[frozenset[str]]:
        """For each exchange the slot ids that the user's turn speaks about, whatever else is asked at once."""
