"""Where to draw the line: from which logit on a slot counts as spoken about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def break_even(logits: NDArray[np.float32], targets: NDArray[np.float32], weights: NDArray[np.float32]) -> float:
    """The logit from which as many pairs are found as are labelled: precision and recall are then the same."""
    ranked = np.sort(logits[weights > 0], axis=None)[::-1]
    count = int((targets * weights).sum())
    return float(ranked[min(max(count, 1), ranked.size) - 1]) if ranked.size else 0.0
