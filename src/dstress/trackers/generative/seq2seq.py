"""The sequence-to-sequence family: an encoder reads, a decoder writes, as BART-DST, T5DST and PrefineDST do."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from dstress.learning.base import Batch, Loss
from dstress.learning.tensors import pad_rows
from dstress.trackers.generative.backbones import Shape
from dstress.trackers.generative.model import IGNORED, GenerativeModel, TokenLesson, cross_entropy


class Seq2SeqModel(GenerativeModel):
    """The prompt goes into the encoder, the answer comes out of the decoder."""

    auto = "AutoModelForSeq2SeqLM"
    pads_left = False

    @classmethod
    def configure(cls, shape: Shape, tokenizer: Any) -> Any:
        """A small T5."""
        from transformers import T5Config, T5ForConditionalGeneration

        return T5ForConditionalGeneration(
            T5Config(
                vocab_size=shape.words,
                d_model=shape.width,
                d_kv=shape.width // shape.heads,
                d_ff=3 * shape.width,
                num_layers=shape.layers,
                num_heads=shape.heads,
                feed_forward_proj="gated-gelu",
                pad_token_id=tokenizer.pad_token_id,
                eos_token_id=tokenizer.eos_token_id,
                decoder_start_token_id=tokenizer.pad_token_id,
            )
        )

    def collate(self, examples: Sequence[TokenLesson], random: Random) -> Batch:
        """What the encoder reads, and what the decoder is to write."""
        return {
            "tokens": pad_rows([example.prompt for example in examples], self.backbone.pad),
            "mask": pad_rows([[1] * len(example.prompt) for example in examples], 0),
            "labels": pad_rows([example.answer for example in examples], IGNORED),
        }

    def loss(self, batch: Batch, embeddings: Any = None) -> Loss:
        """Of the answers' tokens."""
        embeddings = self.embed(batch) if embeddings is None else embeddings
        output = self.module(inputs_embeds=embeddings, attention_mask=batch["mask"], labels=batch["labels"])
        return cross_entropy(output.logits.flatten(0, 1), batch["labels"].flatten())
