"""Many questions to a language model: several at once, each different one once, within a budget, all of it counted.

Whoever asks brings the prompt and reads the answer; what an answer that fails means is for them to say, too.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, Self, TypeVar

import msgspec
from msgspec import Meta

from dstress.errors import SpecError
from dstress.llm.chat import BAD_REPLY, Endpoint, Reply
from dstress.llm.post import REFUSED, Unanswered
from dstress.storage.cache import ResponseCache, Spent, key_of

OVER_BUDGET = "budget spent"
DECLINED = "refused by the model"
_REFUSALS = ("refusal", "content_filter")
_MILLION = 1_000_000
_COUNTED = ("requests", "retries", "cached", "tokens_in", "tokens_out", "cost", "malformed")

_Amount = Annotated[float, Meta(ge=0)]

T = TypeVar("T")
Chosen = TypeVar("Chosen", bound="Options")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to ask. What is `none` is not sent, for endpoints that do not know it.

    A component that asks has these fields, with the same defaults, among the parameters of its constructor.
    """

    concurrency: Annotated[int, Meta(ge=1)] = 8
    budget: _Amount | None = None
    """Money where prices are given, else tokens."""
    price_in: _Amount = 0.0
    """Money for a million tokens of prompt."""
    price_out: _Amount = 0.0
    """Money for a million tokens of answer."""
    temperature: float | None = 0.0
    seed: int | None = 1
    max_tokens: Annotated[int, Meta(ge=1)] | None = 1024
    timeout: Annotated[float, Meta(gt=0)] = 60.0
    retries: Annotated[int, Meta(ge=0)] = 5
    version: str = ""

    @classmethod
    def read(cls, arguments: Mapping[str, Any]) -> Self:
        """The options among a constructor's arguments, `locals()`; types are checked, for callers in Python too."""
        try:
            return msgspec.convert({name: arguments[name] for name in cls.__struct_fields__}, cls)
        except msgspec.ValidationError as error:
            raise SpecError(f"llm: an argument does not fit: {error}") from None

    def parameters(self) -> dict[str, Any]:
        """What goes to the endpoint."""
        values = {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.max_tokens}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def is_priced(self) -> bool:
        """Whether tokens cost money."""
        return self.price_in > 0 or self.price_out > 0

    def cost(self, reply: Reply) -> Spent:
        """What a reply cost."""
        money = (reply.tokens_in * self.price_in + reply.tokens_out * self.price_out) / _MILLION
        return Spent(reply.tokens_in + reply.tokens_out, money)

    def overspent(self, spent: Spent) -> str:
        """Why no more may be asked; empty if more may be."""
        if self.budget is None or (spent.money if self.is_priced else spent.tokens) < self.budget:
            return ""
        in_money, in_tokens = f"{spent.money:.4f} of {self.budget:g}", f"{spent.tokens:,} of {self.budget:,.0f} tokens"
        return f"{in_money if self.is_priced else in_tokens}; raise budget= and resume"


class Question(NamedTuple, Generic[T]):
    """A request, the name of its response, and how to read one: `read` raises Unanswered for one of no use.

    `otherwise` is a request that asks the same in another way, where the response to the first is of no use.
    """

    key: str
    request: dict[str, Any]
    read: Callable[[Reply], T]
    otherwise: dict[str, Any] | None = None
    if_refused: bool = False
    """Whether `otherwise` is also asked where the endpoint refuses the first request."""


