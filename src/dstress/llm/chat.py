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


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


_COMPLETION = msgspec.json.Decoder(_Completion)


class Endpoint:
    """The chat completions of one server. Several threads may ask at once."""

    def __init__(self, base_url: str, timeout: float = 60.0, retries: int = 5, connections: int = 8) -> None:
        self._poster = Poster(f"{base_url.rstrip('/')}/chat/completions", timeout, retries, connections, api_key)

    def chat(self, request: Mapping[str, Any]) -> Reply:
        """The reply to a request (`model`, `messages` and any parameters). Raises Unanswered, as does the poster."""
        body = msgspec.json.encode(request)
        return read_reply(self._poster.post(body), len(body))

    def take_retries(self) -> int:
        """How many requests were sent again since the last call."""
        return self._poster.take_retries()

    def stop(self) -> None:
        """Ask no more; whoever waits for another try gives up."""
        self._poster.stop()

    def close(self) -> None:
        """Close the connections, once nobody asks any more."""
        self._poster.close()


def read_reply(content: bytes, prompt_letters: int = 0) -> Reply:
    """The first choice. Tokens that an endpoint does not count are guessed from letters: budgets must hold."""
    try:
        completion = _COMPLETION.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unanswered(BAD_REPLY, f"no chat completion ({error}): {content[:60]!r}") from None
    if not completion.choices:
        raise Unanswered(BAD_REPLY, "a chat completion without a choice")
    choice, usage = completion.choices[0], completion.usage or _Usage()
    message = choice.message
    calls = tuple(Call(call.function.name, _text(call.function.arguments)) for call in message.tool_calls or ())
    text = message.content or ""
    letters = len(text) + sum(len(call.arguments) for call in calls)
    tokens_in = prompt_letters // _LETTERS_PER_TOKEN if usage.prompt_tokens is None else usage.prompt_tokens
    tokens_out = letters // _LETTERS_PER_TOKEN if usage.completion_tokens is None else usage.completion_tokens
    finish = "refusal" if message.refusal else choice.finish_reason or ""
    return Reply(message.refusal or text, calls, finish, tokens_in, tokens_out)


def _text(arguments: object) -> str:
    """Arguments are a text that holds JSON; some servers send the JSON itself."""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
