"""The two networks that write states: one that goes on with a text, one that reads a text and writes another."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from dstress.learning.base import Batch, Loss
from dstress.learning.batches import IGNORED, pad_rows
from dstress.trackers.generative.model import GenerativeModel, Options, TokenLesson, cross_entropy


class CausalModel(GenerativeModel):
    """A language model reads the dialogue and goes on with the state, as SimpleTOD and SOLOIST do.

    Prompt and answer are one text; only the answer is learned.
    """

    auto = "AutoModelForCausalLM"
    pads_left = True

    @classmethod
    def configure(cls, options: Options, tokenizer: Any) -> Any:
        """A small Llama."""
        from transformers import LlamaConfig, LlamaForCausalLM

        return LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(tokenizer),
                hidden_size=options.width,
                intermediate_size=3 * options.width,
                num_hidden_layers=options.layers,
                num_attention_heads=options.heads,
                tie_word_embeddings=True,
                pad_token_id=tokenizer.pad_token_id,
                bos_token_id=None,
                eos_token_id=tokenizer.eos_token_id,
            )
        )

    def collate(self, examples: Sequence[TokenLesson], random: Random) -> Batch:
        """Padded on the right, where nothing before it can look: no mask is needed."""
        return {
            "tokens": pad_rows([[*example.prompt, *example.answer] for example in examples], self.backbone.pad),
            "labels": pad_rows([[*[IGNORED] * len(each.prompt), *each.answer] for each in examples], IGNORED),
        }

    def loss(self, batch: Batch, embeddings: Any = None) -> Loss:
        """Of the answers' tokens; scores of other places are not even computed."""
        embeddings = self.embed(batch) if embeddings is None else embeddings
        hidden = self.module.base_model(inputs_embeds=embeddings, use_cache=False).last_hidden_state
        labels = batch["labels"][:, 1:]
        is_answer = labels != IGNORED
        return cross_entropy(self.module.get_output_embeddings()(hidden[:, :-1][is_answer]), labels[is_answer])


class Seq2SeqModel(GenerativeModel):
    """An encoder reads, a decoder writes, as BART-DST, T5DST and PrefineDST do."""

    auto = "AutoModelForSeq2SeqLM"
    pads_left = False

    @classmethod
    def configure(cls, options: Options, tokenizer: Any) -> Any:
        """A small T5."""
        from transformers import T5Config, T5ForConditionalGeneration

        return T5ForConditionalGeneration(
            T5Config(
                vocab_size=len(tokenizer),
                d_model=options.width,
                d_kv=options.width // options.heads,
                d_ff=3 * options.width,
                num_layers=options.layers,
                num_heads=options.heads,
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
