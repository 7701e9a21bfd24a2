"""The metric `first-turn-jga`."""

from typing import Any

from dstress.api import Metric, over_units


class FirstTurnJga(Metric):
    """Joint goal accuracy over the first turn of each dialogue."""

    name = "first-turn-jga"

    def statistics(self, alignment: Any) -> Any:
        """For each unit, whether it is right and whether it counts; sums and intervals come by themselves."""
        first = alignment.columns.turn_index[alignment.unit_turn] == 0
        return over_units(alignment.joint, first)
