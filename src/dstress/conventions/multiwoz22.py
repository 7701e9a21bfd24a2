"""The DSTC8 script as the MultiWOZ 2.2 paper runs it: no fuzzy matching, joint over all frames of a turn."""

from __future__ import annotations

from typing import ClassVar

from dstress.conventions.base import Unit
from dstress.conventions.dstc8 import Dstc8


class MultiWoz22(Dstc8):
    """Equality with any reference, letter case included; categorical slots: with the first reference, in any case.

    That is `--joint_acc_across_turn=True --use_fuzzy_match=False`. As in `dstc8`, slots outside the schema and
    services without a reference frame in the turn are not looked at.
    """

    name = "multiwoz22"
    unit: ClassVar[Unit] = "turn"

    def __init__(self) -> None:
        super().__init__(fuzzy=False)
