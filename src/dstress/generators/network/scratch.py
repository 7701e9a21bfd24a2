"""The backbone from scratch: words, placeholders for values, a small transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch.nn import functional

from dstress.generators.network.backbone import Backbone, Spoken
from dstress.generators.network.beam_search import Sought, search
from dstress.generators.network.linear_form import Example, Known, known_from, lined
from dstress.generators.network.transformer import Network, Shape
from dstress.generators.network.vocabulary import VALUES, Vocabulary

_WEIGHTS = "weights.pt"


class Scratch(Backbone):
    """A network that knows only what the training corpus taught it."""

    name = "scratch"

    def __init__(self, vocabulary: Vocabulary, known: Known, network: Network) -> None:
        self.vocabulary, self.known, self.module = vocabulary, known, network

    @classmethod
    def fresh(cls, examples: Sequence[Example], width: int, layers: int, heads: int, dropout: float) -> Scratch:
        """An untrained network for the words of the examples."""
        known = known_from(examples)
        texts = [words for example in examples for words in lined(example, known)[:2]]
        texts += [words for example in examples for words in lined(example, known._replace(worded=()))[:2]]
        vocabulary = Vocabulary.learnt(texts)
        return cls(vocabulary, known, Network(Shape(len(vocabulary), width, layers, heads, dropout), vocabulary.pad))

    @classmethod
    def load(cls, folder: Path, config: dict[str, Any]) -> Scratch:
        """A trained one."""
        vocabulary = Vocabulary(config["vocabulary"])
        network = Network(Shape(*config["shape"]), vocabulary.pad)
        network.load_state_dict(torch.load(folder / _WEIGHTS, map_location="cpu", weights_only=True))
        worded = frozenset((slot, value) for slot, value in config["worded"])
        return cls(vocabulary, Known(worded, frozenset(config["typed"])), network)

    def save(self, folder: Path) -> dict[str, Any]:
        """The weights; words and shape go to the configuration."""
        torch.save(self.module.state_dict(), folder / _WEIGHTS)
        found = {"shape": list(self.module.shape), "vocabulary": self.vocabulary.words}
        return found | {"worded": sorted(map(list, self.known.worded)), "typed": sorted(self.known.typed)}

    def loss(self, examples: Sequence[Example], random: Random | None, smoothing: float = 0.0) -> tuple[Any, int]:
        """Over words and placeholders, and the end of each text."""
        vocabulary = self.vocabulary
        read = [lined(example, self.known, random) for example in examples]
        targets = [vocabulary.read(one.target) for one in read]
        source = self._padded([vocabulary.read(one.source) for one in read])
        given = self._padded([[vocabulary.start, *target] for target in targets])
        wanted = self._padded([[*target, vocabulary.end] for target in targets])
        scores = self.module(source, given)
        nll = functional.cross_entropy(
            scores.flatten(0, 1).float(),
            wanted.flatten(),
            ignore_index=vocabulary.pad,
            reduction="sum",
            label_smoothing=smoothing,
        )
        return nll, sum(len(target) + 1 for target in targets)

    def speak(self, examples: Sequence[Example], beams: int, *, surely: bool = False) -> list[list[Spoken]]:
        """Beam search that says each required placeholder once; `surely`: no value is left to words."""
        known, vocabulary = self.known._replace(worded=()) if surely else self.known, self.vocabulary
        read = [lined(example, known) for example in examples]
        sought = [
            Sought(
                vocabulary.read(one.source),
                vocabulary.read(word for word, number in one.held.items() if example.wishes[number].said),
                vocabulary.read(one.held),
            )
            for example, one in zip(examples, read, strict=True)
        ]
        found = search(self.module, vocabulary, sought, beams, shared=surely)
        return [
            [_spoken(vocabulary.written(text.words), one.held, text.score) for text in texts]
            for one, texts in zip(read, found, strict=True)
        ]

    def _padded(self, rows: list[list[int]]) -> Any:
        length = max(map(len, rows))
        padded = torch.tensor([row + [self.vocabulary.pad] * (length - len(row)) for row in rows])
        return padded.to(self.module.words.weight.device, non_blocking=True)


def _spoken(words: Sequence[str], held: Mapping[str, int], score: float) -> Spoken:
    """The text with its placeholders in the order of `held`."""
    order = {word: VALUES[place] for place, word in enumerate(held)}
    return Spoken(" ".join(order.get(word, word) for word in words), list(held.values()), score)
