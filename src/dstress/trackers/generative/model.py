"""What both generative families share: lessons as tokens, the loss of the answers, and greedy decoding."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal, NamedTuple, Self

import msgspec
import torch
from torch.nn import functional

from dstress.learning.base import Batch, Loss
from dstress.learning.lessons import Lesson
from dstress.learning.recipe import read_settings
from dstress.learning.tensors import pad_rows
from dstress.resources import Material
from dstress.trackers.base import Answer, Context
from dstress.trackers.generative.backbones import Backbone, Shape, learn_tokenizer
from dstress.trackers.generative.decoding import can_decode, decode
from dstress.trackers.generative.forms import FormOptions, create_form
from dstress.trackers.learned import Model, labelled_turns

IGNORED = -100
"""What transformers and torch call a place without a label."""


class Options(FormOptions, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe's `[model]`: what is read and written (`forms`), and by which network."""

    checkpoint: str = ""
    """A folder, a GGUF file or a name on the hub; none: trained from nothing."""
    width: int = 256
    layers: int = 4
    heads: int = 4
    vocabulary: int = 8000
    """The size of a network without a checkpoint."""
    longest: int = 512
    """Tokens of a prompt that are read, the latest."""
    longest_answer: int = 256
    precision: Literal["bf16", "fp32"] = "bf16"
    """In which a GPU tracks; a CPU computes in full. In bf16 a close call may hang on what else is in the batch."""


class TokenLesson(NamedTuple):
    """A prompt and its answer, as tokens."""

    name: str
    prompt: list[int]
    answer: list[int]

    @property
    def length(self) -> int:
        """Tokens of both."""
        return len(self.prompt) + len(self.answer)


class GenerativeModel(Model):
    """A network of transformers that writes states."""

    options_type: ClassVar[type[msgspec.Struct]] = Options
    auto: ClassVar[str]
    """The class of transformers that reads a checkpoint of its kind."""
    varies = True

    def __init__(self, options: Options, backbone: Backbone) -> None:
        self.options, self.backbone, self.module = options, backbone, backbone.module
        self.form = create_form(options)

    @classmethod
    def create(cls, options: Options, train: Material) -> Self:
        """From the checkpoint; without one, tokens are learned from the corpus."""
        if options.checkpoint:
            return cls(options, Backbone.read(options.checkpoint, cls.auto))
        form, random = create_form(options), Random(0)
        texts = (
            text
            for turn in labelled_turns(train)
            for lesson in form.teach(turn, random)
            for text in (lesson.prompt, lesson.answer)
        )
        tokenizer = learn_tokenizer(texts, options.vocabulary)
        shape = Shape(options.width, options.layers, options.heads, len(tokenizer))
        return cls(options, Backbone(tokenizer, cls.configure(shape, tokenizer)))

    @classmethod
    @abstractmethod
    def configure(cls, shape: Shape, tokenizer: Any) -> Any:
        """A network of that size, with fresh weights."""

    def save(self, folder: Path) -> dict[str, Any]:
        """Options; the tokenizer and the network's configuration as files."""
        self.backbone.save(folder)
        saved: dict[str, Any] = msgspec.to_builtins(self.options)
        return saved

    @classmethod
    def restore(cls, saved: Mapping[str, Any], folder: Path) -> Self:
        """The checkpoint that it began with is not needed again."""
        return cls(read_settings(saved, Options, str(folder)), Backbone.remake(folder, cls.auto))

    def examples(self, train: Material, random: Random) -> list[TokenLesson]:
        """The lessons of every turn; what is forgotten is other at each epoch."""
        return self.learn([lesson for turn in labelled_turns(train) for lesson in self.form.teach(turn, random)])

    def learn(self, lessons: Sequence[Lesson]) -> list[TokenLesson]:
        """Lessons of any task."""
        prompts = self._tokens([lesson.prompt for lesson in lessons])
        answers = self._tokens([lesson.answer for lesson in lessons])
        longest, longest_answer, end = self.options.longest, self.options.longest_answer, self.backbone.end
        return [
            TokenLesson(lesson.name, prompt[-longest:], [*answer[: longest_answer - 1], end])
            for lesson, prompt, answer in zip(lessons, prompts, answers, strict=True)
        ]

    def ready(self) -> None:
        """As precise as the options say."""
        is_half = self.module.device.type == "cuda" and self.options.precision == "bf16"
        self.module.to(torch.bfloat16 if is_half else torch.float32).eval()

    def track(self, contexts: Sequence[Context]) -> list[Answer]:
        """The likeliest token after the other, for all prompts of all contexts at once, the longest together."""
        asked = [self.form.ask(context) for context in contexts]
        prompts = self._tokens([prompt for prompts in asked for prompt in prompts])
        texts = iter(self.generate([prompt[-self.options.longest :] for prompt in prompts]))
        return [
            self.form.read(context, [next(texts) for _ in prompts])
            for context, prompts in zip(contexts, asked, strict=True)
        ]

    def generate(self, prompts: Sequence[Sequence[int]]) -> list[str]:
        """What follows on each prompt."""
        pad, end, longest, device = (
            self.backbone.pad,
            self.backbone.end,
            self.options.longest_answer,
            self.module.device,
        )
        tokens = pad_rows(prompts, pad, left=self.pads_left).to(device)
        mask = pad_rows([[1] * len(prompt) for prompt in prompts], 0, left=self.pads_left).to(device)
        if self.pads_left and can_decode(self.module):
            written = decode(self.module, tokens, mask, pad=pad, end=end, longest=longest)
        else:
            output = self.module.generate(
                input_ids=tokens,
                attention_mask=mask,
                max_new_tokens=longest,
                do_sample=False,
                num_beams=1,
                pad_token_id=pad,
                eos_token_id=end,
            )
            written = output[:, tokens.shape[1] :] if self.pads_left else output
        texts: list[str] = self.backbone.tokenizer.batch_decode(written, skip_special_tokens=True)
        return texts

    pads_left: ClassVar[bool]
    """Whether prompts end where answers begin."""

    def embed(self, batch: Batch) -> Any:
        """The embeddings of the prompt's tokens, and of whatever else is read with them."""
        return self.module.get_input_embeddings()(batch["tokens"])

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        tokens: list[list[int]] = self.backbone.tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
        return tokens


def cross_entropy(logits: Any, labels: Any) -> Loss:
    """Summed over the labels that count."""
    total = functional.cross_entropy(logits.float(), labels, reduction="sum", ignore_index=IGNORED)
    return Loss(total, int((labels != IGNORED).sum()))
