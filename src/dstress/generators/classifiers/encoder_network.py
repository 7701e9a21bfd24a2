"""A BERT-type encoder that learns which slots an exchange adds, as CoCo's classifier does (4.3, equations 2 and 3).

It needs torch and transformers and nothing else of dstress: `benchmarks/fit_slot_classifier.py` runs it by itself on a
machine with a GPU. The encoder reads [CLS] history [SEP] system [SEP] user [SEP]. Where CoCo reads all slots off one
pooled vector, here each slot has a query of its own and classifies what it attends to: several slots in one utterance
then do not crowd each other out. Word embeddings stay as they were, so that names that training lacks keep their place
beside those that it has; the kept file is half as large for it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

WEIGHTS, NOTES = "weights.pt", "notes.json"
_ENCODER = "encoder."
_FROZEN = f"{_ENCODER}embeddings.word_embeddings.weight"
_FORMER_NAMES = {"backbone.": _ENCODER, "judge.": "classifier.", "whole.": "pooled_classifier."}
"""What the parts of the network are called in older files of weights."""
_LONGEST = {"history": 128, "system": 80, "user": 96}
"""Tokens of each part; the history and the system lose their beginning, the user's words their end."""
_WARM_UP = 0.06
_CHUNK = 64
"""So many batches of exchanges are sorted by length together, which saves padding and keeps training shuffled."""

TokenRow = tuple[list[int], list[int]]
"""The input ids and the token type ids of one exchange."""


class TrainingExample(NamedTuple):
    """One exchange to learn from: other wordings of the user's part, and the label's columns, the same for all.

    Columns that are `unsure` teach nothing.
    """

    history: Sequence[str]
    system: str
    user: str
    others: Sequence[str]
    label: Sequence[int]
    unsure: Sequence[int] = ()


class Recipe(NamedTuple):
    """How to fit. `seconds` ends the fit in time: the rate falls with the clock where the clock is ahead."""

    epochs: int = 6
    batch: int = 32
    rate: float = 2e-4
    others: float = 0.5
    """How often another wording stands for the user's."""
    seconds: float = float("inf")
    seed: int = 1


class Network(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """An encoder, and for each slot a query that attends to its words and a classifier of what it attends to."""

    def __init__(self, encoder: Any, slots: int) -> None:
        super().__init__()
        self.encoder = encoder
        width = encoder.config.hidden_size
        self.dropout = torch.nn.Dropout(0.1)
        self.query = torch.nn.Linear(width, slots, bias=False)
        self.classifier = torch.nn.Linear(width, slots)
        self.pooled_classifier = torch.nn.Linear(width, slots, bias=False)

    @property
    def device(self) -> Any:
        """Where it runs."""
        return next(self.parameters()).device

    def forward(self, input_ids: Any, token_type_ids: Any, attention_mask: Any) -> Any:
        """A logit for each exchange and slot."""
        types = token_type_ids if self.encoder.config.type_vocab_size > 1 else None
        outputs = self.encoder(input_ids=input_ids, token_type_ids=types, attention_mask=attention_mask)
        hidden = self.dropout(outputs.last_hidden_state.float())
        attention = self.query(hidden).masked_fill(attention_mask.unsqueeze(-1) == 0, -1e4).softmax(1)
        token_logits = hidden @ self.classifier.weight.T
        logits = (attention * token_logits).sum(1) + self.classifier.bias
        pooled = hidden[:, 0]
        return logits + self.pooled_classifier(pooled)


class ExchangeTokenizer:
    """Exchanges as token ids; a text is tokenized once, and many together, which is a great deal faster."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._cls, self._sep = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
        self._ids: dict[str, list[int]] = {}

    def add(self, texts: Sequence[str]) -> None:
        """Tokenize those that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self._ids]
        if new:
            ids = self._tokenizer(new, add_special_tokens=False)["input_ids"]
            self._ids.update(zip(new, ids, strict=True))

    def encode(self, history: Sequence[str], system: str, user: str) -> TokenRow:
        """Input ids of texts that were added, and their types: 0 for what came before, 1 for the user's words."""
        room = _LONGEST["history"]
        before: list[int] = []
        for text in reversed(history):
            if room <= 0:
                break
            ids = self._ids[text][-room:]
            before, room = ids + before, room - len(ids)
        first = self._cls + before + self._sep + self._ids[system][-_LONGEST["system"] :] + self._sep
        second = self._ids[user][: _LONGEST["user"]] + self._sep
        return first + second, [0] * len(first) + [1] * len(second)


def pad_batch(rows: Sequence[TokenRow], device: Any) -> tuple[Any, Any, Any]:
    """Input ids, token type ids and attention mask as tensors, the shorter rows padded."""
    longest = max(len(ids) for ids, _ in rows)
    batch = np.zeros((3, len(rows), longest), np.int64)
    for at, (ids, types) in enumerate(rows):
        batch[0, at, : len(ids)], batch[1, at, : len(ids)], batch[2, at, : len(ids)] = ids, types, 1
    input_ids, token_type_ids, attention_mask = torch.from_numpy(batch).to(device)
    return input_ids, token_type_ids, attention_mask


