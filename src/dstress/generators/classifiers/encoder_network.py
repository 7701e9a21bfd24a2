"""A BERT-type encoder that learns which slots an exchange adds, as CoCo's classifier does (4.3, equations 2 and 3).

It needs torch and transformers and nothing else of dstress: `benchmarks/fit_slot_classifier.py` runs it by itself on a
machine with a GPU. The encoder reads [CLS] history [SEP] system [SEP] user [SEP]. Where CoCo reads all slots off one
vector, here each slot looks at the words for itself and judges what it sees (attention with a query a slot): several
slots in one utterance then do not crowd each other out. Word embeddings stay as they were, so that names that training
lacks keep their place beside those that it has; the kept file is half as large for it.
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
_FROZEN = "backbone.embeddings.word_embeddings.weight"
_LONGEST = {"history": 128, "system": 80, "user": 96}
"""Tokens of each part; the history and the system lose their beginning, the user's words their end."""
_WARM = 0.06
_CHUNK = 64
"""So many batches of exchanges are sorted by length together, which saves padding and keeps training shuffled."""


class Lesson(NamedTuple):
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
    """An encoder, and for each slot a query that looks for its words and a judge of what it finds."""

    def __init__(self, backbone: Any, slots: int) -> None:
        super().__init__()
        self.backbone = backbone
        width = backbone.config.hidden_size
        self.drop = torch.nn.Dropout(0.1)
        self.query = torch.nn.Linear(width, slots, bias=False)
        self.judge = torch.nn.Linear(width, slots)
        self.whole = torch.nn.Linear(width, slots, bias=False)

    def forward(self, ids: Any, types: Any, mask: Any) -> Any:
        """A logit for each exchange and slot."""
        types = types if self.backbone.config.type_vocab_size > 1 else None
        hidden = self.backbone(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
        hidden = self.drop(hidden.float())
        looks = self.query(hidden).masked_fill(mask.unsqueeze(-1) == 0, -1e4).softmax(1)
        judged = hidden @ self.judge.weight.T
        return (looks * judged).sum(1) + self.judge.bias + self.whole(hidden[:, 0])


class Reader:
    """Texts to token numbers; a text is read once, and many together, which is a great deal faster."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.first, self.last = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
        self._known: dict[str, list[int]] = {}

    def read(self, texts: Sequence[str]) -> None:
        """Read those that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            rows = self.tokenizer(new, add_special_tokens=False)["input_ids"]
            self._known.update(zip(new, rows, strict=True))

    def tokens(self, history: Sequence[str], system: str, user: str) -> tuple[list[int], list[int]]:
        """Token numbers and kinds: 0 for what was said before, 1 for the user's words."""
        room = _LONGEST["history"]
        before: list[int] = []
        for text in reversed(history):
            if room <= 0:
                break
            row = self._known[text][-room:]
            before, room = row + before, room - len(row)
        head = self.first + before + self.last + self._known[system][-_LONGEST["system"] :] + self.last
        tail = self._known[user][: _LONGEST["user"]] + self.last
        return head + tail, [0] * len(head) + [1] * len(tail)


def batched(rows: Sequence[tuple[list[int], list[int]]], device: Any) -> tuple[Any, Any, Any]:
    """Rows of tokens as tensors, the shorter ones padded."""
    longest = max(len(ids) for ids, _ in rows)
    table = np.zeros((3, len(rows), longest), np.int64)
    for at, (ids, types) in enumerate(rows):
        table[0, at, : len(ids)], table[1, at, : len(ids)], table[2, at, : len(ids)] = ids, types, 1
    ids, types, mask = torch.from_numpy(table).to(device)
    return ids, types, mask


def fit(
    parts: tuple[Network, Any], lessons: Sequence[Lesson], recipe: Recipe, tell: Callable[[str], None] = print
) -> None:
    """Fit the network where it is. `parts` are the network and its tokenizer."""
    network, tokenizer = parts
    reader, random = Reader(tokenizer), Random(recipe.seed)
    device = next(network.parameters()).device
    torch.manual_seed(recipe.seed)
    reader.read([text for one in lessons for text in (*one.history, one.system, one.user, *one.others)])
    optimiser = _optimiser(network, recipe.rate)
    total, done, start = recipe.epochs * -(-len(lessons) // recipe.batch), 0, time.monotonic()
    targets = _table([lesson.label for lesson in lessons], network.judge.out_features)
    weights = 1 - _table([lesson.unsure for lesson in lessons], network.judge.out_features)
    share = torch.from_numpy(targets.mean(0)).clamp(1e-4, 1 - 1e-4)
    network.judge.bias.data.copy_(share.logit())  # so that the first steps need not learn how rare slots are
    for epoch in range(recipe.epochs):
        network.train()
        losses: list[Any] = []
        for places, rows in _shuffled(lessons, reader, recipe, random):
            progress = max(done / total, (time.monotonic() - start) / recipe.seconds)
            if progress >= 1:
                break
            _set_rate(optimiser, min(progress / _WARM, (1 - progress) / (1 - _WARM)))
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                logits = network(*batched(rows, device))
            wanted, weight = (torch.from_numpy(table[places]).to(device) for table in (targets, weights))
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits.float(), wanted, weight)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.detach())
            done += 1
        if losses:
            passed = time.monotonic() - start
            tell(f"epoch {epoch + 1} of {recipe.epochs}: loss {torch.stack(losses).mean().item():.5f}, {passed:.0f} s")
    network.eval()


