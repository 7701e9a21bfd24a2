"""Greedy decoding on a GPU, where starting kernels and not computing is what takes time.

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
_EAGER = 3
"""Steps before the graph is recorded, in which libraries make themselves ready."""


def can_decode(module: Any) -> bool:
    """Whether a network is of a kind whose steps are always the same work, and on a GPU."""
    return module.device.type == "cuda" and bool(getattr(module, "_can_compile_fullgraph", False))


def decode(module: Any, tokens: Any, mask: Any, *, pad: int, end: int, longest: int) -> Any:
    """The likeliest tokens after each prompt, which is padded on the left; after the end of an answer, `pad`."""
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
        written = torch.full((rows, longest), pad, device=device)
        written[:, 0] = token = first.argmax(-1)
        state = _State(written, token[:, None], token == end, position[:, -1:] + 1, is_seen[:, None, None], device)
        state.cursor += width

        def step() -> None:
            state.mask.index_fill_(3, state.cursor, value=True)
            logits = module(
                input_ids=state.token,
                attention_mask=state.mask,
                position_ids=state.position,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            ).logits[:, -1]
            state.write(logits.argmax(-1), pad, end)

        _repeat(step, longest - 1, lambda: bool(state.is_done.all()), records=device.type == "cuda")
    return written


class _State:
    """What a step reads and changes, in place."""

    def __init__(self, written: Any, token: Any, is_done: Any, position: Any, mask: Any, device: Any) -> None:
        self.written, self.token, self.is_done = written, token.clone(), is_done
        self.position, self.mask = position, mask.clone()
        self.cursor = torch.zeros(1, dtype=torch.long, device=device)
        self.count = torch.ones(1, dtype=torch.long, device=device)

    def write(self, token: Any, pad: int, end: int) -> None:
        """The next token of each answer, and on to the one after it."""
        token = token.masked_fill(self.is_done, pad)
        self.is_done |= token == end
        self.written.index_copy_(1, self.count, token[:, None])
        self.token.copy_(token[:, None])
        for number in (self.position, self.cursor, self.count):
            number += 1


def _repeat(step: Callable[[], None], times: int, is_over: Callable[[], bool], *, records: bool) -> None:
    graph = None
    for done in range(times):
        if done % _LOOK_EVERY == 0 and is_over():
            return
        if records and done == _EAGER:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
        if graph is None:
            step()
        else:
            graph.replay()


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