def fit(
    network: Network,
    tokenizer: Any,
    examples: Sequence[TrainingExample],
    recipe: Recipe,
    on_progress: Callable[[str], None] = print,
) -> None:
    """Fit the network where it is."""
    tokens, random, device = ExchangeTokenizer(tokenizer), Random(recipe.seed), network.device
    torch.manual_seed(recipe.seed)
    tokens.add([text for each in examples for text in (*each.history, each.system, each.user, *each.others)])
    optimizer = _make_optimizer(network, recipe.rate)
    total, done, start = recipe.epochs * -(-len(examples) // recipe.batch), 0, time.monotonic()
    targets = _multi_hot([example.label for example in examples], network.classifier.out_features)
    weights = 1 - _multi_hot([example.unsure for example in examples], network.classifier.out_features)
    share = torch.from_numpy(targets.mean(0)).clamp(1e-4, 1 - 1e-4)
    network.classifier.bias.data.copy_(share.logit())  # so that the first steps need not learn how rare slots are
    for epoch in range(recipe.epochs):
        network.train()
        losses: list[Any] = []
        for places, rows in _shuffled_batches(examples, tokens, recipe, random):
            progress = max(done / total, (time.monotonic() - start) / recipe.seconds)
            if progress >= 1:
                break
            rate = max(0.0, min(progress / _WARM_UP, (1 - progress) / (1 - _WARM_UP)))
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * rate
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                logits = network(*pad_batch(rows, device))
            target, weight = (torch.from_numpy(table[places]).to(device) for table in (targets, weights))
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits.float(), target, weight)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.detach())
            done += 1
        if losses:
            loss, passed = torch.stack(losses).mean().item(), time.monotonic() - start
            on_progress(f"epoch {epoch + 1} of {recipe.epochs}: loss {loss:.5f}, {passed:.0f} s")
    network.eval()


def _make_optimizer(network: Network, rate: float) -> Any:
    """The heads learn ten times as fast as the encoder, which has learnt already."""
    heads: list[Any] = []
    encoder: list[Any] = []
    for name, weights in network.named_parameters():
        if name == _FROZEN:
            weights.requires_grad_(False)
        else:
            (encoder if name.startswith(_ENCODER) else heads).append(weights)
    groups = [{"params": encoder, "peak": rate}, {"params": heads, "peak": 10 * rate}]
    return torch.optim.AdamW(groups, lr=rate, weight_decay=0.01)


def _multi_hot(columns: Sequence[Sequence[int]], width: int) -> NDArray[np.float32]:
    """A row for each, with 1 in its columns."""
    table = np.zeros((len(columns), width), np.float32)
    for row, ones in enumerate(columns):
        table[row, list(ones)] = 1
    return table


def _shuffled_batches(
    examples: Sequence[TrainingExample], tokens: ExchangeTokenizer, recipe: Recipe, random: Random
) -> Iterator[tuple[list[int], list[TokenRow]]]:
    """Batches of places and rows, in another order and wording at every call."""
    order = list(range(len(examples)))
    random.shuffle(order)
    size = recipe.batch * _CHUNK
    for start in range(0, len(order), size):
        rows: dict[int, TokenRow] = {}
        for place in order[start : start + size]:
            example = examples[place]
            is_other = bool(example.others) and random.random() < recipe.others
            user = random.choice(example.others) if is_other else example.user
            rows[place] = tokens.encode(example.history, example.system, user)
        places = sorted(rows, key=lambda place: len(rows[place][0]))
        batches = [places[at : at + recipe.batch] for at in range(0, len(places), recipe.batch)]
        random.shuffle(batches)
        for batch in batches:
            yield batch, [rows[place] for place in batch]


def compute_logits(
    network: Network,
    tokens: ExchangeTokenizer,
    exchanges: Sequence[tuple[Sequence[str], str, str]],
    batch_size: int,
) -> NDArray[np.float32]:
    """A row for each exchange, whatever else is asked at once: a batch has one length, so that nothing is padded."""
    tokens.add([text for history, system, user in exchanges for text in (*history, system, user)])
    rows = [tokens.encode(*exchange) for exchange in exchanges]
    order = sorted(range(len(rows)), key=lambda place: (len(rows[place][0]), place))
    logits = np.zeros((len(rows), network.classifier.out_features), np.float32)
    at = 0
    while at < len(order):
        length = len(rows[order[at]][0])
        places = [place for place in order[at : at + batch_size] if len(rows[place][0]) == length]
        batch = pad_batch([rows[place] for place in places], network.device)
        with torch.inference_mode():
            logits[places] = network(*batch).float().cpu().numpy()
        at += len(places)
    return logits


def save(network: Network, folder: Path, notes: dict[str, Any]) -> None:
    """The learnt weights in half precision, and what they are of. The encoder's word embeddings are not kept."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: weights.half().cpu() for name, weights in network.state_dict().items() if name != _FROZEN}
    torch.save(kept, folder / WEIGHTS)
    (folder / NOTES).write_text(json.dumps(notes, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def restore(network: Network, folder: Path) -> None:
    """Put kept weights into a network whose encoder has its own word embeddings."""
    state = {_FROZEN: network.state_dict()[_FROZEN]}
    for name, weights in torch.load(folder / WEIGHTS, map_location="cpu", weights_only=True).items():
        former = next((prefix for prefix in _FORMER_NAMES if name.startswith(prefix)), "")
        state[_FORMER_NAMES.get(former, "") + name.removeprefix(former)] = weights.float()
    network.load_state_dict(state)
    network.eval()
