"""A language model behind any OpenAI-compatible endpoint as a generator: prompted for ways to say a goal.

The prompt has the system's turn, the goal with what its slots mean, and the shape of an answer; its texts are in
`prompt.toml`. Examples are turns of the training corpus whose users say just their goals.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from dstress.dialogue import Dialogue, Schema, State, service_of
from dstress.errors import DstressError, SpecError
from dstress.llm import few_shot
from dstress.llm.chat import BAD_REPLY, Reply, json_shape
from dstress.llm.client import DECLINED, OVER_BUDGET, Client, Options, Question
from dstress.llm.found_json import find_json
from dstress.llm.post import REFUSED, Unanswered, checked_url
from dstress.resources import Material, Resources
from dstress.stressors.generators.base import Candidate, Generator, Request
from dstress.stressors.generators.goals import own_goal
from dstress.stressors.generators.matching import find_oversaid, find_unsaid
from dstress.text.tables import read_table
from dstress.text.utterance import Utterance

_LEAST = 2  # slots of a goal that shows something, where there are such
_LONGEST = 1000  # letters of an utterance; whatever is longer is none
_LIST = {"utterances": {"type": "array", "items": {"type": "string"}}}
_CONSTRAINT = json_shape(
    "utterances",
    {"type": "object", "properties": _LIST, "required": ["utterances"], "additionalProperties": False},
)
"""The field of a request that binds the model to the shape of an answer."""

Solved = tuple[Request, str]
"""A turn of the training corpus: what there was to say, and what the user said."""


class Llm(Generator):
    """A language model, prompted with the system's turn and the goal, bound to a JSON list of utterances.

    `base_url` is that of an OpenAI-compatible endpoint, such as "http://localhost:8000/v1". `shots` solved examples
    come from the training corpus. The others are the fields of `llm.client.Options`. A malformed or refused answer
    gives no candidates. Responses are kept in the data home: asked again, the same goal gets the same utterances, and
    costs nothing. The key comes from the environment (`DSTRESS_API_KEY`, or else `OPENAI_API_KEY`).
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        shots: int = 0,
        concurrency: int = 8,
        budget: float | None = None,
        price_in: float = 0.0,
        price_out: float = 0.0,
        temperature: float | None = 0.0,
        seed: int | None = 1,
        max_tokens: int | None = 1024,
        timeout: float = 60.0,
        retries: int = 5,
        version: str = "",
    ) -> None:
        if shots < 0:
            raise SpecError("llm: shots must be 0 or more")
        self.base_url, self.model, self.shots = checked_url("llm", base_url), model, shots
        self.options = Options.read(locals())
        self._client = Client(self.base_url, model, self.options, ("refused",))
        self._folder: Path | None = None
        self._schema = Schema()
        self._examples: list[Solved] = []

    def prepare(self, resources: Resources, train: Material) -> None:
        """Draw the examples."""
        self._folder, self._schema = resources.folder / "llm", resources.schema
        self._examples = draw(train, self.shots, self.options.seed or 0) if self.shots else []

    def generate_all(self, requests: Sequence[Request], n: int) -> list[list[Candidate]]:
        """The model's utterances, several goals sent at once; each goal is a request of its own."""
        if self._folder is None:
            raise DstressError("the generator was not prepared", fix="call prepare(resources, train) first")
        questions: list[Question[list[Candidate]]] = [
            self._client.question(
                messages(request, n, self._schema, self._examples),
                _CONSTRAINT,
                lambda reply: [Candidate(text, -float(rank)) for rank, text in enumerate(read_utterances(reply))],
            )
            for request in requests
        ]
        return [answer[:n] for answer in self._client.ask_all(questions, self._folder, self._failed)]

    def usage(self) -> dict[str, float]:
        """Requests, tokens and money since the last call; also answers from the cache, malformed ones, and so on."""
        return self._client.usage()

    def close(self) -> None:
        """Close connections and the cache."""
        self._client.close()

    def _failed(self, problem: Unanswered) -> list[Candidate]:
        """No candidates, if the answer is of no use."""
        if problem.category not in (REFUSED, DECLINED, BAD_REPLY):
            # What passes by itself must not decide which turns are changed.
            message, fix = f"the endpoint does not answer: {problem}", "run it again: what was answered is kept"
            if problem.category == OVER_BUDGET:
                message, fix = f"the budget of {self.options.budget:g} is spent", f"raise budget= and {fix}"
            raise DstressError(message, where=self.base_url, fix=fix) from None
        self._client.count(refused=problem.category != BAD_REPLY)
        return []


def draw(train: Material, count: int, seed: int) -> list[Solved]:
    """`count` turns of different dialogues whose users say just their goals, spread over the services."""

    def solve(dialogue: Dialogue, number: int, update: State) -> few_shot.Candidate[Solved] | None:
        if not any(update.values()) or not all(update.values()):
            return None
        turn, goal = dialogue.turns[number], own_goal(Utterance(dialogue, number, train.schema, ()))
        if not goal.spoken or find_unsaid(turn.user, goal) or find_oversaid(turn.user, goal):
            return None
        solved = Request(turn.system, goal), turn.user
        return few_shot.Candidate(service_of(next(iter(goal.spoken))), solved, is_poor=len(goal.spoken) < _LEAST)

    return few_shot.draw(train, solve, count, seed, "the training corpus")


def messages(request: Request, count: int, schema: Schema, shots: Sequence[Solved]) -> list[dict[str, str]]:
    """The conversation with the model: what to do, solved examples, and the goal to say."""
    texts = read_table(__package__, "prompt.toml")
    conversation = [{"role": "system", "content": f"{texts['instructions'].strip()}\n\n{texts['json']}"}]
    for solved, user in shots:
        answer = msgspec.json.encode({"utterances": [user]}).decode()
        conversation.append({"role": "user", "content": question(solved, 1, schema)})
        conversation.append({"role": "assistant", "content": answer})
    return [*conversation, {"role": "user", "content": question(request, count, schema)}]


def question(request: Request, count: int, schema: Schema) -> str:
    """One goal in words."""
    texts, goal, system = read_table(__package__, "prompt.toml"), request.goal, request.system
    lines = [f'{texts["system"]}: "{system}"' if system.strip() else texts["opening"]]
    for heading, values in (("said", goal.spoken), ("taken", goal.unspoken)):
        if values or heading == "said":
            lines += ["", texts[heading]]
        for slot, value in values.items():
            about = schema.slots[slot].description if slot in schema.slots else ""
            lines.append(f"- {slot}{f' ({about})' if about else ''}: {value}")
    return "\n".join([*lines, "", texts["one"] if count == 1 else texts["many"].format(count=count)])


def read_utterances(reply: Reply) -> list[str]:
    """The different utterances of a reply, in order. Raises Unanswered where the shape is broken."""
    if reply.finish == "length":
        raise Unanswered(BAD_REPLY, "cut off: the answer is longer than max_tokens")
    matches = find_json(reply.text)
    if not matches or matches[-1].is_cut:
        raise Unanswered(BAD_REPLY, f"no JSON: {reply.text[:80]!r}")
    data: Any = matches[-1].value
    listed = data.get("utterances") if isinstance(data, dict) else data
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise Unanswered(BAD_REPLY, f"no list of utterances: {reply.text[:80]!r}")
    different = dict.fromkeys(" ".join(item.split()) for item in listed)
    utterances = [utterance for utterance in different if 0 < len(utterance) <= _LONGEST]
    if not utterances:
        raise Unanswered(BAD_REPLY, "no utterance")
    return utterances