def _optimiser(network: Network, rate: float) -> Any:
    head: list[Any] = []
    body: list[Any] = []
    for name, weights in network.named_parameters():
        if name == _FROZEN:
            weights.requires_grad_(False)
        else:
            (body if name.startswith("backbone.") else head).append(weights)
    groups = [{"params": body, "peak": rate}, {"params": head, "peak": 10 * rate}]
    return torch.optim.AdamW(groups, lr=rate, weight_decay=0.01)


def _set_rate(optimiser: Any, share: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = group["peak"] * max(0.0, share)


def _table(columns: Sequence[Sequence[int]], width: int) -> NDArray[np.float32]:
    table = np.zeros((len(columns), width), np.float32)
    for at, found in enumerate(columns):
        table[at, list(found)] = 1
    return table


def _shuffled(
    lessons: Sequence[Lesson], reader: Reader, recipe: Recipe, random: Random
) -> Iterator[tuple[list[int], list[tuple[list[int], list[int]]]]]:
    """Batches of places and rows, in another order and wording at every call."""
    order = list(range(len(lessons)))
    random.shuffle(order)
    size = recipe.batch * _CHUNK
    for start in range(0, len(order), size):
        rows: dict[int, tuple[list[int], list[int]]] = {}
        for place in order[start : start + size]:
            lesson = lessons[place]
            other = bool(lesson.others) and random.random() < recipe.others
            user = random.choice(lesson.others) if other else lesson.user
            rows[place] = reader.tokens(lesson.history, lesson.system, user)
        places = sorted(rows, key=lambda place: len(rows[place][0]))
        batches = [places[at : at + recipe.batch] for at in range(0, len(places), recipe.batch)]
        random.shuffle(batches)
        for batch in batches:
            yield batch, [rows[place] for place in batch]


def logits(
    network: Network, reader: Reader, exchanges: Sequence[tuple[Sequence[str], str, str]], batch: int
) -> NDArray[np.float32]:
    """A row for each exchange, whatever else is asked at once: a batch has one length, so that nothing is padded."""
    device = next(network.parameters()).device
    reader.read([text for history, system, user in exchanges for text in (*history, system, user)])
    rows = [reader.tokens(*exchange) for exchange in exchanges]
    order = sorted(range(len(rows)), key=lambda place: (len(rows[place][0]), place))
    found = np.zeros((len(rows), network.judge.out_features), np.float32)
    at = 0
    while at < len(order):
        size = len(rows[order[at]][0])
        places = [place for place in order[at : at + batch] if len(rows[place][0]) == size]
        with torch.inference_mode():
            found[places] = network(*batched([rows[place] for place in places], device)).float().cpu().numpy()
        at += len(places)
    return found


def save(network: Network, folder: Path, notes: dict[str, Any]) -> None:
    """The learnt weights in half precision, and what they are of. The backbone's word embeddings are not kept."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: weights.half().cpu() for name, weights in network.state_dict().items() if name != _FROZEN}
    torch.save(kept, folder / WEIGHTS)
    (folder / NOTES).write_text(json.dumps(notes, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def restore(network: Network, folder: Path) -> None:
    """Put kept weights into a network whose backbone has its own word embeddings."""
    kept = torch.load(folder / WEIGHTS, map_location="cpu", weights_only=True)
    own = network.state_dict()[_FROZEN]
    network.load_state_dict({name: weights.float() for name, weights in kept.items()} | {_FROZEN: own})
    network.eval()
