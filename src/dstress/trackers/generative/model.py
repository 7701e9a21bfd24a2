"""What both generative families share: lessons as tokens, the loss of the answers, and greedy decoding."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, ClassVar, Literal, NamedTuple, Self

import msgspec
import torch
from torch.nn import functional

from dstress.dialogue import Dialogue
from dstress.learning.base import Batch, Loss
from dstress.learning.batches import IGNORED, pad_rows
from dstress.learning.devices import require_transformers
from dstress.learning.lessons import Lesson
from dstress.learning.pretrained import Pretrained
from dstress.predictions.base import Prediction
from dstress.resources import Material
from dstress.trackers.base import Answer, Context
from dstress.trackers.generative.decoding import Sampler, can_decode, decode
from dstress.trackers.generative.forms import FormOptions, create_form
from dstress.trackers.learned import PretrainedModel, labelled_turns

_PAD, _END = "<pad>", "<end>"


class Options(FormOptions, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe's `[model]`: what is read and written (`forms`), and by which network."""

    checkpoint: str = ""
    """A folder, a GGUF file or a name on the hub; none: trained from scratch."""
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


class GenerativeModel(PretrainedModel):
    """A network of transformers that writes states and, where it has learned them, responses."""

    options_type = Options
    knowledge_type = Options
    varies = True
    pads_left: ClassVar[bool]
    """Whether prompts end where answers begin."""

    def __init__(self, options: Options, backbone: Pretrained) -> None:
        self.knowledge = self.options = options
        self.backbone, self.module, self.form = backbone, backbone.module, create_form(options)
        self.end = int(backbone.tokenizer.eos_token_id)

    @classmethod
    def create(cls, options: Options, train: Material) -> Self:
        """From the checkpoint; without one, tokens are learned from the corpus."""
        form = create_form(options)
        form.connect(train)
        return cls.create_for(options, form.teach_all(list(labelled_turns(train)), Random(0)))

    @classmethod
    def create_for(cls, options: Options, lessons: Iterable[Lesson]) -> Self:
        """From the checkpoint; without one, tokens are learned from the lessons, whatever they teach."""
        if options.checkpoint:
            return cls(options, Pretrained.read(options.checkpoint, cls.auto))
        texts = (text for lesson in lessons for text in (lesson.prompt, lesson.answer))
        tokenizer = learn_tokenizer(texts, options.vocabulary)
        return cls(options, Pretrained(tokenizer, cls.configure(options, tokenizer)))

    @classmethod
    @abstractmethod
    def configure(cls, options: Options, tokenizer: Any) -> Any:
        """A network of the size in the options, with fresh weights."""

    def examples(self, train: Material, random: Random) -> list[TokenLesson]:
        """The lessons of every turn; what is forgotten is other at each epoch."""
        self.connect(train)
        return self.learn(list(self.form.teach_all(list(labelled_turns(train)), random)))

    def learn(self, lessons: Sequence[Lesson]) -> list[TokenLesson]:
        """Lessons of any task."""
        prompts = self.encode([lesson.prompt for lesson in lessons])
        answers = self.encode([lesson.answer for lesson in lessons])
        longest, longest_answer, end = self.options.longest, self.options.longest_answer, self.end
        return [
            TokenLesson(lesson.name, prompt[-longest:], [*answer[: longest_answer - 1], end])
            for lesson, prompt, answer in zip(lessons, prompts, answers, strict=True)
        ]

    def connect(self, corpus: Iterable[Dialogue]) -> None:
        """Responses are based on the corpus's database."""
        self.form.connect(corpus)

    def ready(self) -> None:
        """As precise as the options say."""
        is_half = self.module.device.type == "cuda" and self.options.precision == "bf16"
        self.module.to(torch.bfloat16 if is_half else torch.float32).eval()

    def track(self, contexts: Sequence[Context]) -> list[Answer]:
        """The likeliest token after the other, for all prompts of all contexts at once; then the responses."""
        questions = [self.form.ask(context) for context in contexts]
        texts = iter(self._continue([prompt for prompts in questions for prompt in prompts]))
        answers = [
            self.form.read(context, [next(texts) for _ in prompts])
            for context, prompts in zip(contexts, questions, strict=True)
        ]
        if not self.form.responds:
            return answers
        tracked = [answer for answer in answers if isinstance(answer, Prediction)]
        pairs = zip(contexts, tracked, strict=True)
        responses = self._continue([self.form.ask_response(context, answer.state) for context, answer in pairs])
        return [
            msgspec.structs.replace(answer, response=text.strip())
            for answer, text in zip(tracked, responses, strict=True)
        ]

    def _continue(self, prompts: list[str]) -> list[str]:
        return self.generate([prompt[-self.options.longest :] for prompt in self.encode(prompts)])

    def generate(self, prompts: Sequence[Sequence[int]], sampler: Sampler | None = None) -> list[str]:
        """What follows on each prompt: the likeliest tokens, or those that a sampler draws."""
        pad, end, longest, device = self.backbone.pad, self.end, self.options.longest_answer, self.module.device
        choose = {} if sampler is None else {"choose": sampler.draw}
        tokens = pad_rows(prompts, pad, left=self.pads_left).to(device)
        mask = pad_rows([[1] * len(prompt) for prompt in prompts], 0, left=self.pads_left).to(device)
        if self.pads_left and can_decode(self.module):
            written = decode(self.module, tokens, mask, pad=pad, end=end, longest=longest, **choose)
        else:
            from transformers import LogitsProcessorList

            output = self.module.generate(
                input_ids=tokens,
                attention_mask=mask,
                max_new_tokens=longest,
                do_sample=False,
                num_beams=1,
                pad_token_id=pad,
                eos_token_id=end,
                logits_processor=LogitsProcessorList([] if sampler is None else [sampler]),
            )
            written = output[:, tokens.shape[1] :] if self.pads_left else output
        texts: list[str] = self.backbone.tokenizer.batch_decode(written, skip_special_tokens=True)
        if sampler is None:
            return texts
        # A sample that never came to its end is no text.
        return [text if has_end else "" for text, has_end in zip(texts, (written == end).any(1).tolist(), strict=True)]

    def embed(self, batch: Batch) -> Any:
        """The embeddings of the prompt's tokens, and of whatever else is read with them."""
        return self.module.get_input_embeddings()(batch["tokens"])

    def encode(self, texts: list[str]) -> list[list[int]]:
        """Texts as tokens."""
        tokens: list[list[int]] = self.backbone.tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
        return tokens


def cross_entropy(logits: Any, labels: Any) -> Loss:
    """Summed over the labels that count."""
    total = functional.cross_entropy(logits.float(), labels, reduction="sum", ignore_index=IGNORED)
    return Loss(total, int((labels != IGNORED).sum()))


def learn_tokenizer(texts: Iterable[str], words: int) -> Any:
    """Pieces of words by how often a corpus has them: byte-level BPE, which can write anything."""
    transformers = require_transformers()
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=words,
        special_tokens=[_PAD, _END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=_PAD, eos_token=_END)