class Client:
    """A model at an endpoint. Responses are kept, and never paid for twice.

    It is sent to other processes without its connections, its threads and its counts, but with its purse: all the
    copies together keep to one budget. `counted` names what the owner counts beside the usual.
    """

    def __init__(
        self, base_url: str, model: str, options: Options, counted: tuple[str, ...] = (), purse: str = ""
    ) -> None:
        self.base_url, self.model, self.options = base_url, model, options
        self._counted, self._purse = counted, purse or uuid.uuid4().hex
        self._counts = self._zeros()
        self._lock = threading.Lock()
        self._open: _Handles | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Connections, threads and files stay behind when it is sent to another process."""
        return type(self), (self.base_url, self.model, self.options, self._counted, self._purse)

    def question(
        self,
        messages: Sequence[Mapping[str, Any]],
        constraint: Mapping[str, Any],
        read: Callable[[Reply], T],
        repeat: int = 1,
    ) -> Question[T]:
        """The question that these messages ask; `constraint` are the fields that bind the answer to a shape.

        Each `repeat` of a question has a response of its own, and is asked with the next seed.
        """
        request = {"model": self.model, "messages": messages, **self.options.parameters(), **constraint}
        version = self.options.version
        if repeat > 1:
            version = f"{version}\0{repeat}"
            if self.options.seed is not None:
                request["seed"] = self.options.seed + repeat - 1
        return Question(key_of(self.base_url, msgspec.json.encode(request), version), request, read)

    def ask_all(self, questions: Sequence[Question[T]], folder: Path, failed: Callable[[Unanswered], T]) -> list[T]:
        """What was read from each answer, in order, or what `failed` makes of the one that did not come."""
        answers = dict(self.ask_each(questions, folder, failed))
        return [answers[place] for place in range(len(questions))]

    def ask_each(
        self, questions: Sequence[Question[T]], folder: Path, failed: Callable[[Unanswered], T]
    ) -> Iterator[tuple[int, T]]:
        """The same one by one as answers come, each with the place of its question.

        `folder` is where responses are kept. Whatever `failed` raises ends the work.
        """
        if self._open is None:
            self._open = _Handles(self.base_url, self.options, folder)
        handles = self._open
        # The same words are asked about once: a second request would only cost, and might be answered otherwise.
        places: dict[str, list[int]] = {}
        for place, question in enumerate(questions):
            places.setdefault(question.key, []).append(place)
        futures = {
            handles.pool.submit(self._answer, handles, questions[same[0]], failed): same for same in places.values()
        }
        try:
            for future in as_completed(futures):
                answer = future.result()
                yield from ((place, answer) for place in futures[future])
        finally:
            for future in futures:
                future.cancel()

    def count(self, **more: float) -> None:
        """Add to the counts. Several threads may count at once."""
        with self._lock:
            for name, value in more.items():
                self._counts[name] += value

    def usage(self) -> dict[str, float]:
        """Requests, tokens and money since the last call; also answers from the cache, malformed ones, and so on."""
        if self._open is not None:
            self.count(retries=self._open.endpoint.take_retries())
        with self._lock:  # other threads may be counting
            counts, self._counts = self._counts, self._zeros()
        return counts

    def close(self) -> None:
        """Close connections and the cache."""
        if self._open is not None:
            self.count(retries=self._open.endpoint.take_retries())
            self._open.close()
            self._open = None

    def _zeros(self) -> dict[str, float]:
        return dict.fromkeys((*_COUNTED, *self._counted), 0.0)

    def _answer(self, handles: _Handles, question: Question[T], failed: Callable[[Unanswered], T]) -> T:
        """One answer, from the cache or from the model; whatever it costs is counted, whatever it is worth."""
        kept = handles.kept_reply(question.key)
        try:
            reply, answer = self._ask(handles, question) if kept is None else (kept, question.read(kept))
        except Unanswered as problem:
            self.count(malformed=problem.category == BAD_REPLY)
            return failed(problem)
        if kept is not None:
            self.count(cached=1)
        else:
            # Only what can be used is kept: asking again for the rest may help.
            handles.cache.put(question.key, self.model, msgspec.json.encode(reply))
        return answer

    def _ask(self, handles: _Handles, question: Question[T]) -> tuple[Reply, T]:
        """The response, and what was read from it."""
        try:
            reply = self._buy(handles, question.request)
        except Unanswered as problem:
            if question.otherwise is None or not question.if_refused or problem.category != REFUSED:
                raise
            reply = self._buy(handles, question.otherwise)
        try:
            return reply, question.read(reply)
        except Unanswered as problem:
            if question.otherwise is None:
                raise
            try:
                reply = self._buy(handles, question.otherwise)
            except Unanswered as second:  # an endpoint that does not know the other way tells nothing by refusing it
                raise (problem if second.category == REFUSED else second) from None
            return reply, question.read(reply)

    def _buy(self, handles: _Handles, request: Mapping[str, Any]) -> Reply:
        if problem := self.options.overspent(handles.cache.spent(self._purse)):
            raise Unanswered(OVER_BUDGET, problem)
        self.count(requests=1)
        reply = handles.endpoint.chat(request)
        cost = self.options.cost(reply)
        handles.cache.spend(self._purse, cost)
        self.count(tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, cost=cost.money)
        if reply.finish in _REFUSALS:
            raise Unanswered(DECLINED, reply.text[:120])
        return reply


class _Handles:
    """What is open while it works: connections, threads, the cache."""

    def __init__(self, base_url: str, options: Options, folder: Path) -> None:
        self.cache = ResponseCache(folder / "responses.sqlite")
        self.endpoint = Endpoint(base_url, options.timeout, options.retries, options.concurrency)
        self.pool = ThreadPoolExecutor(options.concurrency, thread_name_prefix="llm")

    def kept_reply(self, key: str) -> Reply | None:
        reply = self.cache.get(key)
        try:
            return None if reply is None else msgspec.json.decode(reply, type=Reply)
        except msgspec.DecodeError:  # written by another version: ask again
            return None

    def close(self) -> None:
        # The threads first: a connection that is opened while all are being closed would stay open.
        self.endpoint.stop()
        self.pool.shutdown(cancel_futures=True)
        self.endpoint.close()
        self.cache.close()
