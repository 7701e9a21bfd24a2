"""What families that point at words share."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import subprocess
import sys

from tests.parts import need

need("transformers", "models")

from dstress.trackers.encoders import learn_tokenizer

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
