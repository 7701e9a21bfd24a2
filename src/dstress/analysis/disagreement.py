"""Where systems differ: turns that some runs have right and others wrong, with what the wrong ones say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from dstress.alignment.errors import SlotError
from dstress.dialogue import first_forms
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.runs.scores import find_errors


class Disagreement(msgspec.Struct, frozen=True):
    """A turn on which runs disagree. `wrong` has, of each run that is wrong, what it says of the slots that it has
    wrong; empty: nothing."""

    variant: str
    dialogue: str
    turn: int
    system: str
    user: str
    gold: dict[str, str]
    wrong: dict[str, dict[str, str]]


def find_disagreements(runs: Mapping[str, RunFolder], variants: Sequence[str]) -> Iterator[Disagreement]:
    """The turns that one of the runs has right and another wrong, by variant.

    Of a stressed variant only turns that the stressor changed, since the others are those of the original.
    """
    errors = {name: find_errors(run) for name, run in runs.items()}
    first = next(iter(runs.values()))
    for variant in variants:
        for dialogue in first.dialogues(variant):
            for number, turn in enumerate(dialogue.turns):
                if variant != ORIGINAL and not turn.changed:
                    continue
                place = dialogue.id, number
                found = {name: _wrong(errors[name][variant].get(place, ())) for name in runs}
                wrong = {name: slots for name, slots in found.items() if slots}
                if 0 < len(wrong) < len(runs):
                    gold = first_forms(turn.state)
                    yield Disagreement(variant, *place, turn.system, turn.user, gold, wrong)


def _wrong(errors: Sequence[SlotError]) -> dict[str, str]:
    return {error.slot: error.value for error in errors if not error.is_right}
