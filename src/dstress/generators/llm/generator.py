"""A language model behind any OpenAI-compatible endpoint as a generator: asked for ways to say a goal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dstress.dialogue import Schema
from dstress.errors import DstressError, SpecError
from dstress.generators.base import Candidate, Generator, Goal, Request
from dstress.generators.llm import examples as shots
from dstress.generators.llm import prompt as prompting
from dstress.generators.llm.prompt import Solved, Unreadable
from dstress.llm.chat import BAD_REPLY, Reply
from dstress.llm.client import DECLINED, OVER_BUDGET, Client, Options, Question
from dstress.llm.post import REFUSED, Unanswered, checked_url
from dstress.resources import Material, Resources


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
        self.options = Options(
            concurrency=concurrency,
            budget=budget,
            price_in=price_in,
            price_out=price_out,
            temperature=temperature,
            seed=seed,
            max_tokens=max_tokens,
            timeout=timeout,
            retries=retries,
            version=version,
        )
        self._client = Client(self.base_url, model, self.options, ("refused",))
        self._folder: Path | None = None
        self._schema = Schema()
        self._examples: list[Solved] = []

    def prepare(self, resources: Resources, train: Material) -> None:
        """Draw the examples."""
        self._folder, self._schema = resources.folder / "llm", resources.schema
        self._examples = shots.draw(train, self.shots, self.options.seed or 0) if self.shots else []

    def generate(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        """The model's utterances."""
        return self.generate_all([Request(system, goal)], n)[0]

    def generate_all(self, requests: Sequence[Request], n: int) -> list[list[Candidate]]:
        """The model's utterances, several goals asked for at once; each goal is asked for alone."""
        if self._folder is None:
            raise DstressError("the generator was not prepared", fix="call prepare(resources, train) first")
        questions: list[Question[list[Candidate]]] = []
        for request in requests:
            messages = prompting.messages(request, n, self._schema, self._examples)
            questions.append(self._client.question(messages, prompting.constraint(), _read))
        answers = self._client.ask_all(questions, self._folder, self._failed)
        return [answer[:n] for answer in answers]

    def usage(self) -> dict[str, float]:
        """Requests, tokens and money since the last call; also answers from the cache, malformed ones, and so on."""
        return self._client.usage()

    def close(self) -> None:
        """Close connections and the cache."""
        self._client.close()

    def _failed(self, problem: Unanswered) -> list[Candidate]:
        """No candidates, if the answer is of no use."""
        if problem.category == OVER_BUDGET:
            raise DstressError(
                f"the budget of {self.options.budget:g} is spent",
                where=self.base_url,
                fix="raise budget= and run it again: what was answered is kept",
            ) from None
        if problem.category not in (REFUSED, DECLINED, BAD_REPLY):
            # What passes by itself must not decide which turns are changed.
            raise DstressError(
                f"the endpoint does not answer: {problem}",
                where=self.base_url,
                fix="run it again: what was answered is kept",
            ) from None
        self._client.count(refused=problem.category != BAD_REPLY)
        return []


def _read(reply: Reply) -> list[Candidate]:
    try:
        texts = prompting.read_utterances(reply)
    except Unreadable as problem:
        raise Unanswered(BAD_REPLY, str(problem)) from None
    return [Candidate(text, -float(rank)) for rank, text in enumerate(texts)]
