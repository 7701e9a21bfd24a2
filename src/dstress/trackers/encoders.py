"""What families that point at words share: an encoder of transformers, texts as tokens, and values as they are said.

The encoder is MiniLM, whose weights come with the extra `encoder`, or any checkpoint of a BERT-like model (a folder in
Hugging Face's layout, or a name on its hub while online), or one that is trained from scratch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self

import msgspec
import torch

from dstress.errors import DstressError
from dstress.learning.devices import require_transformers
from dstress.learning.pretrained import Pretrained, first_token
from dstress.learning.recipe import Count, ProperShare
from dstress.text.mentions import find_value
from dstress.text.similarity import Encoder

MINILM = "minilm"
FORBIDDEN = -1e9
"""The logit of what cannot be; a number, so that where nothing can be there is no NaN."""
_PAD, _START, _PART, _UNKNOWN = "[PAD]", "[CLS]", "[SEP]", "[UNK]"
_REMEMBERED, _TOGETHER = 1 << 19, 1 << 10
"""Texts whose tokens are kept, and that are made into tokens together."""


class EncoderOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe's `[model]` that say which encoder reads."""

    checkpoint: str = MINILM
    """`minilm`, a folder or a name on the hub; empty: from scratch, of the size below."""
    width: Count = 128
    layers: Count = 2
    heads: Count = 4
    vocabulary: Count = 4000
    dropout: ProperShare = 0.1

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if self.width % self.heads:
            raise ValueError("the heads divide the width evenly")


class Passage(NamedTuple):
    """A text as tokens, and the characters of each."""

    text: str
    tokens: list[int]
    places: list[tuple[int, int]]

    def cut(self, longest: int) -> Passage:
        """Its first tokens."""
        return self if len(self.tokens) <= longest else Passage(self.text, self.tokens[:longest], self.places[:longest])

    def words(self, first: int, last: int) -> str:
        """The words from one token to another, as they are written there."""
        return self.text[self.places[first][0] : self.places[last][1]]

    def tokens_at(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last token of some characters, if it has them."""
        inside = [number for number, (left, right) in enumerate(self.places) if left < end and start < right]
        return (inside[0], inside[-1]) if inside and self.places[inside[-1]][1] >= end else None


class Backbone(Pretrained):
    """A tokenizer and an encoder."""

    def __init__(self, tokenizer: Any, module: Any) -> None:
        super().__init__(tokenizer, module)
        self.start = first_token(tokenizer.cls_token_id, tokenizer.bos_token_id)
        self.part = first_token(tokenizer.sep_token_id, tokenizer.eos_token_id)
        self.unknown = first_token(tokenizer.unk_token_id, tokenizer.pad_token_id)
        self._passages: dict[str, Passage] = {}

    @classmethod
    def create(cls, options: EncoderOptions, texts: Iterable[str], longest: int) -> Self:
        """As the options say; without a checkpoint, tokens are learned from texts. It must read so many tokens."""
        if not options.checkpoint:
            tokenizer, transformers = learn_tokenizer(texts, options.vocabulary), require_transformers()
            config = transformers.BertConfig(
                vocab_size=len(tokenizer),
                hidden_size=options.width,
                num_hidden_layers=options.layers,
                num_attention_heads=options.heads,
                intermediate_size=4 * options.width,
                max_position_embeddings=longest,
                hidden_dropout_prob=options.dropout,
                attention_probs_dropout_prob=options.dropout,
                pad_token_id=tokenizer.pad_token_id,
            )
            return cls(tokenizer, transformers.AutoModel.from_config(config))
        folder = str(Encoder.require().folder) if options.checkpoint == MINILM else options.checkpoint
        backbone = cls.read(folder)
        most = getattr(backbone.module.config, "max_position_embeddings", longest)
        if 0 < most < longest:
            raise DstressError(f"{options.checkpoint} reads {most} tokens, not {longest}", fix="set less to be read")
        return backbone

    def tokenize(self, text: str) -> Passage:
        """A text as tokens; utterances and descriptions come back often."""
        if text not in self._passages:
            self.read_ahead((text,))
        return self._passages[text]

    def read_ahead(self, texts: Iterable[str]) -> None:
        """Make tokens of texts that will be read: of many together in a fraction of the time."""
        unread = (text for text in dict.fromkeys(texts) if text not in self._passages)
        while part := list(islice(unread, _TOGETHER)):
            if len(self._passages) > _REMEMBERED:
                self._passages.clear()
            read = self.tokenizer(
                part,
                add_special_tokens=False,
                return_offsets_mapping=True,
                return_attention_mask=False,
                return_token_type_ids=False,
                verbose=False,
            )
            passages = map(Passage, part, read["input_ids"], read["offset_mapping"])
            self._passages |= zip(part, passages, strict=True)


def learn_tokenizer(texts: Iterable[str], words: int) -> Any:
    """Pieces of words by how often a corpus has them, in lower case, to be read as BERT does: WordPiece.

    They are learned as byte pairs, since the library learns word pieces in another order in every process, and a killed
    training must find the same ones again.
    """
    transformers = require_transformers()
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    pairs = Tokenizer(models.BPE())
    pairs.normalizer, pairs.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    pairs.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=words // 2, show_progress=False))
    learned: dict[str, int] = pairs.get_vocab()
    pieces = sorted(learned, key=learned.__getitem__)
    vocabulary = [_PAD, _START, _PART, _UNKNOWN, *pieces, *(f"##{piece}" for piece in pieces)]
    tokenizer = Tokenizer(
        models.WordPiece({piece: number for number, piece in enumerate(vocabulary)}, unk_token=_UNKNOWN)
    )
    tokenizer.normalizer, tokenizer.pre_tokenizer = pairs.normalizer, pairs.pre_tokenizer
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=_PAD, cls_token=_START, sep_token=_PART, unk_token=_UNKNOWN
    )


def find_span(passages: Sequence[Passage], slot: str, forms: Sequence[str]) -> tuple[int, int, int] | None:
    """Where the value of a slot is said: the first passage that says it, and its first and last token there."""
    for number, passage in enumerate(passages):
        for mention in find_value(passage.text, slot, forms):
            if tokens := passage.tokens_at(mention.start, mention.end):
                return number, *tokens
    return None


def best_spans(starts: Any, ends: Any, passages: Any, longest: int) -> list[tuple[int, int]]:
    """For rows of logits the likeliest first and last token, of one passage and at most so long."""
    likely = starts.log_softmax(-1)[:, :, None] + ends.log_softmax(-1)[:, None, :]
    size = likely.shape[-1]
    band = torch.ones(size, size, dtype=torch.bool, device=likely.device).triu().tril(longest - 1)
    together = (passages[:, :, None] == passages[:, None, :]) & (passages >= 0)[:, :, None]
    best = likely.masked_fill(~(band & together), 2 * FORBIDDEN).flatten(1).argmax(-1).tolist()
    return [divmod(place, size) for place in best]


def learn_spellings(pairs: Iterable[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """How data write values that dialogues say otherwise: `half past five` is 17:30.

    From words and the accepted forms of the value that they say; words that are mostly written as said are left out.
    """
    counts: dict[str, Counter[str]] = {}
    for words, forms in pairs:
        counts.setdefault(words, Counter())[words if words in forms else forms[0]] += 1
    frequent = ((words, values.most_common(1)[0][0]) for words, values in sorted(counts.items()))
    return {words: value for words, value in frequent if value != words}
