"""The backbone from a checkpoint: any sequence-to-sequence model in Hugging Face's layout, T5 and BART among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Self

import torch

from dstress.generators.network.backbone import Backbone, Generated, Lesson, Options, slots_of
from dstress.generators.network.linear_form import LONGEST, Example, in_plain_words
from dstress.learning import pretrained

_AUTO = "AutoModelForSeq2SeqLM"


class Pretrained(Backbone):
    """A pretrained encoder-decoder, fine-tuned as CoCo does (E.1): values in words, tokens of its own."""

    def __init__(self, options: Options, slots: Sequence[str], model: pretrained.Pretrained) -> None:
        super().__init__(options, slots, model.module)
        self.tokenizer, self.pad = model.tokenizer, model.tokenizer.pad_token_id or 0

    @classmethod
    def create(cls, options: Options, examples: Sequence[Example]) -> Self:
        """The checkpoint, which knows its words."""
        return cls(options, slots_of(examples), pretrained.Pretrained.read(options.checkpoint, _AUTO))

    def save(self, folder: Path) -> dict[str, Any]:
        """Tokenizer and configuration, as their library writes them."""
        pretrained.Pretrained(self.tokenizer, self.module).save(folder)
        return super().save(folder)

    @classmethod
    def restore(cls, saved: Mapping[str, Any], options: Options, folder: Path) -> Self:
        """The checkpoint that it began with is not needed again."""
        return cls(options, saved["slots"], pretrained.Pretrained.remake(folder, _AUTO))

    def encode(self, example: Example, random: Random | None = None) -> Lesson:
        """The checkpoint's own tokens."""
        source, target = (self._tokens(text) for text in in_plain_words(example, random))
        return Lesson(example.name, source, target)

    def generate(
        self, examples: Sequence[Example], beams: int, *, forces_values: bool = False
    ) -> list[list[Generated]]:
        """Plain beam search: the filters see to what is missing, and no value can be forced."""
        if forces_values:
            return [[] for _ in examples]
        sources = self.pad_sources([self.encode(example).source for example in examples])
        with torch.inference_mode():
            output = self.module.generate(
                **{name: part.to(self.module.device) for name, part in sources.items()},
                num_beams=beams,
                num_return_sequences=beams,
                do_sample=False,
                max_new_tokens=LONGEST,
                return_dict_in_generate=True,
                output_scores=True,
            )
        texts = self.tokenizer.batch_decode(output.sequences, skip_special_tokens=True)
        scores = output.sequences_scores.tolist() if beams > 1 else [0.0] * len(texts)
        generated = [Generated(" ".join(text.split()), [], score) for text, score in zip(texts, scores, strict=True)]
        return [generated[at : at + beams] for at in range(0, len(generated), beams)]

    def _tokens(self, text: str) -> list[int]:
        tokens: list[int] = self.tokenizer(text, truncation=True, max_length=2 * LONGEST)["input_ids"]
        return tokens
