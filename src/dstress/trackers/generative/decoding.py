"""Decoding on a GPU, where starting kernels and not computing is what takes time: the likeliest tokens, or samples.

Keys and values live in a cache of fixed size, so that one step is always the same work at the same addresses: it is
recorded once as a CUDA graph and replayed, token after token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional

_GROUPED = "dstress-grouped"
_LOOK_EVERY = 8
"""Steps between two looks at whether all answers have ended, which a GPU waits for."""
_MOST = 64
"""Tokens that a sample is drawn from, at most."""
_EAGER = 3
"""Steps before the graph is recorded, in which libraries make themselves ready."""


def can_decode(module: Any) -> bool:
    """Whether a network is of a kind whose steps are always the same work, and on a GPU."""
    return module.device.type == "cuda" and bool(getattr(module, "_can_compile_fullgraph", False))


class Sampler:
    """Draws tokens from the nucleus of their distribution, with numbers from 0 to 1 that are given: a row per text.

    So a text depends on its own numbers and on nothing else in the batch. Also a step of `generate`, where it leaves
    one token that can come next.
    """

    def __init__(self, numbers: Any, nucleus: float, temperature: float, end: int) -> None:
        self.numbers, self.nucleus, self.temperature, self.end = numbers, nucleus, temperature, end
        self.likelihoods = torch.zeros(len(numbers), device=numbers.device)
        """The sum of the log-probabilities of each text's tokens, its end among them."""
        self._is_done = torch.zeros(len(numbers), dtype=torch.bool, device=numbers.device)
        self._step = 0

    def draw(self, logits: Any, step: Any, is_done: Any) -> Any:
        """The next token of each row; `step` is a tensor of one number, as a recorded graph needs it."""
        scores = logits.float().log_softmax(-1)
        top, tokens = (scores if self.temperature == 1 else scores / self.temperature).topk(min(_MOST, scores.shape[1]))
        shares = top.softmax(-1)
        upto = shares.cumsum(-1)
        kept = shares.masked_fill(upto - shares >= self.nucleus, 0.0).cumsum(-1)
        aim = self.numbers.index_select(1, step) * kept[:, -1:]
        place = (kept <= aim).sum(-1, keepdim=True).clamp(max=tokens.shape[1] - 1)
        drawn = tokens.gather(1, place)
        gained = scores.gather(1, drawn)[:, 0]
        self.likelihoods.add_(gained.masked_fill(is_done, 0.0))
        return drawn[:, 0]

    def __call__(self, tokens: Any, scores: Any) -> Any:
        """As `generate` asks: scores of which the token that is drawn has the only finite one."""
        drawn = self.draw(scores, torch.tensor([self._step], device=scores.device), self._is_done)
        self._step += 1
        self._is_done |= drawn == self.end
        return torch.full_like(scores, float("-inf")).scatter(1, drawn[:, None], 0.0)


def decode(
    module: Any,
    tokens: Any,
    mask: Any,
    *,
    pad: int,
    end: int,
    longest: int,
    choose: Callable[[Any, Any, Any], Any] = lambda logits, step, is_done: logits.argmax(-1),
) -> Any:
    """The tokens after each prompt, which is padded on the left: by default the likeliest. After an end, `pad`."""
    from transformers import StaticCache

    rows, width = tokens.shape
    total, device = width + longest, tokens.device
    cache = StaticCache(config=module.config, max_cache_len=total)
    is_seen = functional.pad(mask.bool(), (0, longest))
    before = torch.ones(width, total, dtype=torch.bool, device=device).tril()
    itself = torch.eye(width, total, dtype=torch.bool, device=device)  # padding that sees nothing would be NaN
    position = (mask.cumsum(1) - 1).clamp(min=0)
    with _grouped_attention(module):
        first = module(
            input_ids=tokens,
            attention_mask=((is_seen[:, None, :] & before) | itself)[:, None],
            position_ids=position,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        del before, itself
        # What a step reads and changes in place; a recorded step finds it at the same addresses.
        written = torch.full((rows, longest), pad, device=device)
        none_done = torch.zeros(rows, dtype=torch.bool, device=device)
        written[:, 0] = token = choose(first, torch.zeros(1, dtype=torch.long, device=device), none_done)
        token, is_done, step_mask = token[:, None].clone(), token == end, is_seen[:, None, None].clone()
        position, cursor = position[:, -1:] + 1, torch.full((1,), width, dtype=torch.long, device=device)
        count = torch.ones(1, dtype=torch.long, device=device)

        def step() -> None:
            step_mask.index_fill_(3, cursor, value=True)
            logits = module(
                input_ids=token,
                attention_mask=step_mask,
                position_ids=position,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            ).logits[:, -1]
            chosen = choose(logits, count, is_done).masked_fill(is_done, pad)
            is_done.logical_or_(chosen == end)
            written.index_copy_(1, count, chosen[:, None])
            token.copy_(chosen[:, None])
            for number in (position, cursor, count):
                number += 1

        graph = None
        for done in range(longest - 1):
            if done % _LOOK_EVERY == 0 and bool(is_done.all()):
                break
            if device.type == "cuda" and done == _EAGER:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    step()
            if graph is None:
                step()
            else:
                graph.replay()
    return written


@contextmanager
def _grouped_attention(module: Any) -> Iterator[None]:
    """Attention that does not copy keys and values for every head that shares them."""
    from transformers import AttentionInterface

    usual = module.config._attn_implementation
    if usual == "sdpa":
        AttentionInterface.register(_GROUPED, _attend)
        module.config._attn_implementation = _GROUPED
    try:
        yield
    finally:
        module.config._attn_implementation = usual


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float | None = None, **others: Any
) -> tuple[Any, None]:
    """One query for each row against all keys; prompts go the usual way."""
    if query.shape[2] > 1:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        attended, _ = sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **others)
        return attended, None
    rows, heads, _, size = query.shape
    grouped = query.view(rows, key.shape[1], heads // key.shape[1], size)
    scores = grouped @ key.transpose(2, 3) * (size**-0.5 if scaling is None else scaling)
    weights = scores.masked_fill(~attention_mask, float("-inf")).softmax(-1, dtype=torch.float32)
    attended = weights.to(value.dtype) @ value
    return attended.reshape(rows, 1, heads, size), None
