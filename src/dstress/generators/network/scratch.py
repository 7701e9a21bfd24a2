"""The backbone from scratch: words, placeholders for values, a small transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Self

import torch
from transformers import LogitsProcessorList, MBartConfig, MBartForConditionalGeneration

from dstress.generators.network.backbone import Backbone, Generated, Lesson, Options, slots_of
from dstress.generators.network.constraints import LONGEST, Constraints, Placeholders
from dstress.generators.network.linear_form import Example, Known, known_from, linearize
from dstress.generators.network.vocabulary import VALUES, Vocabulary

_POSITIONS = 320
"""Words of the longest sequence."""
_LENGTH = 0.8
"""Scores are log-probabilities over length to this power: sums would favour short texts, means long ones."""
_FORCED = 3
"""A beam in which values are forced is so many times wider."""


class Scratch(Backbone):
    """A network that knows only what the training corpus taught it."""

    def __init__(self, options: Options, slots: Sequence[str], vocabulary: Vocabulary, known: Known) -> None:
        super().__init__(options, slots, _configure(options, vocabulary))
        self.vocabulary, self.known, self.pad = vocabulary, known, vocabulary.pad

    @classmethod
    def create(cls, options: Options, examples: Sequence[Example]) -> Self:
        """An untrained network for the words of the examples."""
        known = known_from(examples)
        texts = [words for example in examples for words in linearize(example, known)[:2]]
        texts += [words for example in examples for words in linearize(example, known._replace(worded=()))[:2]]
        return cls(options, slots_of(examples), Vocabulary.learn(texts), known)

    def save(self, folder: Path) -> dict[str, Any]:
        """Words, and how values are given."""
        return super().save(folder) | {
            "vocabulary": self.vocabulary.words,
            "worded": sorted(map(list, self.known.worded)),
            "typed": sorted(self.known.typed),
        }

    @classmethod
    def restore(cls, saved: Mapping[str, Any], options: Options, folder: Path) -> Self:
        """With the same words."""
        worded = frozenset((slot, value) for slot, value in saved["worded"])
        known = Known(worded, frozenset(saved["typed"]))
        return cls(options, saved["slots"], Vocabulary(saved["vocabulary"]), known)

    def encode(self, example: Example, random: Random | None = None) -> Lesson:
        """Words and placeholders, and the end of the text."""
        sequence, vocabulary = linearize(example, self.known, random), self.vocabulary
        source = vocabulary.encode(sequence.source)[:_POSITIONS]
        return Lesson(example.name, source, [*vocabulary.encode(sequence.target), vocabulary.end])

    def generate(
        self, examples: Sequence[Example], beams: int, *, forces_values: bool = False
    ) -> list[list[Generated]]:
        """Beam search that says each required placeholder once; `forces_values`: no value is left to words."""
        known, vocabulary = self.known._replace(worded=()) if forces_values else self.known, self.vocabulary
        sequences = [linearize(example, known) for example in examples]
        goals = [
            Placeholders(
                vocabulary.encode(word for word, number in sequence.wishes.items() if example.wishes[number].is_spoken),
                vocabulary.encode(sequence.wishes),
            )
            for example, sequence in zip(examples, sequences, strict=True)
        ]
        device, width = self.module.device, beams * _FORCED if forces_values else max(2, beams)  # one alone is no beam
        sources = self.pad_sources([vocabulary.encode(sequence.source)[:_POSITIONS] for sequence in sequences])
        constraints = Constraints(vocabulary, goals, width, device, forces_values=forces_values)
        with torch.inference_mode():
            output = self.module.generate(
                **{name: part.to(device) for name, part in sources.items()},
                num_beams=width,
                num_return_sequences=beams,
                do_sample=False,
                max_new_tokens=LONGEST,
                length_penalty=_LENGTH,
                logits_processor=LogitsProcessorList([constraints]),
                return_dict_in_generate=True,
                output_scores=True,
            )
        rows, scores = output.sequences[:, 1:].tolist(), output.sequences_scores.tolist()
        return [
            self._read(sequence.wishes, rows[at : at + beams], scores[at : at + beams])
            for at, sequence in zip(range(0, len(rows), beams), sequences, strict=True)
        ]

    def _read(self, wishes: dict[str, int], rows: list[list[int]], scores: list[float]) -> list[Generated]:
        """The texts of a beam. Placeholders of slots become anonymous ones, numbered in the order of `wishes`."""
        anonymous = dict(zip(wishes, VALUES, strict=False))
        end, generated = self.vocabulary.end, []
        for row, score in zip(rows, scores, strict=True):
            if score > _NO_TEXT:
                words = self.vocabulary.decode(row[: row.index(end)])
                text = " ".join(anonymous.get(word, word) for word in words)
                generated.append(Generated(text, list(wishes.values()), score))
        return generated


_NO_TEXT = -1e6
"""Below this `generate` returns rows that never became texts."""


def _configure(options: Options, vocabulary: Vocabulary) -> Any:
    """A small mBART: its layers normalise first, which needs no care in training.

    Unlike T5, whose softmax is in single precision always, it decodes in double precision where asked to. Texts begin
    with the word that ends them, as mBART makes its decoder's input of labels.
    """
    shape = {
        f"{part}_{name}": size
        for part in ("encoder", "decoder")
        for name, size in (
            ("layers", options.layers),
            ("attention_heads", options.heads),
            ("ffn_dim", 4 * options.width),
        )
    }
    return MBartForConditionalGeneration(
        MBartConfig(
            vocab_size=len(vocabulary),
            d_model=options.width,
            max_position_embeddings=_POSITIONS,
            dropout=options.dropout,
            activation_dropout=options.dropout,
            scale_embedding=True,
            init_std=options.width**-0.5,
            pad_token_id=vocabulary.pad,
            bos_token_id=vocabulary.end,
            eos_token_id=vocabulary.end,
            decoder_start_token_id=vocabulary.end,
            forced_eos_token_id=None,
            **shape,
        )
    )
