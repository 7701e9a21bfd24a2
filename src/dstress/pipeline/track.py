"""Ask a tracker for its answers: the third step of the flow, load -> stress -> track -> score -> report.

Dialogues are cut into pieces, which an engine shares out. A piece says which turns still want an answer; the result is
a line for each. A turn that a tracker cannot answer (it raises, hangs, or says something that is no state) is recorded
as failed, with the reason, and the rest of its piece is not lost with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from dstress.dialogue import Dialogue, Schema
from dstress.engines.base import Engine, Job
from dstress.errors import DstressError
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.runs.journal import Journal
from dstress.trackers.base import Answer, Context, Failed, Tracker

_LONGEST_REASON = 300


class Question(msgspec.Struct):
    """A dialogue, the turns that want an answer, and the tracker's own answers to the turns before them, if known."""

    dialogue: Dialogue
    turns: list[int]
    previous: dict[int, dict[str, str]] = {}


_USAGE = b"\0"
"""Parts the answers of a piece from what they cost."""

_QUESTIONS = msgspec.json.Decoder(list[Question])


class Tracking(Job):
    """A tracker at work: prepared once in each worker."""

    def __init__(self, tracker: Tracker, resources: Callable[[], Resources], schema: Schema) -> None:
        self.tracker, self.resources, self.schema = tracker, resources, schema

    def open(self) -> None:
        self.tracker.prepare(self.resources())

    def close(self) -> None:
        self.tracker.close()

    def run(self, piece: bytes) -> bytes:
        questions = _QUESTIONS.decode(piece)
        answered = self._chained(questions) if self.tracker.sequential else self._at_once(questions)
        lines = b"".join(msgspec.json.encode(answer) + b"\n" for answer in answered)
        used = {what: amount for what, amount in self.tracker.usage().items() if amount}
        return lines + _USAGE + msgspec.json.encode(used) if used else lines

    def parts(self, piece: bytes) -> list[bytes]:
        """By dialogue; a single dialogue by turn, unless its turns hang together."""
        questions = _QUESTIONS.decode(piece)
        if len(questions) > 1:
            return [msgspec.json.encode([question]) for question in questions]
        (question,) = questions
        if self.tracker.sequential or len(question.turns) < 2:
            return [piece]
        single = [Question(question.dialogue, [turn], question.previous) for turn in question.turns]
        return [msgspec.json.encode([one]) for one in single]

    def lost(self, piece: bytes, reason: str) -> bytes:
        questions = _QUESTIONS.decode(piece)
        failures = [_failure(question.dialogue.id, turn, reason) for question in questions for turn in question.turns]
        return b"".join(msgspec.json.encode(failure) + b"\n" for failure in failures)

    def _at_once(self, questions: Sequence[Question]) -> Iterator[Prediction]:
        contexts = [Context(question.dialogue, turn, self.schema) for question in questions for turn in question.turns]
        for start in range(0, len(contexts), self.tracker.batch):
            yield from self._ask(contexts[start : start + self.tracker.batch])

    def _chained(self, questions: Sequence[Question]) -> Iterator[Prediction]:
        """Turn after turn, as many dialogues side by side as there are; each turn knows the answer before it."""
        chains = [_Chain(question, self.schema) for question in questions]
        for step in range(max(len(question.dialogue.turns) for question in questions)):
            moving = [chain for chain in chains if chain.wants(step)]
            contexts = [chain.context(step) for chain in moving]
            for chain, answer in zip(moving, self._ask(contexts), strict=True):
                yield from chain.take(step, answer)

    def _ask(self, contexts: Sequence[Context]) -> list[Prediction]:
        if not contexts:
            return []
        try:
            answers = self.tracker.track(contexts)
            if len(answers) == len(contexts):
                return [self._settled(c, a) for c, a in zip(contexts, answers, strict=True)]
            problem = f"{len(answers)} answers to {len(contexts)} turns"
        except DstressError:
            raise
        except Exception as error:  # whatever a person's own tracker raises
            problem = f"{type(error).__name__}: {error}"
        if len(contexts) == 1:
            return [_failure(contexts[0].dialogue, contexts[0].turn, problem)]
        # One by one: a turn that fails must not take the others of its batch with it.
        return [answer for context in contexts for answer in self._ask([context])]

    def _settled(self, context: Context, answer: Answer) -> Prediction:
        """The answer as it is recorded; one that is no state of this schema is a failure."""
        if isinstance(answer, Failed):
            return _failure(context.dialogue, context.turn, answer.reason)
        given = answer if isinstance(answer, Prediction) else Prediction(context.dialogue, context.turn, _plain(answer))
        problem = _problem(given.state, self.schema)
        if problem:
            return _failure(context.dialogue, context.turn, f"malformed: {problem}")
        return msgspec.structs.replace(given, dialogue=context.dialogue, turn=context.turn)


