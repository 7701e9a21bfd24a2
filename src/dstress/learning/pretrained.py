"""A tokenizer and a network of transformers, and how they are read from a checkpoint of any kind and made again.

A checkpoint is a folder in Hugging Face's layout, a name on its hub while online, or a GGUF file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from dstress.errors import DstressError
from dstress.learning.devices import require_transformers

_UNREADABLE = (OSError, ValueError, ImportError, RuntimeError, KeyError, TypeError)
"""What transformers raises where files are missing, torn or of another kind."""


def first_token(*tokens: int | None) -> int:
    """The first of some special tokens that a tokenizer has: kinds of networks name theirs differently."""
    return next((int(token) for token in tokens if token is not None), 0)


class Pretrained:
    """A tokenizer and a network; `auto` names the class of transformers that reads a kind of network."""

    def __init__(self, tokenizer: Any, module: Any) -> None:
        self.tokenizer, self.module = tokenizer, module
        # The token that fills up a batch; some checkpoints have none of their own.
        self.pad = first_token(tokenizer.pad_token_id, tokenizer.eos_token_id)

    @classmethod
    def read(cls, checkpoint: str, auto: str = "AutoModel") -> Self:
        """From a checkpoint, with its weights."""
        transformers = require_transformers()
        transformers.utils.logging.disable_progress_bar()
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
            return cls(tokenizer, module.float())
        except _UNREADABLE as error:
            raise DstressError(
                f"the checkpoint {checkpoint!r} cannot be read: {str(error).splitlines()[0]}",
                fix="give the folder of a checkpoint of this family, a GGUF file (pip install gguf accelerate), or a "
                "name on the hub while online",
            ) from error

    @classmethod
    def remake(cls, folder: Path, auto: str = "AutoModel") -> Self:
        """As it was saved, with weights still to come."""
        transformers = require_transformers()
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            config = transformers.AutoConfig.from_pretrained(folder)
            module = getattr(transformers, auto).from_config(config).float()
        except _UNREADABLE as error:
            raise DstressError(
                f"the network cannot be made again: {str(error).splitlines()[0]}", where=str(folder)
            ) from error
        tokens, most = len(tokenizer), module.get_input_embeddings().num_embeddings
        if tokens > most:
            raise DstressError(
                f"the tokenizer has {tokens} tokens, the network {most}",
                where=str(folder),
                fix="tokenizer, config and weights must be of one training",
            )
        return cls(tokenizer, module)

    def save(self, folder: Path) -> None:
        """All but the weights."""
        self.tokenizer.save_pretrained(folder)
        self.module.config.save_pretrained(folder)
