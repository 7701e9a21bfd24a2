"""The causal family: a language model reads the dialogue and goes on with the state, as SimpleTOD and SOLOIST do."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from dstress.learning.base import Batch, Loss
from dstress.learning.tensors import pad_rows
from dstress.trackers.generative.backbones import Shape
from dstress.trackers.generative.model import IGNORED, GenerativeModel, TokenLesson, cross_entropy


class CausalModel(GenerativeModel):
    """Prompt and answer are one text; only the answer is learned."""

    auto = "AutoModelForCausalLM"
    pads_left = True

    @classmethod
    def configure(cls, shape: Shape, tokenizer: Any) -> Any:
        """A small Llama."""
        from transformers import LlamaConfig, LlamaForCausalLM

        return LlamaForCausalLM(
            LlamaConfig(
                vocab_size=shape.words,
                hidden_size=shape.width,
                intermediate_size=3 * shape.width,
                num_hidden_layers=shape.layers,
                num_attention_heads=shape.heads,
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
