"""What training unlearns: turns that earlier checkpoints of a tracker have right, and the last one has wrong."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dstress.alignment.errors import SlotError
from dstress.dialogue import first_forms
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.runs.scores import find_errors


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
    *earlier, last = runs
    now, before = find_errors(last), {run.path.name: find_errors(run) for run in earlier}
    found = []
    for variant in last.variants:
        for dialogue in last.dialogues(variant):
            for number, turn in enumerate(dialogue.turns):
                place = dialogue.id, number
                wrong = _wrong(now[variant].get(place, ()))
                if not wrong or not (variant == ORIGINAL or turn.changed):
                    continue
                if right_at := tuple(name for name in before if not _wrong(before[name][variant].get(place, ()))):
                    gold = first_forms(turn.state)
                    found.append(ForgottenTurn(variant, *place, turn.system, turn.user, right_at, gold, wrong))
    return sorted(found, key=lambda turn: -len(turn.right_at))


def _wrong(errors: Sequence[SlotError]) -> dict[str, str]:
    return {error.slot: error.value for error in errors if not error.is_right}
