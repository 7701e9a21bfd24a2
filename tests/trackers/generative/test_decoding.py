"""Decoding with a cache of fixed size says what transformers' own loop says."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import pytest

from tests.parts import need

need("torch", "models")

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, LogitsProcessorList

from dstress.trackers.generative.decoding import Sampler, can_decode, decode

PAD, END, WIDTH, LONGEST = 0, 1, 9, 24
LLAMA = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 6}


@pytest.mark.parametrize("shared", [6, 2, 1])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_the_same_tokens_as_generate(family: str, shared: int) -> None:
    torch.manual_seed(shared)
    common = {"vocab_size": 12, "initializer_range": 0.5, "eos_token_id": END, "bos_token_id": None}
    module = (
        LlamaForCausalLM(LlamaConfig(**LLAMA, num_key_value_heads=shared, **common))
        if family == "llama"
        else GPT2LMHeadModel(GPT2Config(n_embd=48, n_layer=2, n_head=shared, **common))
    ).eval()
    usual = module.config._attn_implementation
    tokens, mask = torch.randint(2, 12, (16, WIDTH)), torch.ones(16, WIDTH, dtype=torch.long)
    for row in range(WIDTH):  # prompts of any length, padded on the left
        tokens[row, :row], mask[row, :row] = PAD, 0
    options = {"max_new_tokens": LONGEST, "do_sample": False, "pad_token_id": PAD, "eos_token_id": END}
    with torch.inference_mode():
        expected = module.generate(input_ids=tokens, attention_mask=mask, **options)[:, WIDTH:]
        written = decode(module, tokens, mask, pad=PAD, end=END, longest=LONGEST)
    length = expected.shape[1]
    assert torch.equal(written[:, :length], expected) and bool((written[:, length:] == PAD).all())
    assert len({tuple(row) for row in expected.tolist()}) > 4, "a network that always says the same shows nothing"
    assert any(END in row for row in expected.tolist()), "some answers end before the others"
    assert module.config._attn_implementation == usual
    assert not can_decode(module), "a CPU has no graphs to record"


def test_samples_hang_on_their_own_numbers_and_are_those_of_generate() -> None:
    torch.manual_seed(4)
    config = LlamaConfig(**LLAMA, num_key_value_heads=2, vocab_size=12, initializer_range=0.5, eos_token_id=END)
    module = LlamaForCausalLM(config).eval()
    tokens, mask = torch.randint(2, 12, (8, WIDTH)), torch.ones(8, WIDTH, dtype=torch.long)
    tokens[0, :4], mask[0, :4] = PAD, 0
    numbers = torch.rand(8, LONGEST)

    def sample(rows: list[int]) -> tuple[list[list[int]], list[float]]:
        sampler = Sampler(numbers[rows], 0.8, 1.0, END)
        written = decode(module, tokens[rows], mask[rows], pad=PAD, end=END, longest=LONGEST, choose=sampler.draw)
        return written.tolist(), sampler.likelihoods.tolist()

    with torch.inference_mode():
        drawn, likelihoods = sample(list(range(8)))
        sampler = Sampler(numbers, 0.8, 1.0, END)
        expected = module.generate(
            input_ids=tokens,
            attention_mask=mask,
            max_new_tokens=LONGEST,
            do_sample=False,
            pad_token_id=PAD,
            eos_token_id=END,
            logits_processor=LogitsProcessorList([sampler]),
        )[:, WIDTH:].tolist()
        alone, alone_likelihoods = sample([5])
    assert [row[: len(each)] for row, each in zip(drawn, expected, strict=True)] == expected
    assert sampler.likelihoods.tolist() == pytest.approx(likelihoods, abs=1e-3)
    assert alone == [drawn[5]] and alone_likelihoods == pytest.approx([likelihoods[5]], abs=1e-3)
    assert len({tuple(row) for row in drawn}) == 8 and min(likelihoods) < -1


def test_a_nucleus_is_the_likeliest_tokens_by_their_shares() -> None:
    shares = torch.tensor([[0.5, 0.3, 0.15, 0.05]])
    drawn = []
    for number in (0.0, 0.3, 0.62, 0.63, 0.99):
        sampler = Sampler(torch.tensor([[number]]), 0.8, 1.0, 9)
        drawn.append(int(sampler.draw(shares.log(), torch.tensor([0]), torch.tensor([False]))))
    assert drawn == [0, 0, 0, 1, 1], "0.5 and 0.3 make the nucleus; of it, the first has 62.5 %"
