"""Rows of numbers as one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


def pad_rows(rows: Sequence[Sequence[int] | NDArray[np.int64]], filler: int, *, left: bool = False) -> Any:
    """Rows, made as long as the longest with a filler after them, or before them on the `left`."""
    length = max(map(len, rows), default=1)
    table = np.full((len(rows), length), filler, np.int64)
    for row, numbers in zip(table, rows, strict=True):
        row[slice(length - len(numbers), length) if left else slice(len(numbers))] = numbers
    return torch.from_numpy(table)
