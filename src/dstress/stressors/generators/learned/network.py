"""The network of the `learned` generator: a family of trackers that writes text, over lessons of users' turns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Literal

import msgspec

from dstress.errors import DstressError
from dstress.learning.checkpoints import find_checkpoint, load_weights, read_notes, write_notes
from dstress.learning.devices import choose_device
from dstress.learning.lessons import Lesson
from dstress.learning.recipe import read_settings
from dstress.resources import Material
from dstress.stressors.generators.learned import FAMILY
from dstress.stressors.generators.learned.meaning import lessons_of
from dstress.trackers.generative.model import GenerativeModel
from dstress.trackers.generative.model import Options as TrackerOptions
from dstress.trackers.generative.networks import CausalModel, Seq2SeqModel

_KINDS: dict[str, type[GenerativeModel]] = {"causal": CausalModel, "seq2seq": Seq2SeqModel}


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe's `[model]`."""

    network: Literal["causal", "seq2seq"] = "causal"
    checkpoint: str = ""
    """A folder, a GGUF file or a name on the hub; none: trained from scratch."""
    width: int = 256
    layers: int = 4
    heads: int = 4
    vocabulary: int = 8000
    """The size of a network without a checkpoint."""
    longest: int = 320
    """Tokens of a prompt that are read, the latest."""
    longest_answer: int = 64
    precision: Literal["bf16", "fp32"] = "bf16"


def create(options: Options, train: Material) -> GenerativeModel:
    """A fresh network for a corpus; torch is seeded."""
    model = _KINDS[options.network].create_for(_settings(options), lessons_of(train, Random(0)))
    model.knowledge = options  # what is kept to make it again
    return model


def lessons_for(corpus: Material, random: Random) -> Sequence[Lesson]:
    """The lessons of an epoch."""
    return list(lessons_of(corpus, random))


def save(model: GenerativeModel, corpus: str, folder: Path) -> None:
    """What makes it again, beside its weights."""
    write_notes(folder, FAMILY, corpus, model.save(folder))


def load(folder: Path, device: str = "") -> GenerativeModel:
    """The network of a trained folder, ready to sample."""
    place = find_checkpoint(folder)
    notes = read_notes(place, FAMILY)
    options = read_settings(notes["model"], Options, str(place))
    try:
        model = _KINDS[options.network].restore(msgspec.to_builtins(_settings(options)), place)
    except (KeyError, TypeError, ValueError) as error:
        raise DstressError(f"the network cannot be made again: {error}", where=str(place)) from error
    load_weights(model.module, place)
    model.module.to(choose_device(device))
    model.ready()
    return model


def _settings(options: Options) -> TrackerOptions:
    settings = msgspec.structs.asdict(options)
    return TrackerOptions(**{name: value for name, value in settings.items() if name != "network"})
