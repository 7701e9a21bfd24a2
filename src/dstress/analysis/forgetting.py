"""What training unlearns: turns that earlier checkpoints of a tracker have right, and the last one has wrong."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dstress.analysis.disagreement import find_disagreements
from dstress.runs.folder import RunFolder


class ForgottenTurn(msgspec.Struct, frozen=True):
    """A turn that was right once. `wrong` has what the last run says of each slot that it has wrong; empty: nothing."""

    variant: str
    dialogue: str
    turn: int
    system: str
    user: str
    right_at: tuple[str, ...]
    """The earlier runs that have it right, by their folders."""
    gold: dict[str, str]
    wrong: dict[str, str]


def find_forgotten(runs: Sequence[RunFolder]) -> list[ForgottenTurn]:
    """The turns that the last of these runs has wrong and an earlier one right: first those that most had right.

    Of a stressed variant only turns that the stressor changed, since the others are those of the original.
    """
    by_name = {run.path.name: run for run in runs}
    *earlier, last = by_name
    found = [
        ForgottenTurn(one.variant, one.dialogue, one.turn, one.system, one.user, right_at, one.gold, one.wrong[last])
        for one in find_disagreements(by_name, runs[-1].variants)
        if last in one.wrong and (right_at := tuple(name for name in earlier if name not in one.wrong))
    ]
    return sorted(found, key=lambda turn: -len(turn.right_at))
