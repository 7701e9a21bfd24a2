"""The built-in families of trackers that learn; their networks are in the packages named here."""

from __future__ import annotations

from pathlib import Path

from dstress.learning.checkpoints import NOTES, find_checkpoint, read_notes
from dstress.trackers.learned import LearnedTracker


class Copy(LearnedTracker):
    """TRADE, trained: a gate for each slot, values copied from the dialogue or written word by word."""

    family = "copy"
    model = "dstress.trackers.copy.model:CopyModel"
    batch = 128
    gpu_batch = 2048


class Span(LearnedTracker):
    """TripPy's family, trained: values copied from the user's words, the system's, or from other slots."""

    family = "span"
    model = "dstress.trackers.span.model:SpanModel"
    sequential = True
    gpu_batch = 1024


class SchemaReader(LearnedTracker):
    """SGP-DST's kind, trained: descriptions are read with the dialogue, so that it knows services it never saw."""

    family = "schema_reader"
    model = "dstress.trackers.schema_reader.model:SchemaReaderModel"
    sequential = True
    gpu_batch = 256


class Generative(LearnedTracker):
    """A family whose checkpoints differ in what they read: only some need their own previous answer."""

    sequential = True
    gpu_batch = 2048

    def __init__(self, path: Path, device: str = "", batch: int = 0) -> None:
        super().__init__(path, device, batch)
        notes = find_checkpoint(path) / NOTES
        if notes.is_file():  # `check` reports a folder that is no checkpoint
            self.sequential = bool(read_notes(notes.parent)["model"].get("previous"))


class Causal(Generative):
    """A language model, trained, that goes on with the state: SimpleTOD, SOLOIST."""

    family = "causal"
    model = "dstress.trackers.generative.networks:CausalModel"


class Seq2Seq(Generative):
    """An encoder and a decoder, trained, that writes the state: BART-DST, T5DST, PrefineDST."""

    family = "seq2seq"
    model = "dstress.trackers.generative.networks:Seq2SeqModel"
