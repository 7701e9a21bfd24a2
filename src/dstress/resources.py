"""What a component is prepared with before any work: the corpus at hand, others by name, a place for its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from dstress.dialogue import Dialogue, Schema

T_co = TypeVar("T_co", covariant=True)


class Reiterable(Generic[T_co]):
    """Things that are read anew whenever they are iterated, such as dialogues that are stressed on the way."""

    def __init__(self, read: Callable[[], Iterator[T_co]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[T_co]:
        return self._read()


class Material(Protocol):
    """A corpus as a component sees it: a schema, and dialogues that can be read any number of times."""

    @property
    def schema(self) -> Schema: ...

    def __iter__(self) -> Iterator[Dialogue]: ...


class Resources(NamedTuple):
    """The corpus to work on, `load` for another by its name, and the data home's folder for what is to be kept."""

    schema: Schema
    corpus: Iterable[Dialogue]
    load: Callable[[str], Material]
    folder: Path
    predictions: Callable[..., Iterator[Any]] | None = None
    """Reads a prediction file of any format."""
    train: str = ""
    """The name of the corpus's own training split, `mwz21-trade:train`; empty where it has none."""
    variant: str = ""
    """Which variant of the corpus a tracker is to answer: `original`, or the stressor's spec."""
    repeat: int = 1
    """Which repeat of the variant it is, from 1: a tracker that keeps answers gives another in each."""
