"""TRADE as a tracker; the network is in `model`."""

from __future__ import annotations

from dstress.trackers.learned import LearnedTracker


class Copy(LearnedTracker):
    """TRADE, trained: a gate for each slot, values copied from the dialogue or written word by word."""

    family = "copy"
    model = "dstress.trackers.copy.model:CopyModel"
    batch = 128
    gpu_batch = 2048
