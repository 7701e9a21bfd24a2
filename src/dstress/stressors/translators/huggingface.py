"""Any sequence-to-sequence translation model in Hugging Face's layout, such as the Marian models CoCo could use."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import groupby
from threading import Lock
from typing import Any, ClassVar

from dstress.errors import MissingExtraError, SpecError
from dstress.stressors.translators.base import ENGLISH, Translation, Translator

LONGEST = 512
"""Tokens of a text; what is longer is not translated."""


class HuggingFace(Translator):
    """Two models, there (`model`) and back (`back`), by path or hub name; beam search, `num` candidates each way.

    With `num=K` a text comes back in K x K candidates, ranked by the sum of both models' scores, as CoCo does. `device`
    is torch's name for where they run; by default a GPU where there is one.
    """

    needs: ClassVar[tuple[str, ...]] = ("models",)
    routes = ("pivot",)

    def __init__(self, model: str, back: str, num: int = 4, batch: int = 32, device: str = "") -> None:
        if num < 1 or batch < 1:
            raise SpecError("huggingface: num and batch must be 1 or more")
        self.model, self.back, self.num, self.batch, self.device = model, back, num, batch, device
        self._loaded: dict[str, tuple[Any, Any]] = {}
        self._turn = Lock()

    def __reduce__(self) -> tuple[type[HuggingFace], tuple[str, str, int, int, str]]:
        """Models are loaded again where it is sent to."""
        return HuggingFace, (self.model, self.back, self.num, self.batch, self.device)

    def check(self, source: str, target: str) -> None:
        """The extra is installed and both models can be read."""
        missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
        if missing:
            raise MissingExtraError(
                f"the translator huggingface needs {missing[0]}", fix="pip install 'dstress[models]'"
            )
        self._load(target)

    def translate(self, texts: Sequence[str], source: str, target: str) -> list[list[Translation]]:
        """The `num` best candidates of the beam for each text."""
        import torch

        translations: list[list[Translation]] = [[] for _ in texts]
        with self._turn:  # one batch at a time: each takes the whole machine
            tokenizer, model = self._load(target)
            rows = [(tokenizer(text)["input_ids"], place) for place, text in enumerate(texts) if text.strip()]
            short = sorted((len(row), place, row) for row, place in rows if 0 < len(row) <= LONGEST)
            # Texts of one length together, so that none is padded: padding could change what comes back for a text.
            groups = [list(same) for _, same in groupby(short, key=lambda entry: entry[0])]
            for batch in (group[at : at + self.batch] for group in groups for at in range(0, len(group), self.batch)):
                tokens = torch.tensor([row for _, _, row in batch], device=model.device)
                with torch.inference_mode():
                    output = model.generate(
                        input_ids=tokens,
                        attention_mask=torch.ones_like(tokens),
                        num_beams=self.num,
                        num_return_sequences=self.num,
                        do_sample=False,
                        max_new_tokens=2 * tokens.shape[1] + 16,
                        return_dict_in_generate=True,
                        output_scores=True,
                    )
                decoded = tokenizer.batch_decode(output.sequences, skip_special_tokens=True)
                scores = output.sequences_scores.tolist() if self.num > 1 else [0.0] * len(decoded)
                candidates = [Translation(text.strip(), score) for text, score in zip(decoded, scores, strict=True)]
                for at, (_, place, _) in enumerate(batch):
                    own = candidates[at * self.num : (at + 1) * self.num]
                    translations[place] = [candidate for candidate in own if candidate.text]
        return translations

    def _load(self, target: str) -> tuple[Any, Any]:
        """The tokenizer and the model for a target language, loaded once."""
        name = self.back if target.partition("_")[0] == ENGLISH else self.model
        if name in self._loaded:
            return self._loaded[name]
        import torch
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            tokenizer = AutoTokenizer.from_pretrained(name)
            model = AutoModelForSeq2SeqLM.from_pretrained(name).to(device).eval()
        except (OSError, ValueError, ImportError, RuntimeError) as error:
            raise MissingExtraError(
                f"the translation model {name!r} cannot be read: {str(error).splitlines()[0]}",
                fix="give the folder of a sequence-to-sequence checkpoint, or a hub name while online; Marian models "
                "also need the package sentencepiece",
            ) from error
        self._loaded[name] = tokenizer, model
        return tokenizer, model
