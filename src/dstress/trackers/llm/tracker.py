"""A language model behind any OpenAI-compatible endpoint as a tracker: zero-shot, or with a few solved examples."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import msgspec

from dstress.dialogue import Schema
from dstress.errors import DstressError, SpecError
from dstress.llm import few_shot, found_json
from dstress.llm.chat import BAD_REPLY, Reply
from dstress.llm.client import OVER_BUDGET, Client, Options, Question
from dstress.llm.post import Unanswered, checked_url
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.trackers.base import Answer, Context, Failed, Tracker
from dstress.trackers.llm import answer, examples, prompt
from dstress.trackers.llm.answer import ReadState
from dstress.trackers.wire import Unreadable

_BATCHES = 8

Part = ReadState | Failed
"""What was read of the answer to one question."""


class TrackerOptions(Options, frozen=True, kw_only=True):
    """How to ask, and what to show."""

    services: Literal["all", "dialogue"] = "all"
    """Whether the prompt shows the whole schema, or only the services that the corpus says the dialogue is about."""
    slots: int = 30
    """How many slots one request asks about; a larger schema is asked about in parts."""
    utterance: bool = False
    """Whether to ask for the user's intent, and whether the utterance is out of domain."""

    def __post_init__(self) -> None:
        """Refuse what can never work."""
        super().__post_init__()
        if self.slots < 1:
            raise SpecError("llm: slots, those that one request asks about, must be 1 or more")


class Llm(Tracker):
    """A language model: prompted with the schema and the dialogue, bound to a JSON schema or to a tool call.

    `base_url` is that of an OpenAI-compatible endpoint, such as "http://localhost:8000/v1". `mode` is `json`
    (`response_format` with a JSON schema) or `tools` (a forced tool call). `shots` examples are drawn from the corpus
    `train`, by the seed. The other arguments are the fields of `TrackerOptions`. An answer of which nothing can be read
    is a failure of its own kind, `malformed`. Responses are kept in the data home and never paid for twice.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        mode: Literal["json", "tools"] = "json",
        shots: int = 0,
        train: str = "",
        temperature: float | None = 0.0,
        seed: int | None = 1,
        max_tokens: int | None = 1024,
        services: Literal["all", "dialogue"] = "all",
        slots: int = 30,
        utterance: bool = False,
        concurrency: int = 8,
        budget: float | None = None,
        price_in: float = 0.0,
        price_out: float = 0.0,
        timeout: float = 60.0,
        retries: int = 5,
        version: str = "",
    ) -> None:
        self.options = TrackerOptions.read(locals())
        if shots < 0 or (shots and not train):
            raise SpecError(
                "llm: examples are drawn from a training corpus", fix='add train="multiwoz21:train", or leave out shots'
            )
        self.base_url, self.model, self.mode = checked_url("llm", base_url), model, mode
        self.shots, self.train = shots, train
        self.priced = self.options.is_priced
        self.batch = _BATCHES * self.options.concurrency
        self._client = Client(
            self.base_url, model, self.options, ("turns", "over_budget", "cut", "lost_slots", "uncalled")
        )
        self._folder: Path | None = None
        self._examples: list[Context] = []
        self._repeat = 1

    def __getstate__(self) -> dict[str, Any]:
        """Another process draws the examples itself."""
        return self.__dict__ | {"_examples": [], "_folder": None}

    def prepare(self, resources: Resources) -> None:
        """Draw the examples."""
        super().prepare(resources)
        self._folder, self._repeat = resources.folder / "llm", resources.repeat
        if self.shots:
            self._examples = examples.draw(resources.load(self.train), self.shots, self.options.seed or 0, self.train)

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The model's answers, several asked for at once, in the order of the contexts."""
        if self._folder is None:
            raise DstressError("the tracker was not prepared", fix="call prepare(resources) first")
        self._client.count(turns=len(contexts))
        asked = [self._questions(context) for context in contexts]
        answers = iter(self._client.ask_all([*chain.from_iterable(asked)], self._folder, self._failed))
        parts = [[next(answers) for _ in questions] for questions in asked]
        return [_join(context, answered) for context, answered in zip(contexts, parts, strict=True)]

    def reads(self, train: str) -> tuple[str, ...]:
        """The split that examples are drawn from."""
        return (self.train,) if self.shots and self.train else ()

    def fingerprint(self) -> str:
        """The endpoint, the model, every parameter that it is sent, and the words and the code that make the prompt."""
        made_of = [self.base_url, self.model, self.mode, self.shots, self.train, self.options.parameters()]
        made_of += [self.options.services, self.options.slots, self.options.version]
        made_of += [self.options.utterance] if self.options.utterance else []
        digest = hashlib.sha256(msgspec.json.encode(["llm", *made_of]))
        digest.update(prompt.template())
        for module in (prompt, answer, found_json, examples, few_shot):
            digest.update(inspect.getsource(module).encode())
        return digest.hexdigest()[:16]

    def usage(self) -> dict[str, float]:
        """Requests, tokens and money since the last call; also answers from the cache, malformed ones, and so on."""
        return self._client.usage()

    def close(self) -> None:
        """Close connections and the cache."""
        self._client.close()

    def _questions(self, context: Context) -> list[Question[Part]]:
        """What to ask about a turn: once, or where the schema is large, once for each part of it."""
        schema = context.schema
        if self.options.services == "dialogue":
            schema = prompt.narrow(schema, context.services)
        return [self._question(context, part) for part in prompt.split_schema(schema, self.options.slots)]

    def _question(self, context: Context, part: Schema) -> Question[Part]:
        """The question about a part. Where no tool is called although it has to be, JSON is asked for."""
        question = self._question_in(self.mode, context, part)
        if self.mode == "json":
            return question
        return question._replace(otherwise=self._question_in("json", context, part).request)

    def _question_in(self, mode: str, context: Context, part: Schema) -> Question[Part]:
        utterance = self.options.utterance
        messages = prompt.messages(context, part, self._examples, mode, utterance)
        read = partial(self._read, context.schema, part)
        return self._client.question(messages, prompt.constraint(part, mode, utterance), read, self._repeat)

    def _read(self, schema: Schema, part: Schema, reply: Reply) -> ReadState:
        try:
            read = answer.read_state_of(reply, schema, self.options.utterance)
        except Unreadable as problem:
            raise Unanswered(BAD_REPLY, str(problem)) from None
        is_uncalled = self.mode == "tools" and not reply.calls
        self._client.count(cut=read.is_cut, lost_slots=len(read.lost), uncalled=is_uncalled)
        return read._replace(state={slot: value for slot, value in read.state.items() if slot in part.slots})

    def _failed(self, problem: Unanswered) -> Failed:
        self._client.count(over_budget=problem.category == OVER_BUDGET)
        return Failed(str(problem))


def _join(context: Context, parts: Sequence[Part]) -> Answer:
    """What the parts say together; a part that failed fails the turn, and is all that is asked for again.

    Of several parts the first that knows an intent is right, and the utterance is foreign only if it is so to all.
    """
    read: list[ReadState] = []
    for part in parts:
        if isinstance(part, Failed):
            return part
        read.append(part)
    state = {slot: value for part in read for slot, value in part.state.items()}
    intents = [part.intent for part in read if part.intent is not None]
    flags = [part.ood for part in read if part.ood is not None]
    if not intents and not flags:
        return state
    intent = next(filter(None, intents), "" if intents else None)
    return Prediction(context.dialogue, context.turn, state, intent=intent, ood=all(flags) if flags else None)
