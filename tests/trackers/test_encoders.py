"""What families that point at words share."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.parts import need

need("torch", "models")

import torch

from dstress.errors import DstressError
from dstress.learning.pretrained import Pretrained
from dstress.trackers.encoders import Backbone, EncoderOptions, learn_tokenizer

TEXTS = ["somewhere in the northern part, thanks", "I want the Larkspur or the Gables, whichever is cheaper"] * 2
PRINT = f"from dstress.trackers.encoders import learn_tokenizer; print(learn_tokenizer({TEXTS!r}, 90).get_vocab())"


def test_a_tokenizer_is_learned_alike_in_every_process() -> None:
    """A killed training learns it again, and its weights must fit."""
    again = [subprocess.run([sys.executable, "-c", PRINT], capture_output=True, text=True, check=True) for _ in "ab"]
    assert [eval(run.stdout) for run in again] == [learn_tokenizer(TEXTS, 90).get_vocab()] * 2


def test_a_word_is_one_unknown_token_or_pieces_that_cover_it() -> None:
    tokenizer = learn_tokenizer(TEXTS, 90)
    read = tokenizer("The Larks, zzz!", return_offsets_mapping=True)
    assert [tokenizer.decode(token) for token in read["input_ids"]][-2:] == ["[UNK]", "[UNK]"]
    assert "".join("The Larks, zzz!"[start:end] for start, end in read["offset_mapping"]) == "TheLarks,zzz!"


def test_an_encoder_is_read_from_a_checkpoint_and_made_again_from_what_it_saved(tmp_path: Path) -> None:
    small = EncoderOptions(checkpoint="", width=16, layers=1, heads=2)
    first = Backbone.create(small, TEXTS, 32)
    first.module.save_pretrained(tmp_path / "published")
    first.tokenizer.save_pretrained(tmp_path / "published")
    read = Backbone.create(EncoderOptions(checkpoint=str(tmp_path / "published")), (), 32)
    assert all(map(torch.equal, first.module.state_dict().values(), read.module.state_dict().values()))
    assert read.tokenize(TEXTS[0]) == first.tokenize(TEXTS[0])
    read.save(tmp_path / "kept")
    again = Backbone.remake(tmp_path / "kept")
    assert [weights.shape for weights in again.module.parameters()] == [w.shape for w in first.module.parameters()]
    with pytest.raises(DstressError, match="reads 32 tokens, not 64"):
        Backbone.create(EncoderOptions(checkpoint=str(tmp_path / "published")), (), 64)


@pytest.mark.parametrize("kind", [Backbone, Pretrained])
def test_what_is_no_checkpoint_is_told_alike(kind: type[Pretrained], tmp_path: Path) -> None:
    (tmp_path / "torn.gguf").write_bytes(b"nothing")
    for name in ("nowhere", "torn.gguf"):
        with pytest.raises(DstressError, match=f"the checkpoint '.*{name}' cannot be read: .*\n  fix: give the folder"):
            kind.read(str(tmp_path / name))
    with pytest.raises(DstressError, match="cannot be made again"):
        kind.remake(tmp_path / "nowhere")
