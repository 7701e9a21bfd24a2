"""A language model behind any OpenAI-compatible endpoint as a tracker: zero-shot, or with a few solved examples."""

from __future__ import annotations

import hashlib
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec

from dstress.dialogue import Schema
from dstress.errors import DstressError, SpecError
from dstress.llm import few_shot, found_json
from dstress.llm.chat import BAD_REPLY, Reply
from dstress.llm.client import OVER_BUDGET, Client, Options, Question
from dstress.llm.post import Unanswered, checked_url
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.trackers.base import Answer, Context, Failed, StreamingTracker
from dstress.trackers.llm import answer, calls, prompt
from dstress.trackers.llm.answer import ReadState
from dstress.trackers.wire import Unreadable

_BATCHES = 8

Part = ReadState | Prediction | Failed
"""What was read of the answer to one question."""


class TrackerOptions(Options, frozen=True, kw_only=True):
    """How to ask, and what to show."""

    services: Literal["all", "dialogue"] = "all"
    """Whether the prompt shows the whole schema, or only the services that the corpus says the dialogue is about."""
    slots: Annotated[int, msgspec.Meta(ge=1)] = 30
    """How many slots one request asks about; a larger schema is asked about in parts."""
    utterance: bool = False
    """Whether to ask for the user's intent, and whether the utterance is out of domain."""


class Llm(StreamingTracker):
    """A language model: prompted with the schema and the dialogue, bound to a JSON schema or to a tool call.

    `base_url` is that of an OpenAI-compatible endpoint, such as "http://localhost:8000/v1". `mode` is `json`
    (`response_format` with a JSON schema), `tools` (a forced tool call), or `call`: no state is asked for, but which
    of the dialogue's own tools to call. `shots` examples are drawn from the corpus
    `train`, by the seed. The other arguments are the fields of `TrackerOptions`. An answer of which nothing can be read
    is a failure of its own kind, `malformed`. Responses are kept in the data home and never paid for twice.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        mode: Literal["json", "tools", "call"] = "json",
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
        if shots and mode == "call":
            raise SpecError("llm: mode=call shows no examples", fix="leave out shots and train")
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
            self._examples = prompt.draw(resources.load(self.train), self.shots, self.options.seed or 0, self.train)

    def track_each(self, contexts: Sequence[Context]) -> Iterator[tuple[int, Answer]]:
        """The model's answers, several asked for at once; a turn's comes when all of its parts have."""
        if self._folder is None:
            raise DstressError("the tracker was not prepared", fix="call prepare(resources) first")
        placed = [(place, question) for place, context in enumerate(contexts) for question in self._questions(context)]
        sizes = Counter(place for place, _ in placed)
        parts: dict[int, dict[int, Part]] = {}
        for number, part in self._client.ask_each([question for _, question in placed], self._folder, self._failed):
            place = placed[number][0]
            own = parts.setdefault(place, {})
            own[number] = part
            if len(own) == sizes[place]:
                self._client.count(turns=1)
                yield place, _join(contexts[place], [own[number] for number in sorted(own)])

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
        for module in (prompt, answer, found_json, few_shot, *([calls] if self.mode == "call" else [])):
            digest.update(inspect.getsource(module).encode())
        return digest.hexdigest()[:16]

    def usage(self) -> dict[str, float]:
        """Requests, tokens and money since the last call; also answers from the cache, malformed ones, and so on."""
        return self._client.usage()

    def close(self) -> None:
        """Close connections and the cache."""
        self._client.close()

    def _questions(self, context: Context) -> list[Question[Part]]:
        """What to ask about a turn: once, or where the schema is large, once for each part of it.

        Where no tool is called although it has to be, JSON is asked for.
        """
        if self.mode == "call":
            offered, read_calls = (
                calls.native(context.tools),
                cast(Callable[[Reply], Part], partial(calls.read, context)),
            )
            in_text = calls.messages(context, calls.written(context.tools))
            first = self._client.question(calls.messages(context), offered, read_calls, self._repeat)
            other = self._client.question(in_text, {}, read_calls, self._repeat)
            return [first._replace(otherwise=other.request, if_refused=True)]
        schema, utterance = context.schema, self.options.utterance
        if self.options.services == "dialogue":
            schema = prompt.narrow(schema, context.services)
        questions = []
        for part in prompt.split_schema(schema, self.options.slots):
            read: Callable[[Reply], Part] = partial(self._read, context.schema, part)
            question, *others = (
                self._client.question(
                    prompt.messages(context, part, self._examples, mode, utterance),
                    prompt.constraint(part, mode, utterance),
                    read,
                    self._repeat,
                )
                for mode in dict.fromkeys((self.mode, "json"))
            )
            questions.append(question._replace(otherwise=others[0].request) if others else question)
        return questions

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
    if failed := [part for part in parts if isinstance(part, Failed)]:
        return failed[0]
    if isinstance(parts[0], Prediction):
        return parts[0]
    read = [part for part in parts if isinstance(part, ReadState)]
    state = {slot: value for part in read for slot, value in part.state.items()}
    intents = [part.intent for part in read if part.intent is not None]
    flags = [part.ood for part in read if part.ood is not None]
    if not intents and not flags:
        return state
    intent = next(filter(None, intents), "" if intents else None)
    return Prediction(context.dialogue, context.turn, state, intent=intent, ood=all(flags) if flags else None)
