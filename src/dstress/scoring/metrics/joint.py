"""Joint goal accuracy: everything right, or nothing gained."""

from __future__ import annotations

import numpy as np

from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Booleans
from dstress.scoring.metrics.base import Floats, Metric, over_units


class Jga(Metric):
    """Share of units in which every slot is right; under a fuzzy convention, the mean product of similarities."""

    name = "jga"

    def statistics(self, alignment: Alignment) -> Floats:
        return over_units(alignment.joint)


class CatJga(Metric):
    """Joint accuracy over categorical slots, over units whose schema has any (DSTC8's joint_cat_accuracy)."""

    name = "cat-jga"
    categorical = True

    def missing(self, alignment: Alignment) -> str:
        kind = "categorical slots" if self.categorical else "slots that are not categorical"
        return "" if self._offered(alignment).any() else f"the schema has no {kind}"

    def statistics(self, alignment: Alignment) -> Floats:
        cells = alignment.categorical if self.categorical else ~alignment.categorical
        return over_units(alignment.joint_over(cells), self._offered(alignment))

    def _offered(self, alignment: Alignment) -> Booleans:
        """Units that could have a slot of the kind at all; the others are not counted, as in the script."""
        columns = alignment.columns
        kinds = {
            service.name: any(slot.categorical is self.categorical for slot in service.slots)
            for service in columns.schema.services
            if alignment.services is None or service.name in alignment.services
        }
        if not alignment.convention.within_schema:
            return np.full(alignment.units, any(kinds.values()))
        frames = np.array([kinds.get(service, False) for service in columns.services], bool)[columns.frame_service]
        return np.asarray(alignment.by_unit(frames[:, None].astype(np.float64))[:, 0] > 0, bool)


class NoncatJga(CatJga):
    """Joint accuracy over slots that are not categorical (DSTC8's joint_noncat_accuracy)."""

    name = "noncat-jga"
    categorical = False
