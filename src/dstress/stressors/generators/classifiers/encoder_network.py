"""A BERT-type encoder that learns which slots an exchange adds, as CoCo's classifier does (4.3, equations 2 and 3).

The encoder reads [CLS] history [SEP] system [SEP] user [SEP]. Where CoCo reads all slots off one
pooled vector, here each slot has a query of its own and classifies what it attends to: several slots in one utterance
then do not crowd each other out. Word embeddings stay as they were, so that names that training lacks keep their place
beside those that it has; the kept file is half as large for it.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dstress.learning import loop
from dstress.learning.base import Batch, Learner, Loss, Session, Task
from dstress.learning.batches import pad_rows
from dstress.learning.checkpoints import BEST, load_weights
from dstress.learning.recipe import TrainingOptions
from dstress.stressors.generators.classifiers.examples import multi_hot

WEIGHTS, NOTES = "weights.pt", "notes.json"
_ENCODER = "encoder."
_FROZEN = f"{_ENCODER}embeddings.word_embeddings.weight"
_FORMER_NAMES = {"backbone": "encoder", "judge": "classifier", "whole": "pooled_classifier"}
"""What the parts of the network are called in older files of weights."""
_LONGEST = {"history": 128, "system": 80, "user": 96}
"""Tokens of each part; the history and the system lose their beginning, the user's words their end."""
_OTHERS = 0.5  # how often another wording stands for the user's
OPTIONS = TrainingOptions(epochs=6, batch=32, rate=2e-4, warmup=0.06, decay="linear", weight_decay=0.01, metric="loss")

Texts = tuple[Sequence[str], str, str]
"""The history, the system's turn and the user's words of one exchange."""

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
        return logits + self.pooled_classifier(hidden[:, 0])


class ExchangeTokenizer:
    """Exchanges as token ids; a text is tokenized once, and many together, which is a great deal faster."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._cls, self._sep = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
        self._ids: dict[str, list[int]] = {}

    def encode(self, exchanges: Sequence[Texts]) -> list[TokenRow]:
        """Input ids, and their types: 0 for what came before, 1 for the user's words."""
        texts = dict.fromkeys(text for history, system, user in exchanges for text in (*history, system, user))
        if new := [text for text in texts if text not in self._ids]:
            ids = self._tokenizer(new, add_special_tokens=False)["input_ids"]
            self._ids.update(zip(new, ids, strict=True))
        rows = []
        for history, system, user in exchanges:
            before = [token for text in history for token in self._ids[text]][-_LONGEST["history"] :]
            first = self._cls + before + self._sep + self._ids[system][-_LONGEST["system"] :] + self._sep
            second = self._ids[user][: _LONGEST["user"]] + self._sep
            rows.append((first + second, [0] * len(first) + [1] * len(second)))
        return rows


def _pad(rows: Sequence[TokenRow]) -> Batch:
    """What the network reads, the shorter rows padded."""
    return {
        "input_ids": pad_rows([ids for ids, _ in rows], 0),
        "token_type_ids": pad_rows([types for _, types in rows], 0),
        "attention_mask": pad_rows([[1] * len(ids) for ids, _ in rows], 0),
    }


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
        exchanges: list[Texts] = []
        for each in examples:
            drawn = random if random and each.others and random.random() < _OTHERS else None
            exchanges.append((each.history, each.system, drawn.choice(each.others) if drawn else each.user))
        return [
            TokenExample(f"the exchange {exchange[2]!r}", row, each.label, each.unsure)
            for each, exchange, row in zip(examples, exchanges, self._tokens.encode(exchanges), strict=True)
        ]

    def collate(self, examples: Sequence[TokenExample], random: Random) -> Batch:
        """What is read, and the slots that are right."""
        slots = self.module.classifier.out_features
        targets = torch.from_numpy(multi_hot([example.label for example in examples], slots))
        weights = 1 - torch.from_numpy(multi_hot([example.unsure for example in examples], slots))
        return {**_pad([example.row for example in examples]), "targets": targets, "weights": weights}

    def loss(self, batch: Batch, embeddings: Any = None) -> Loss:
        """Over every slot of every exchange."""
        logits = self.module(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"], embeddings)
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
    targets = multi_hot([example.label for example in examples], network.classifier.out_features)
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


def compute_logits(
    network: Network, tokens: ExchangeTokenizer, exchanges: Sequence[Texts], batch_size: int
) -> NDArray[np.float32]:
    """A row for each exchange, whatever else is in the call: a batch has one length, so that nothing is padded."""
    rows = tokens.encode(exchanges)
    by_length: dict[int, list[int]] = defaultdict(list)
    for place, (ids, _) in enumerate(rows):
        by_length[len(ids)].append(place)
    logits = np.zeros((len(rows), network.classifier.out_features), np.float32)
    for same in by_length.values():
        for places in (same[at : at + batch_size] for at in range(0, len(same), batch_size)):
            batch = {name: part.to(network.device) for name, part in _pad([rows[place] for place in places]).items()}
            with torch.inference_mode():
                logits[places] = network(**batch).float().cpu().numpy()
    return logits


def save(network: Network, folder: Path, notes: dict[str, Any]) -> None:
    """The learnt weights in half precision, and what they are of. The encoder's word embeddings are not kept."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: weights.half().cpu() for name, weights in network.state_dict().items() if name != _FROZEN}
    torch.save(kept, folder / WEIGHTS)
    (folder / NOTES).write_text(json.dumps(notes, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def restore(network: Network, folder: Path) -> None:
    """Put kept weights into a network whose encoder has its own word embeddings."""
    kept = torch.load(folder / WEIGHTS, map_location="cpu", weights_only=True)
    state = {_FROZEN: network.state_dict()[_FROZEN]}
    for name, weights in kept.items():
        part, dot, rest = name.partition(".")
        state[_FORMER_NAMES.get(part, part) + dot + rest] = weights.float()
    network.load_state_dict(state)
    network.eval()
