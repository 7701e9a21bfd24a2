"""What a run over a priced endpoint would cost, by the turns that were asked so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Self

from dstress.errors import DstressError
from dstress.trackers.base import Tracker


class Estimate(NamedTuple):
    """Tokens and money for so many turns, by what others have cost."""

    turns: int
    by: int
    tokens_in: float
    tokens_out: float
    money: float

    @classmethod
    def of(cls, turns: int, usage: Mapping[str, float]) -> Self:
        """The estimate that a tracker's counts give. What it knew already cost nothing and stands for no cost."""
        paid_turns = usage["requests"] / (usage["requests"] + usage.get("cached", 0)) * usage["turns"]
        used = (usage.get(what, 0) * turns / paid_turns for what in ("tokens_in", "tokens_out", "cost"))
        return cls(turns, round(paid_turns), *used)

    def __str__(self) -> str:
        tokens = f"{self.tokens_in:,.0f} tokens in, {self.tokens_out:,.0f} out"
        return (
            f"{self.turns:,} more turns would cost about {self.money:,.2f} ({tokens}), by {self.by:,} that were asked"
        )


class UnconfirmedCost(DstressError):
    """A run that would cost money, which nobody has agreed to yet; the turns that were asked are kept."""

    def __init__(self, estimate: Estimate, where: str) -> None:
        super().__init__(str(estimate), where=where, fix="go on with --resume --yes: what was asked is kept")
        self.estimate = estimate


def require_budget(tracker: Tracker, turns: int | None, usual: int) -> int:
    """How many turns may be asked: the usual number, unless a tracker costs money and nobody said how much of it."""
    if tracker.priced and turns is None:
        raise DstressError(
            "answers of this tracker cost money", where=tracker.spec, fix="say how many turns may be asked: --budget N"
        )
    return usual if turns is None else turns
