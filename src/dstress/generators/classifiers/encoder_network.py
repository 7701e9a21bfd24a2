"""A BERT-type encoder that learns which slots an exchange adds, as CoCo's classifier does (4.3, equations 2 and 3).

The encoder reads [CLS] history [SEP] system [SEP] user [SEP]. Where CoCo reads all slots off one
pooled vector, here each slot has a query of its own and classifies what it attends to: several slots in one utterance
then do not crowd each other out. Word embeddings stay as they were, so that names that training lacks keep their place
beside those that it has; the kept file is half as large for it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dstress.learning import loop
from dstress.learning.base import Batch, Learner, Loss, Session, Task
from dstress.learning.checkpoints import BEST, load_weights
from dstress.learning.recipe import TrainingOptions

WEIGHTS, NOTES = "weights.pt", "notes.json"
_ENCODER = "encoder."
_FROZEN = f"{_ENCODER}embeddings.word_embeddings.weight"
_FORMER_NAMES = {"backbone.": _ENCODER, "judge.": "classifier.", "whole.": "pooled_classifier."}
"""What the parts of the network are called in older files of weights."""
_LONGEST = {"history": 128, "system": 80, "user": 96}
"""Tokens of each part; the history and the system lose their beginning, the user's words their end."""
_OTHERS = 0.5
"""How often another wording stands for the user's."""
OPTIONS = TrainingOptions(epochs=6, batch=32, rate=2e-4, warmup=0.06, decay="linear", weight_decay=0.01, metric="loss")

_READ = ("input_ids", "token_type_ids", "attention_mask")
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

    def forward(self, input_ids: Any, token_type_ids: Any, attention_mask: Any, embeddings: Any = None) -> Any:
        """A logit for each exchange and slot; with `embeddings` in place of those of the ids."""
        types = token_type_ids if self.encoder.config.type_vocab_size > 1 else None
        read = {"input_ids": input_ids} if embeddings is None else {"inputs_embeds": embeddings}
        outputs = self.encoder(**read, token_type_ids=types, attention_mask=attention_mask)
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


class TokenExample(NamedTuple):
    """An exchange in one of its wordings, as token ids, with its label."""

    name: str
    row: TokenRow
    label: Sequence[int]
    unsure: Sequence[int]

    @property
    def length(self) -> int:
        """Tokens."""
        return len(self.row[0])


class SlotLearner(Learner):
    """The network, and how it learns slots from exchanges."""

    def __init__(self, network: Network, tokenizer: Any) -> None:
        self.module, self._tokens = network, ExchangeTokenizer(tokenizer)
        network.get_parameter(_FROZEN).requires_grad_(False)

    def encode(self, examples: Sequence[TrainingExample], random: Random | None = None) -> list[TokenExample]:
        """Exchanges as they are; with `random`, in any of their wordings."""
        self._tokens.add([text for each in examples for text in (*each.history, each.system, each.user, *each.others)])
        encoded = []
        for each in examples:
            is_other = random is not None and bool(each.others) and random.random() < _OTHERS
            user = random.choice(each.others) if random is not None and is_other else each.user
            row = self._tokens.encode(each.history, each.system, user)
            encoded.append(TokenExample(f"the exchange {user!r}", row, each.label, each.unsure))
        return encoded

    def collate(self, examples: Sequence[TokenExample], random: Random) -> Batch:
        """What is read, and the slots that are right."""
        read = zip(_READ, pad_batch([example.row for example in examples], "cpu"), strict=True)
        slots = self.module.classifier.out_features
        targets = torch.from_numpy(_multi_hot([example.label for example in examples], slots))
        weights = 1 - torch.from_numpy(_multi_hot([example.unsure for example in examples], slots))
        return {**dict(read), "targets": targets, "weights": weights}

    def loss(self, batch: Batch, embeddings: Any = None) -> Loss:
        """Over every slot of every exchange."""
        logits = self.module(*(batch[name] for name in _READ), embeddings)
        total = torch.nn.functional.binary_cross_entropy_with_logits(
            logits.float(), batch["targets"], batch["weights"], reduction="sum"
        )
        return Loss(total, logits.numel())

    def embed(self, batch: Batch) -> Any:
        """Of the words of the exchange."""
        return self.module.encoder.get_input_embeddings()(batch["input_ids"])

    def parameter_groups(self, rate: float) -> list[dict[str, Any]]:
        """The heads learn ten times as fast as the encoder, which has learnt already."""
        encoder, heads = list[Any](), list[Any]()
        for name, weights in self.module.named_parameters():
            if weights.requires_grad:
                (encoder if name.startswith(_ENCODER) else heads).append(weights)
        return [{"params": encoder, "lr": rate}, {"params": heads, "lr": 10 * rate}]


def fit(
    network: Network,
    tokenizer: Any,
    examples: Sequence[TrainingExample],
    held_out: Sequence[TrainingExample],
    options: TrainingOptions,
    session: Session,
) -> None:
    """Fit the network where it is; the epoch with the lowest loss on what is held out is kept."""
    torch.manual_seed(options.seed)
    learner = SlotLearner(network, tokenizer)
    targets = _multi_hot([example.label for example in examples], network.classifier.out_features)
    share = torch.from_numpy(targets.mean(0)).clamp(1e-4, 1 - 1e-4)
    network.classifier.bias.data.copy_(share.logit())  # so that the first steps need not learn how rare slots are
    kept_back = learner.encode(held_out)
    task = Task(
        learner,
        lambda random: learner.encode(examples, random),
        lambda: {"loss": loop.mean_loss(learner, kept_back, options)},
        lambda folder: folder.mkdir(exist_ok=True),
    )
    with tempfile.TemporaryDirectory() as folder:
        loop.fit(task, options, Path(folder), session._replace(device=str(network.device)))
        load_weights(network, Path(folder) / BEST)
    network.eval()


def _multi_hot(columns: Sequence[Sequence[int]], width: int) -> NDArray[np.float32]:
    """A row for each, with 1 in its columns."""
    table = np.zeros((len(columns), width), np.float32)
    for row, ones in enumerate(columns):
        table[row, list(ones)] = 1
    return table


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
