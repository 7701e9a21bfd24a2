"""Where a generative tracker's network and tokenizer come from: a checkpoint of any kind, or a configuration.

A checkpoint is a folder in Hugging Face's layout, a name on its hub while online, or a GGUF file.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from dstress.errors import DstressError, MissingExtraError
from dstress.learning.devices import require_transformers

_SPECIAL = ("<pad>", "<end>")


class Shape(NamedTuple):
    """The size of a network that is trained from nothing."""

    width: int
    layers: int
    heads: int
    words: int
    """Tokens of its vocabulary, at most."""


class Backbone(NamedTuple):
    """A tokenizer and a network, both of transformers."""

    tokenizer: Any
    module: Any

    @property
    def pad(self) -> int:
        """The token that fills up a batch."""
        pad = self.tokenizer.pad_token_id
        return int(self.end if pad is None else pad)

    @property
    def end(self) -> int:
        """The token after the last."""
        return int(self.tokenizer.eos_token_id)

    def save(self, folder: Path) -> None:
        """All but the weights."""
        self.tokenizer.save_pretrained(folder)
        self.module.config.save_pretrained(folder)


def read_backbone(checkpoint: str, auto: str) -> Backbone:
    """From a checkpoint; `auto` names the class of transformers that reads its kind."""
    transformers = require_transformers()
    kind, path = getattr(transformers, auto), Path(checkpoint)
    where, options = checkpoint, {}
    if path.suffix == ".gguf":
        where, options = str(path.parent), {"gguf_file": path.name}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(where, **options)
        module = kind.from_pretrained(where, **options)
        if options:  # transformers lets nobody change the precision of what it read from a GGUF file
            weights, config = module.state_dict(), module.config
            if hasattr(config, "quantization_config"):
                del config.quantization_config
            module = kind.from_config(config)
            module.load_state_dict(weights)
        return Backbone(tokenizer, module.float())
    except (OSError, ValueError, ImportError, RuntimeError, KeyError) as error:
        raise MissingExtraError(
            f"the checkpoint {checkpoint!r} cannot be read: {str(error).splitlines()[0]}",
            fix="give the folder of a checkpoint of this family, a GGUF file (pip install gguf accelerate), or a "
            "name on the hub while online",
        ) from error


def remake_backbone(folder: Path, auto: str) -> Backbone:
    """As it was saved, with weights still to come."""
    transformers = require_transformers()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        config = transformers.AutoConfig.from_pretrained(folder)
        return Backbone(tokenizer, getattr(transformers, auto).from_config(config).float())
    except (OSError, ValueError, ImportError, RuntimeError, KeyError) as error:
        raise DstressError(
            f"the network cannot be made again: {str(error).splitlines()[0]}", where=str(folder)
        ) from error


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
