"""The backbone from scratch: words, placeholders for values, a small transformer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch.nn import functional

from dstress.generators.network.backbone import Backbone, Generated
from dstress.generators.network.beam_search import Constraints, search
from dstress.generators.network.linear_form import Example, Known, known_from, linearize
from dstress.generators.network.transformer import Network, Shape, weights_of_format_1
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
        texts = [words for example in examples for words in linearize(example, known)[:2]]
        texts += [words for example in examples for words in linearize(example, known._replace(worded=()))[:2]]
        vocabulary = Vocabulary.learn(texts)
        return cls(vocabulary, known, Network(Shape(len(vocabulary), width, layers, heads, dropout), vocabulary.pad))

    @classmethod
    def load(cls, folder: Path, config: dict[str, Any]) -> Scratch:
        """A trained one."""
        vocabulary = Vocabulary(config["vocabulary"])
        network = Network(Shape(*config["shape"]), vocabulary.pad)
        weights = torch.load(folder / _WEIGHTS, map_location="cpu", weights_only=True)
        network.load_state_dict(weights_of_format_1(weights) if config["format"] == 1 else weights)
        worded = frozenset((slot, value) for slot, value in config["worded"])
        return cls(vocabulary, Known(worded, frozenset(config["typed"])), network)

    def save(self, folder: Path) -> dict[str, Any]:
        """The weights; words and shape go to the configuration."""
        torch.save(self.module.state_dict(), folder / _WEIGHTS)
        return {
            "shape": list(self.module.shape),
            "vocabulary": self.vocabulary.words,
            "worded": sorted(map(list, self.known.worded)),
            "typed": sorted(self.known.typed),
        }

    def loss(self, examples: Sequence[Example], random: Random | None, smoothing: float = 0.0) -> tuple[Any, int]:
        """Over words and placeholders, and the end of each text."""
        vocabulary = self.vocabulary
        sequences = [linearize(example, self.known, random) for example in examples]
        targets = [vocabulary.encode(sequence.target) for sequence in sequences]
        source = self._pad([vocabulary.encode(sequence.source) for sequence in sequences])
        decoder_input = self._pad([[vocabulary.start, *target] for target in targets])
        labels = self._pad([[*target, vocabulary.end] for target in targets])
        logits = self.module(source, decoder_input)
        nll = functional.cross_entropy(
            logits.flatten(0, 1).float(),
            labels.flatten(),
            ignore_index=vocabulary.pad,
            reduction="sum",
            label_smoothing=smoothing,
        )
        return nll, sum(len(target) + 1 for target in targets)

    def generate(
        self, examples: Sequence[Example], beams: int, *, forces_values: bool = False
    ) -> list[list[Generated]]:
        """Beam search that says each required placeholder once; `forces_values`: no value is left to words."""
        known, vocabulary = self.known._replace(worded=()) if forces_values else self.known, self.vocabulary
        sequences = [linearize(example, known) for example in examples]
        sources = [
            Constraints(
                vocabulary.encode(sequence.source),
                vocabulary.encode(word for word, number in sequence.wishes.items() if example.wishes[number].is_spoken),
                vocabulary.encode(sequence.wishes),
            )
            for example, sequence in zip(examples, sequences, strict=True)
        ]
        found = search(self.module, vocabulary, sources, beams, shared=forces_values)
        generated = []
        for sequence, hypotheses in zip(sequences, found, strict=True):
            wishes = list(sequence.wishes.values())
            # Placeholders of slots become anonymous ones, numbered in the order of `wishes`.
            anonymous = dict(zip(sequence.wishes, VALUES, strict=False))
            texts = [vocabulary.decode(hypothesis.words) for hypothesis in hypotheses]
            generated.append(
                [
                    Generated(" ".join(anonymous.get(word, word) for word in words), wishes, hypothesis.score)
                    for words, hypothesis in zip(texts, hypotheses, strict=True)
                ]
            )
        return generated

    def _pad(self, rows: list[list[int]]) -> Any:
        length = max(map(len, rows))
        padded = torch.tensor([row + [self.vocabulary.pad] * (length - len(row)) for row in rows])
        return padded.to(self.module.token_embedding.weight.device, non_blocking=True)