class _Chain:
    """One dialogue of a sequential tracker. Where turns were stressed alone, each follows on the clean history."""

    def __init__(self, question: Question, schema: Schema) -> None:
        self.question, self.schema = question, schema
        self.wanted = frozenset(question.turns)
        self.answers = dict(question.previous)

    def wants(self, step: int) -> bool:
        return step in self.wanted

    def context(self, step: int) -> Context:
        return Context(self.question.dialogue, step, self.schema, self.answers.get(step - 1, {}))

    def take(self, step: int, answer: Prediction) -> Iterator[Prediction]:
        turn = self.question.dialogue.turns[step]
        # The next turn follows on the answer to this one only if it follows on these words.
        if turn.remembered is turn or step not in self.question.previous:
            self.answers[step] = answer.state
        yield answer


class Asked(NamedTuple):
    """What is to be tracked, the answers so far, and the answers to the words that single stressed turns follow on."""

    corpus: Iterable[Dialogue]
    journal: Journal
    clean: Journal | None


def track(engine: Engine, job: Tracking, asked: Asked, on_progress: Callable[[int], None]) -> Counter[str]:
    """Answer every turn that the journal does not have, and say what that cost (tokens, requests).

    `on_progress` is called with how many turns have been answered.
    """
    answered, cost = 0, Counter[str]()
    for _, result in engine.process(job, _pieces(asked, job.tracker)):
        lines, used = parted(result)
        asked.journal.add(lines)
        cost.update(used)
        answered += lines.count(b"\n")
        on_progress(answered)
    return cost


def parted(result: bytes) -> tuple[bytes, dict[str, float]]:
    """The result of a piece: its answers, a line each, and what they cost."""
    lines, _, used = result.partition(_USAGE)
    return lines, msgspec.json.decode(used, type=dict[str, float]) if used else {}


def _pieces(asked: Asked, tracker: Tracker) -> Iterator[bytes]:
    questions: list[Question] = []
    size = 0
    for dialogue in asked.corpus:
        question = _question(dialogue, asked, tracker)
        if not question.turns:
            continue
        questions.append(question)
        size += 1 if tracker.sequential else len(question.turns)
        if size >= tracker.batch:
            yield msgspec.json.encode(questions)
            questions, size = [], 0
    if questions:
        yield msgspec.json.encode(questions)


def _question(dialogue: Dialogue, asked: Asked, tracker: Tracker) -> Question:
    """What is still to be asked; a turn that no stressor changed, with its history, keeps the answer it has."""
    done = asked.journal.done(dialogue.id)
    wanted = [turn for turn in range(len(dialogue.turns)) if turn not in done]
    if wanted and asked.clean is not None:
        wanted = _without_known(dialogue, wanted, asked.journal, asked.clean)
    previous = _previous(dialogue, asked.journal, asked.clean) if wanted and tracker.sequential else {}
    return Question(dialogue, wanted, previous)


def _without_known(dialogue: Dialogue, wanted: list[int], journal: Journal, clean: Journal) -> list[int]:
    """Take over the answers to turns that are as they were; the rest is left to ask."""
    answers = clean.answers(dialogue.id)
    same = [turn for turn in wanted if not dialogue.turns[turn].changed and turn in answers]
    known = [answers[turn] for turn in same if not answers[turn].failed]
    journal.add(b"".join(msgspec.json.encode(answer) + b"\n" for answer in known))
    taken = {answer.turn for answer in known}
    return [turn for turn in wanted if turn not in taken]


def _previous(dialogue: Dialogue, journal: Journal, clean: Journal | None) -> dict[int, dict[str, str]]:
    """What a sequential tracker has said of each turn as later turns remember it."""
    own = journal.answers(dialogue.id)
    before = clean.answers(dialogue.id) if clean is not None else {}
    known: dict[int, dict[str, str]] = {}
    for number, turn in enumerate(dialogue.turns):
        found = own.get(number) if turn.remembered is turn else before.get(number)
        if found is not None and not found.failed:
            known[number] = found.state
    return known


def _plain(answer: Mapping[str, str]) -> dict[str, str]:
    return dict(answer) if isinstance(answer, Mapping) else {"": repr(answer)}


def _problem(state: object, schema: Schema) -> str:
    if not isinstance(state, dict):
        return f"{type(state).__name__} is no state"
    for slot, value in state.items():
        if slot == "":
            return f"{value[:80]} is no state"
        if slot not in schema.slots:
            return f"the schema has no slot {str(slot)[:80]!r}"
        if not isinstance(value, str):
            return f"the value of {slot} is no text: {value!r:.80}"
    return ""


def _failure(dialogue: str, turn: int, reason: str) -> Prediction:
    return Prediction(dialogue, turn, {}, failed=reason[:_LONGEST_REASON] or "no reason given")
