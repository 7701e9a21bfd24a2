"""The contract of an utterance generator: what would a user say to this system turn who wants exactly this?

CoCo models p(user | system, turn-level goal) (Li et al. 2021, 4.2). Any way to say a goal will do: templates, a trained
encoder-decoder, a large language model. Candidates are checked afterwards by filters that know no generator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from dstress.resources import Material, Resources

if TYPE_CHECKING:  # networks are trained where torch and msgspec are all there is
    from dstress.text.utterance import Utterance


class Goal(NamedTuple):
    """The turn-level goal of one user turn, by slot ids.

    `spoken` are the values that the user's words must say. `unspoken` are those that the turn's label holds without the
    user saying them: an offer of the system's that is taken up, or something that no words express. They stay.
    """

    spoken: Mapping[str, str]
    unspoken: Mapping[str, str] = {}
    may_decline: bool = False
    """Whether the words may say no to what the system offers: not those of a user who said yes to it."""

    @property
    def slots(self) -> frozenset[str]:
        """Every slot that the turn is about."""
        return frozenset((*self.spoken, *self.unspoken))


class Candidate(NamedTuple):
    """One utterance. `score` is a log-probability, or anything that grows with the fit; the best comes first."""

    text: str
    score: float = 0.0


class Request(NamedTuple):
    """One thing to say, and the system's words that it answers (empty at the start of a dialogue).

    `utterance` is the one in whose place it will stand, where there is one: its acts say what else the user does.
    `keeps`: what it says beside the goal must stay, as in a paraphrase.
    """

    system: str
    goal: Goal
    utterance: Utterance | None = None
    keeps: bool = False


class Generator(ABC):
    """Says goals in words. Constructor arguments become arguments of its spec."""

    needs: ClassVar[tuple[str, ...]] = ()
    """Programs and extras that must be there; `prepare` looks for them."""

    keeps: ClassVar[bool] = False
    """Whether it heeds `Request.keeps`: what a user says beside the goal then stays in its candidates."""

    @abstractmethod
    def prepare(self, resources: Resources, train: Material) -> None:
        """Check every need, and learn from the training corpus. Afterwards it must survive pickling."""

    def generate(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        """Up to `n` different utterances, the best first; none if it knows no way to say the goal.

        The same arguments always give the same candidates, whatever was asked before. Whoever generates in batches
        defines `generate_all` instead.
        """
        return self.generate_all([Request(system, goal)], n)[0]

    def files(self) -> tuple[Path, ...]:
        """The files that its candidates depend on, such as weights: where one changes, candidates are others."""
        return ()

    def generate_all(self, requests: Sequence[Request], n: int) -> list[list[Candidate]]:
        """Many at once, for generators that work in batches. What comes back must not depend on the others."""
        return [self.generate(system, goal, n) for system, goal, *_ in requests]
