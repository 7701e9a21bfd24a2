"""The generative families as trackers; their networks are in `causal` and `seq2seq`."""

from __future__ import annotations

from dstress.trackers.learned import LearnedTracker


class Causal(LearnedTracker):
    """A language model, trained, that goes on with the state: SimpleTOD, SOLOIST."""

    family = "causal"
    model = "dstress.trackers.generative.causal:CausalModel"
    sequential = True
    batch = 64
    gpu_batch = 2048


class Seq2Seq(LearnedTracker):
    """An encoder and a decoder, trained, that writes the state: BART-DST, T5DST, PrefineDST."""

    family = "seq2seq"
    model = "dstress.trackers.generative.seq2seq:Seq2SeqModel"
    sequential = True
    batch = 64
    gpu_batch = 2048
