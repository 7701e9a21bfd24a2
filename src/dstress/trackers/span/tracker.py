"""TripPy's family as a tracker; the network is in `model`."""

from __future__ import annotations

from dstress.trackers.learned import LearnedTracker


class Span(LearnedTracker):
    """TripPy's family, trained: values copied from the user's words, the system's, or from other slots."""

    family = "span"
    model = "dstress.trackers.span.model:SpanModel"
    sequential = True
    batch = 64
    gpu_batch = 1024
