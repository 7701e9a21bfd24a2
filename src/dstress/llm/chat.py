"""A small client for any endpoint that speaks like OpenAI's chat completions: vLLM, llama.cpp, Ollama, the big ones.

The key comes from the environment, `DSTRESS_API_KEY` or else `OPENAI_API_KEY`, at each request; it is never kept,
printed or stored. An empty `DSTRESS_API_KEY` sends none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dstress.llm.post import Poster, Unanswered
from dstress.storage.secrets import api_key

BAD_REPLY = "malformed"
_LETTERS_PER_TOKEN = 4
_MOST_TOKENS = 10**8
"""No model reads or writes more at once."""


class Call(msgspec.Struct, frozen=True):
    """A tool that the model calls, and the arguments as the text that it wrote."""

    name: str
    arguments: str


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the model said, and what it cost. `finish` is the endpoint's word for why it stopped."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


def json_shape(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The field of a request that binds the model to a JSON schema."""
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}}


class _Function(msgspec.Struct):
    name: str = ""
    arguments: Any = ""


class _ToolCall(msgspec.Struct):
    function: _Function = msgspec.field(default_factory=_Function)


class _Message(msgspec.Struct):
    content: str | None = None
    tool_calls: list[_ToolCall] | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: Any = None


_COMPLETION = msgspec.json.Decoder(_Completion)


class Endpoint(Poster):
    """The chat completions of one server. Several threads may ask at once."""

    def __init__(self, base_url: str, timeout: float = 60.0, retries: int = 5, connections: int = 8) -> None:
        super().__init__(f"{base_url.rstrip('/')}/chat/completions", timeout, retries, connections, api_key)

    def chat(self, request: Mapping[str, Any]) -> Reply:
        """The reply to a request (`model`, `messages` and any parameters). Raises Unanswered, as does the poster."""
        body = msgspec.json.encode(request)
        return read_reply(self.post(body), len(body))


def read_reply(content: bytes, prompt_letters: int = 0) -> Reply:
    """The first choice. Tokens that an endpoint does not count, or not as can be, are guessed: budgets must hold."""
    try:
        completion = _COMPLETION.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unanswered(BAD_REPLY, f"no chat completion ({error}): {content[:60]!r}") from None
    if not completion.choices:
        raise Unanswered(BAD_REPLY, "a chat completion without a choice")
    choice, usage = completion.choices[0], completion.usage
    message = choice.message
    calls = tuple(
        # Arguments are a text that holds JSON; some servers send the JSON itself.
        Call(
            each.name,
            each.arguments if isinstance(each.arguments, str) else msgspec.json.encode(each.arguments).decode(),
        )
        for each in (call.function for call in message.tool_calls or ())
    )
    text = message.content or ""
    letters = len(text) + sum(len(call.arguments) for call in calls)
    tokens_in = _tokens(usage, "prompt_tokens", prompt_letters)
    tokens_out = _tokens(usage, "completion_tokens", letters)
    finish = "refusal" if message.refusal else choice.finish_reason or ""
    return Reply(message.refusal or text, calls, finish, tokens_in, tokens_out)


def _tokens(usage: Any, name: str, letters: int) -> int:
    """A count of an endpoint's; from letters where there is none, or one that cannot be: below 0, or endless.

    Such a count would free a budget, or not fit into the table of what was spent, and lose the reply that was paid.
    """
    count = usage.get(name) if isinstance(usage, dict) else None
    guess = letters // _LETTERS_PER_TOKEN
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= max(_MOST_TOKENS, letters):
        return guess
    return count or guess  # no text has no tokens
