"""The DSTC8 script as the MultiWOZ 2.2 paper runs it: no fuzzy matching, joint over all frames of a turn."""

from __future__ import annotations

from dstress.conventions.base import UNKNOWN_SLOT, Convention
from dstress.dialogue import Slot


class MultiWoz22(Convention):
    """Equality with any reference, letter case included; categorical slots: with the first reference, in any case.

    That is `--joint_acc_across_turn=True --use_fuzzy_match=False`. As in `dstc8`, slots outside the schema and
    services without a reference frame in the turn are not looked at.
    """

    name = "multiwoz22"
    within_schema = True

    def similarity(self, slot: str, accepted: tuple[str, ...], predicted: str, kind: Slot = UNKNOWN_SLOT) -> float:
        if kind.categorical:
            return float(accepted[0].lower() == predicted.lower())
        return float(predicted in accepted)
