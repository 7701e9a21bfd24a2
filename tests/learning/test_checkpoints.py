"""Checkpoints that are not what they should be."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.parts import need

need("torch", "models")

import torch

from dstress.errors import DstressError
from dstress.learning.checkpoints import find_checkpoint, load_weights, read_notes, write_notes, write_weights
from dstress.learning.devices import choose_device


def test_weights_come_back(tmp_path: Path) -> None:
    module, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    write_notes(tmp_path, "copy", "mine:train", {"width": 3})
    write_weights(module, tmp_path)
    load_weights(other, find_checkpoint(tmp_path))
    assert torch.equal(module.weight, other.weight)
    assert read_notes(tmp_path, "copy")["model"] == {"width": 3}


def test_weights_that_do_not_fit_are_named(tmp_path: Path) -> None:
    write_weights(torch.nn.Embedding(30, 4), tmp_path)
    with pytest.raises(DstressError, match=r"do not fit.*weight is 30 x 4 in the weights and 31 x 4 by model.json"):
        load_weights(torch.nn.Embedding(31, 4), tmp_path)
    (tmp_path / "weights.safetensors").write_bytes(b"torn")
    with pytest.raises(DstressError, match="weights cannot be read"):
        load_weights(torch.nn.Embedding(30, 4), tmp_path)


def test_a_checkpoint_of_another_family_or_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="no checkpoint"):
        read_notes(tmp_path, "copy")
    write_notes(tmp_path, "span", "mine:train", {})
    with pytest.raises(DstressError, match=r"a checkpoint of span, not of copy\n  fix: use span"):
        read_notes(tmp_path, "copy")
    (tmp_path / "model.json").write_text(json.dumps({"format": 99, "family": "copy", "corpus": "", "model": {}}))
    with pytest.raises(DstressError, match="format 99"):
        read_notes(tmp_path, "copy")


def test_a_gpu_that_is_not_there_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DstressError, match=r"no device 'cuda:99'.*\n.*--device cpu"):  # on no machine
        choose_device("cuda:99")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("") == "cpu"
