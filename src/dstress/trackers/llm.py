"""A language model behind any OpenAI-compatible endpoint as a tracker: zero-shot, or with a few solved examples."""

from __future__ import annotations

import hashlib
import inspect
import threading
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import msgspec

from dstress.dialogue import Schema
from dstress.endpoint import BAD_REPLY, Endpoint, Reply
from dstress.errors import DstressError, SpecError, unknown
from dstress.llm_cache import ResponseCache, Spent, key_of
from dstress.posting import Unanswered, checked_url
from dstress.setting import Setting
from dstress.trackers import prompting, shots
from dstress.trackers.base import Answer, Context, Failed, Tracker
from dstress.trackers.wire import MALFORMED, Unreadable

OVER_BUDGET = "budget spent"
DECLINED = "refused by the model"
_MILLION = 1_000_000
_COUNTED = ("requests", "retries", "cached", "tokens_in", "tokens_out", "cost", "malformed", "over_budget")
_BATCHES = 8


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to ask. What is `none` is not sent, for endpoints that do not know it."""

    services: Literal["all", "dialogue"] = "all"
    """Whether the prompt shows the whole schema, or only the services that the corpus says the dialogue is about."""
    concurrency: int = 8
    budget: float | None = None
    """Money where prices are given, else tokens."""
    price_in: float = 0.0
    """Money for a million tokens of prompt."""
    price_out: float = 0.0
    """Money for a million tokens of answer."""
    temperature: float | None = 0.0
    seed: int | None = 1
    max_tokens: int | None = 1024
    timeout: float = 60.0
    retries: int = 5
    version: str = ""

    def __post_init__(self) -> None:
        """Refuse what can never work."""
        if self.concurrency < 1 or self.timeout <= 0 or self.retries < 0:
            raise SpecError("llm: concurrency must be 1 or more, timeout above 0, retries 0 or more")
        if min(self.budget or 0.0, self.price_in, self.price_out) < 0 or (
            self.max_tokens is not None and self.max_tokens < 1
        ):
            raise SpecError("llm: a budget or a price is not below 0, and max_tokens is 1 or more")

    def sent(self) -> dict[str, Any]:
        """The parameters that go to the endpoint."""
        found = {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.max_tokens}
        return {name: value for name, value in found.items() if value is not None}

    def cost(self, reply: Reply) -> Spent:
        """What a reply cost."""
        money = (reply.tokens_in * self.price_in + reply.tokens_out * self.price_out) / _MILLION
        return Spent(reply.tokens_in + reply.tokens_out, money)

    def overspent(self, spent: Spent) -> str:
        """Why no more may be asked; empty if more may be."""
        if self.budget is None:
            return ""
        priced = self.price_in > 0 or self.price_out > 0
        if (spent.money if priced else spent.tokens) < self.budget:
            return ""
        told = f"{spent.money:.4f} of {self.budget:g}" if priced else f"{spent.tokens:,} of {self.budget:,.0f} tokens"
        return f"{told}; raise budget= and resume"


class Llm(Tracker):
    """A language model: prompted with the schema and the dialogue, bound to a JSON schema or to a tool call.

    `base_url` is that of an OpenAI-compatible endpoint, such as "http://localhost:8000/v1". `mode` is `json`
    (`response_format` with a JSON schema) or `tools` (a forced tool call). `shots` examples are drawn from the corpus
    `train`, by the seed. `options` are the fields of `Options`. An answer that breaks the shape is a failure of its
    own kind, `malformed`. Responses are kept in the data home and never paid for twice.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        mode: Literal["json", "tools"] = "json",
        shots: int = 0,
        train: str = "",
        **options: Any,
    ) -> None:
        if shots < 0 or (shots and not train):
            raise SpecError(
                "llm: examples are drawn from a training corpus", fix='add train="multiwoz21:train", or leave out shots'
            )
        self.base_url, self.model, self.mode = checked_url("llm", base_url), model, mode
        self.shots, self.train, self.options = shots, train, _options(options)
        self.batch = _BATCHES * self.options.concurrency
        self._purse = uuid.uuid4().hex  # goes along to worker processes: together they keep to one budget
        self._folder: Path | None = None
        self._examples: list[Context] = []
        self._counts = dict.fromkeys(_COUNTED, 0.0)
        self._open: _Handles | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Connections, threads and files stay behind when it is sent to another process."""
        return self.__dict__ | {
            "_open": None,
            "_examples": [],
            "_folder": None,
            "_counts": dict.fromkeys(_COUNTED, 0.0),
        }

    def prepare(self, setting: Setting) -> None:
        """Draw the examples."""
        super().prepare(setting)
        self._folder = setting.folder / "llm"
        if self.shots:
            self._examples = shots.draw(setting.load(self.train), self.shots, self.options.seed or 0, self.train)

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The model's answers, several asked for at once, in the order of the contexts."""
        asked = [self._question(context) for context in contexts]
        handles = self._handles()
        # The same words are asked about once: a second request would only cost, and might be answered otherwise.
        waiting = {question.key: handles.pool.submit(self._answer, handles, question) for question in _once(asked)}
        try:
            answers = {key: future.result() for key, future in waiting.items()}
        finally:
            for future in waiting.values():
                future.cancel()
        return [answers[question.key] for question in asked]

    def reads(self, train: str) -> tuple[str, ...]:
        """The split that examples are drawn from."""
        return (self.train,) if self.shots and self.train else ()

    def fingerprint(self) -> str:
        """The endpoint, the model, every parameter that it is sent, and the words and the code that make the prompt."""
        told = [self.base_url, self.model, self.mode, self.shots, self.train, self.options.sent()]
        told += [self.options.services, self.options.version]
        digest = hashlib.sha256(msgspec.json.encode(["llm", *told]))
        digest.update(prompting.template())
        for module in (prompting, shots):
            digest.update(inspect.getsource(module).encode())
        return digest.hexdigest()[:16]

    def usage(self) -> dict[str, float]:
        """Requests, tokens and money since the last call; also answers from the cache, malformed ones, and so on."""
        if self._open is not None:
            self._counts["retries"] += self._open.endpoint.taken_retries()
        counts, self._counts = self._counts, dict.fromkeys(_COUNTED, 0.0)
        return counts

    def close(self) -> None:
        """Close connections and the cache."""
        if self._open is not None:
            self._counts["retries"] += self._open.endpoint.taken_retries()
            self._open.close()
            self._open = None

    def _question(self, context: Context) -> _Question:
        schema = context.schema
        if self.options.services == "dialogue":
            schema = prompting.narrowed(schema, context.services)
        request = {"model": self.model, "messages": prompting.messages(context, schema, self._examples, self.mode)}
        request |= self.options.sent() | prompting.constraint(schema, self.mode)
        key = key_of(self.base_url, msgspec.json.encode(request), self.options.version)
        return _Question(key, request, schema)

    def _answer(self, handles: _Handles, question: _Question) -> Answer:
        """One answer, from the cache or from the model; whatever it costs is counted, whatever it is worth."""
        reply = handles.cache.get(question.key)
        known = reply is not None
        try:
            if reply is None:
                reply = self._bought(handles, question)
            state = prompting.read_state_of(reply, question.schema, self.mode)
        except Unanswered as problem:
            handles.count(self._counts, over_budget=problem.category == OVER_BUDGET)
            handles.count(self._counts, malformed=problem.category == BAD_REPLY)
            return Failed(str(problem))
        except Unreadable as problem:
            handles.count(self._counts, malformed=1)
            return Failed(f"{MALFORMED}: {problem}")
        if known:
            handles.count(self._counts, cached=1)
        else:
            # Only what can be used is kept: asking again for the rest may help.
            handles.cache.put(question.key, self.model, reply)
        return state

    def _bought(self, handles: _Handles, question: _Question) -> Reply:
        if problem := self.options.overspent(handles.cache.spent(self._purse)):
            raise Unanswered(OVER_BUDGET, problem)
        handles.count(self._counts, requests=1)
        reply = handles.endpoint.chat(question.request)
        cost = self.options.cost(reply)
        handles.cache.spend(self._purse, cost)
        handles.count(self._counts, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, cost=cost.money)
        if reply.finish in ("refusal", "content_filter"):
            raise Unanswered(DECLINED, reply.text[:120])
        return reply

    def _handles(self) -> _Handles:
        if self._open is None:
            if self._folder is None:
                raise DstressError("the tracker was not prepared", fix="call prepare(setting) first")
            self._open = _Handles(self.base_url, self.options, self._folder)
        return self._open


