"""What a training leaves behind, and how weights come back: safetensors, never pickles.

    OUT/recipe.toml                  the recipe with every setting
    OUT/log.jsonl                    a line every few steps, and one for each evaluation
    OUT/training.json                how it ended: the best evaluation, seconds, machine, versions
    OUT/best/, OUT/checkpoints/N/    model.json, weights.safetensors, and what else the learner needs
    OUT/state.pt                     all that a killed training goes on from

The weights are written last: a folder that has them is whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dstress.errors import DstressError
from dstress.storage.atomic import replacing

WEIGHTS, NOTES = "weights.safetensors", "model.json"
RECIPE, LOG, RESULT, STATE, BEST, KEPT = (
    "recipe.toml",
    "log.jsonl",
    "training.json",
    "state.pt",
    "best",
    "checkpoints",
)
FORMAT = 1
_HOW = "dstress train RECIPE --out DIR makes one"


def write_weights(module: Any, folder: Path) -> None:
    """The module's weights, whole or not at all."""
    from safetensors.torch import save

    weights = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in module.state_dict().items()}
    with replacing(folder / WEIGHTS) as stream:
        stream.write(save(weights))


def load_weights(module: Any, folder: Path) -> None:
    """Put a checkpoint's weights into a module of the same shape."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        weights = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise DstressError(f"the weights cannot be read: {error}", where=str(folder / WEIGHTS), fix=_HOW) from error
    expected = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if wrong := sorted(name for name in {*expected, *shapes} if expected.get(name) != shapes.get(name)):
        name = wrong[0]
        problem = f"{name} is {_size(shapes.get(name))} in the weights and {_size(expected.get(name))} by {NOTES}"
        raise DstressError(
            f"the weights do not fit the network: {problem}",
            where=str(folder / WEIGHTS),
            fix=f"{NOTES} (vocabulary, sizes) and the weights must be of one training; {_HOW}",
        )
    module.load_state_dict(weights)


def _size(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else " x ".join(map(str, shape)) or "a number"


def write_notes(folder: Path, family: str, corpus: str, model: Mapping[str, Any]) -> None:
    """What the weights are of: `model` is all that the family needs to make the network again."""
    folder.mkdir(parents=True, exist_ok=True)
    notes = {"format": FORMAT, "family": family, "corpus": corpus, "model": model}
    with replacing(folder / NOTES) as stream:
        stream.write(json.dumps(notes, ensure_ascii=False, indent=1).encode() + b"\n")


def find_checkpoint(path: Path) -> Path:
    """The checkpoint in a training's folder, or the folder itself where it is one."""
    return next((folder for folder in (path, path / BEST) if (folder / WEIGHTS).is_file()), path)


def list_checkpoints(path: Path) -> dict[int, Path]:
    """The checkpoints that a training has kept for good, by step."""
    folders = [folder for folder in (path / KEPT).glob("*") if (folder / WEIGHTS).is_file() and folder.name.isdigit()]
    if not folders:
        raise DstressError(
            "no training has kept checkpoints here",
            where=str(path),
            fix="train with keep_every: dstress train RECIPE --out DIR --set training.keep_every=1",
        )
    return {int(folder.name): folder for folder in sorted(folders, key=lambda folder: int(folder.name))}


def read_notes(folder: Path, family: str = "") -> dict[str, Any]:
    """What a checkpoint of this family, or of any, says about itself."""
    try:
        notes: dict[str, Any] = json.loads((folder / NOTES).read_text(encoding="utf-8"))
        trained, version = notes["family"], notes["format"]
        _ = notes["corpus"], notes["model"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DstressError(f"this is no checkpoint of a tracker: {error}", where=str(folder), fix=_HOW) from error
    if family and trained != family:
        raise DstressError(
            f"this is a checkpoint of {trained}, not of {family}", where=str(folder), fix=f"use {trained}"
        )
    if version != FORMAT:
        raise DstressError(f"the checkpoint has format {version}, not {FORMAT}", where=str(folder), fix=_HOW)
    return notes
