"""The backbone from a checkpoint: any sequence-to-sequence model in Hugging Face's layout, T5 and BART among them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch.nn import functional

from dstress.errors import MissingExtraError
from dstress.generators.network.backbone import Backbone, Generated
from dstress.generators.network.linear_form import LONGEST, Example, in_plain_words

_MODEL = "model"
_IGNORED = -100


class Pretrained(Backbone):
    """A pretrained encoder-decoder, fine-tuned as CoCo does (E.1): values in words, tokens of its own."""

    name = "pretrained"

    def __init__(self, tokenizer: Any, model: Any) -> None:
        self.tokenizer, self.module = tokenizer, model

    @classmethod
    def fresh(cls, checkpoint: str) -> Pretrained:
        """A checkpoint, by its folder or, while online, its name on the hub."""
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(checkpoint)
            model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint)
        except (OSError, ValueError, ImportError, RuntimeError) as error:
            raise MissingExtraError(
                f"the checkpoint {checkpoint!r} cannot be read: {str(error).splitlines()[0]}",
                fix="give the folder of a sequence-to-sequence checkpoint, or a hub name while online",
            ) from error
        return cls(tokenizer, model.float())

    @classmethod
    def load(cls, folder: Path, config: dict[str, Any]) -> Pretrained:
        """A trained one."""
        return cls.fresh(str(folder / _MODEL))

    def save(self, folder: Path) -> dict[str, Any]:
        """Model and tokenizer, as their library writes them."""
        self.module.save_pretrained(folder / _MODEL)
        self.tokenizer.save_pretrained(folder / _MODEL)
        return {}

    def loss(self, examples: Sequence[Example], random: Random | None, smoothing: float = 0.0) -> tuple[Any, int]:
        """Over the checkpoint's own tokens."""
        texts = [in_plain_words(example, random) for example in examples]
        source, mask = self._pad([self._tokens(text) for text, _ in texts])
        rows = [self._tokens(text) for _, text in texts]
        labels, label_mask = self._pad(rows)
        labels = labels.masked_fill(label_mask == 0, _IGNORED)
        logits = self.module(input_ids=source, attention_mask=mask, labels=labels).logits
        nll = functional.cross_entropy(
            logits.flatten(0, 1).float(), labels.flatten(), reduction="sum", label_smoothing=smoothing
        )
        return nll, sum(map(len, rows))

    def generate(
        self, examples: Sequence[Example], beams: int, *, forces_values: bool = False
    ) -> list[list[Generated]]:
        """Plain beam search: the filters see to what is missing, and no value can be forced."""
        if forces_values:
            return [[] for _ in examples]
        source, mask = self._pad([self._tokens(in_plain_words(example)[0]) for example in examples])
        with torch.inference_mode():
            output = self.module.generate(
                input_ids=source,
                attention_mask=mask,
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

    def _pad(self, rows: list[list[int]]) -> tuple[Any, Any]:
        length = max(map(len, rows))
        tokens = [row + [self.tokenizer.pad_token_id or 0] * (length - len(row)) for row in rows]
        mask = [[1] * len(row) + [0] * (length - len(row)) for row in rows]
        return torch.tensor(tokens, device=self.module.device), torch.tensor(mask, device=self.module.device)