class _Question(msgspec.Struct, frozen=True):
    """A request, the name of its response, and the schema that the answer has to fit."""

    key: str
    request: dict[str, Any]
    schema: Schema


class _Handles:
    """What is open while it works: connections, threads, the cache."""

    def __init__(self, base_url: str, options: Options, folder: Path) -> None:
        self.cache = ResponseCache(folder / "responses.sqlite")
        self.endpoint = Endpoint(base_url, options.timeout, options.retries, options.concurrency)
        self.pool = ThreadPoolExecutor(options.concurrency, thread_name_prefix="llm")
        self._lock = threading.Lock()

    def count(self, counts: dict[str, float], **more: float) -> None:
        with self._lock:
            for name, value in more.items():
                counts[name] += value

    def close(self) -> None:
        # The threads first: a connection that is opened while all are being closed would stay open.
        self.endpoint.stop()
        self.pool.shutdown(cancel_futures=True)
        self.endpoint.close()
        self.cache.close()


def _options(given: dict[str, Any]) -> Options:
    for name in given:
        if name not in Options.__struct_fields__:
            known = ["base_url", "model", "mode", "shots", "train", *Options.__struct_fields__]
            raise unknown("argument of llm", name, known)
    try:
        return msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise SpecError(f"llm: an argument does not fit: {error}") from None


def _once(questions: Sequence[_Question]) -> list[_Question]:
    return list({question.key: question for question in questions}.values())
