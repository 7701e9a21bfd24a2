"""A generative tracker's network and tokenizer: from a checkpoint of any kind, or a configuration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from dstress.learning.devices import require_transformers
from dstress.learning.pretrained import Pretrained

_SPECIAL = ("<pad>", "<end>")


class Shape(NamedTuple):
    """The size of a network that is trained from nothing."""

    width: int
    layers: int
    heads: int
    words: int
    """Tokens of its vocabulary, at most."""


class Backbone(Pretrained):
    """A tokenizer and a network that writes."""

    @property
    def pad(self) -> int:
        """The token that fills up a batch."""
        pad = self.tokenizer.pad_token_id
        return int(self.end if pad is None else pad)

    @property
    def end(self) -> int:
        """The token after the last."""
        return int(self.tokenizer.eos_token_id)


def learn_tokenizer(texts: Iterable[str], words: int) -> Any:
    """Pieces of words by how often a corpus has them: byte-level BPE, which can write anything."""
    transformers = require_transformers()
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=words,
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    pad, end = _SPECIAL
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=pad, eos_token=end)
