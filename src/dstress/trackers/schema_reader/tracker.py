"""The schema's reader as a tracker; the network is in `model`."""

from __future__ import annotations

from dstress.trackers.learned import LearnedTracker


class SchemaReader(LearnedTracker):
    """SGP-DST's kind, trained: descriptions are read with the dialogue, so that it knows services it never saw."""

    family = "schema_reader"
    model = "dstress.trackers.schema_reader.model:SchemaReaderModel"
    sequential = True
    gpu_batch = 256
