"""Ask a tracker for its answers: the third step of the flow, load -> stress -> track -> score -> report.

Dialogues are cut into pieces, which an engine shares out. A piece says which turns still want an answer; the result is
a line for each. A turn that a tracker cannot answer (it raises, hangs, or says something that is no state) is recorded
as failed, with the reason, and the rest of its piece is not lost with it.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from dstress.dialogue import Dialogue, Schema
from dstress.engines.base import Engine, Job
from dstress.errors import DstressError, naming
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.runs.journal import Journal
from dstress.storage.secrets import redact_text
from dstress.trackers.base import Answer, Context, Failed, Tracker

_LONGEST_REASON = 300
_LONGEST_ANSWER = 1 << 20
"""Bytes of an answer as it is recorded: more is no state but a fault."""

_RAISED = (Exception, SystemExit, GeneratorExit)
"""What a person's own tracker may raise. `sys.exit` is no wish to end the run; a KeyboardInterrupt may be Ctrl-C."""


class Request(msgspec.Struct):
    """A dialogue, the turns that want an answer, and the tracker's own answers to the turns before them, if known."""

    dialogue: Dialogue
    turns: list[int]
    previous: dict[int, dict[str, str]] = {}


_PART = b"\0"
"""Parts the answers of a piece from what they cost, and that from the first traceback."""

TIMED = ("tracking seconds", "turns asked")
"""In what a piece cost: how long its worker was at it, and over how many turns. No two runs take the same time."""

_ENOUGH_FAILURES = 20
"""Failed turns, without a single answer, after which nothing more is asked."""

_REQUESTS = msgspec.json.Decoder(list[Request])


class Tracking(Job):
    """A tracker at work: prepared once in each worker."""

    def __init__(self, tracker: Tracker, resources: Callable[[], Resources], schema: Schema) -> None:
        self.tracker, self.resources, self.schema = tracker, resources, schema
        self.traceback = ""

    def open(self) -> None:
        with naming(self.tracker.spec), _staying("while it was prepared"):
            self.tracker.prepare(self.resources())

    def close(self) -> None:
        with _staying("as it was closed"):
            self.tracker.close()

    def run(self, piece: bytes) -> bytes:
        requests, start = _REQUESTS.decode(piece), time.perf_counter()
        answered = self._track_in_waves(requests) if self.tracker.sequential else self._track_independently(requests)
        lines = b"".join(msgspec.json.encode(answer) + b"\n" for answer in answered)
        used = self._usage() | dict(zip(TIMED, (time.perf_counter() - start, lines.count(b"\n")), strict=True))
        trace, self.traceback = self.traceback, ""
        return _PART.join((lines, msgspec.json.encode(used), trace.encode("utf-8", "replace").replace(_PART, b"")))

    def parts(self, piece: bytes) -> list[bytes]:
        """By dialogue; a single dialogue by turn, unless its turns hang together."""
        requests = _REQUESTS.decode(piece)
        if len(requests) > 1:
            return [msgspec.json.encode([request]) for request in requests]
        (request,) = requests
        if self.tracker.sequential or len(request.turns) < 2:
            return [piece]
        single = [Request(request.dialogue, [turn], request.previous) for turn in request.turns]
        return [msgspec.json.encode([one]) for one in single]

    def lost(self, piece: bytes, reason: str) -> bytes:
        requests = _REQUESTS.decode(piece)
        failures = [_failure(request.dialogue.id, turn, reason) for request in requests for turn in request.turns]
        return b"".join(msgspec.json.encode(failure) + b"\n" for failure in failures)

    def _usage(self) -> dict[str, float]:
        """What the answers cost; amounts that are no numbers cost the count, and not the answers."""
        try:
            used = {what: amount for what, amount in self.tracker.usage().items() if amount}
            return msgspec.json.decode(msgspec.json.encode(used), type=dict[str, float])
        except _RAISED:
            return {"unreadable usage": 1.0}

    def _track_independently(self, requests: Sequence[Request]) -> Iterator[Prediction]:
        yield from self._track_in_batches(
            [Context(request.dialogue, turn, self.schema) for request in requests for turn in request.turns]
        )

    def _track_in_waves(self, requests: Sequence[Request]) -> Iterator[Prediction]:
        """Every turn as soon as the answer before it is known, with all others that are as far."""
        previous = [dict(request.previous) for request in requests]
        waiting = {(number, turn) for number, request in enumerate(requests) for turn in request.turns}
        while waiting:
            wave = sorted(
                (number, turn)
                for number, turn in waiting
                if turn - 1 in previous[number] or (number, turn - 1) not in waiting
            )
            waiting.difference_update(wave)
            contexts = [
                Context(requests[number].dialogue, turn, self.schema, previous[number].get(turn - 1, {}))
                for number, turn in wave
            ]
            for (number, step), answer in zip(wave, self._track_in_batches(contexts), strict=True):
                turn = requests[number].dialogue.turns[step]
                # The next turn follows on the answer to this one only if it follows on these words.
                if turn.remembered is turn or step not in requests[number].previous:
                    previous[number][step] = answer.state
                yield answer

    def _track_in_batches(self, contexts: Sequence[Context]) -> Iterator[Prediction]:
        for start in range(0, len(contexts), self.tracker.batch):
            yield from self._track(contexts[start : start + self.tracker.batch])

    def _track(self, contexts: Sequence[Context]) -> list[Prediction]:
        if not contexts:
            return []
        try:
            answers = self.tracker.track(contexts)
            if len(answers) == len(contexts):
                return [self._checked(c, a) for c, a in zip(contexts, answers, strict=True)]
            problem = f"{len(answers)} answers to {len(contexts)} turns"
        except DstressError:
            raise
        except _RAISED as error:
            problem = f"{type(error).__name__}: {_words(error)}"
            self.traceback = self.traceback or traceback.format_exc()
        if len(contexts) == 1:
            return [_failure(contexts[0].dialogue, contexts[0].turn, problem)]
        # One by one: a turn that fails must not take the others of its batch with it.
        return [answer for context in contexts for answer in self._track([context])]

    def _checked(self, context: Context, answer: Answer) -> Prediction:
        """The answer as it is recorded; one that could not be read again is a failure. Every answer comes by here.

        A slot that the schema does not have stays, as a wrong value: it costs that slot and not the turn.
        """
        if isinstance(answer, Failed):
            return _failure(context.dialogue, context.turn, answer.reason)
        try:
            given = answer if isinstance(answer, Prediction) else Prediction("", 0, _plain(answer))
            given = msgspec.structs.replace(given, dialogue=context.dialogue, turn=context.turn)
            problem = _problem(given.state)
            if not problem:
                # As data and back: only then is each field, however deep, known to be what it is said to be.
                data = msgspec.to_builtins(given, builtin_types=(bytes, bytearray, memoryview))
                given = msgspec.convert(data, Prediction)
                size = len(msgspec.json.encode(given))
                problem = f"an answer of {size:,} bytes" if size > _LONGEST_ANSWER else ""
        except Exception as error:  # whatever the encoder, or an object of the tracker's own, makes of it
            problem = _words(error)
        return _failure(context.dialogue, context.turn, f"malformed: {problem}") if problem else given


class Assignment(NamedTuple):
    """What is to be tracked, the answers so far, and the answers to the words that single stressed turns follow on."""

    corpus: Iterable[Dialogue]
    journal: Journal
    clean: Journal | None


def track(engine: Engine, job: Tracking, assignment: Assignment, on_progress: Callable[[int], None]) -> Counter[str]:
    """Answer every turn that the journal does not have, and say what that cost (tokens, requests).

    `on_progress` is called with how many turns have been answered, those that the journal had among them.
    """
    cost, trace, journal = Counter[str](), "", assignment.journal
    for _, result in engine.process(job, _pieces(assignment, job.tracker)):
        lines, used = split_result(result)
        journal.add(lines)
        cost.update(used)
        trace = trace or result.split(_PART)[-1].decode() if result.count(_PART) > 1 else trace
        if journal.failed >= _ENOUGH_FAILURES:
            _require_answers(journal, trace)
        on_progress(journal.turns)
    _require_answers(journal, trace)
    return cost


def _require_answers(journal: Journal, trace: str) -> None:
    """Stop where every turn has failed: such a run would only look like a result."""
    if journal.failed and not journal.answered:
        reason = next((answer.failed for answer in journal if answer.failed), "")
        raise DstressError(
            f"the tracker has failed on each of the {journal.failed:,} turns that it was asked: {reason}"
            + (f"\n{trace.rstrip()}" if trace else ""),
            fix="mend the tracker, then run it again",
        )


def split_result(result: bytes) -> tuple[bytes, dict[str, float]]:
    """The result of a piece: its answers, a line each, and what they cost."""
    lines, _, rest = result.partition(_PART)
    used = rest.partition(_PART)[0]
    return lines, msgspec.json.decode(used, type=dict[str, float]) if used else {}


def _pieces(assignment: Assignment, tracker: Tracker) -> Iterator[bytes]:
    requests: list[Request] = []
    size = 0
    for dialogue in assignment.corpus:
        request = _request(dialogue, assignment, tracker)
        if not request.turns:
            continue
        requests.append(request)
        size += 1 if tracker.sequential else len(request.turns)
        if size >= tracker.batch:
            yield msgspec.json.encode(requests)
            requests, size = [], 0
    if requests:
        yield msgspec.json.encode(requests)


def _request(dialogue: Dialogue, assignment: Assignment, tracker: Tracker) -> Request:
    """What is still to be asked; a turn that no stressor changed, with its history, keeps the answer it has."""
    done = assignment.journal.done(dialogue.id)
    wanted = [turn for turn in range(len(dialogue.turns)) if turn not in done]
    if wanted and assignment.clean is not None:
        wanted = _without_known(dialogue, wanted, assignment.journal, assignment.clean)
    previous = _previous(dialogue, assignment.journal, assignment.clean) if wanted and tracker.sequential else {}
    return Request(dialogue, wanted, previous)


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


def _problem(state: object) -> str:
    if not isinstance(state, dict):
        return f"{type(state).__name__} is no state"
    for slot, value in state.items():
        if slot == "":
            return f"{redact_text(value)[:80]} is no state"
        if not isinstance(slot, str):
            return f"{redact_text(repr(slot))[:80]} is no slot"
        if not isinstance(value, str):
            return f"the value of {slot} is no text: {redact_text(repr(value))[:80]}"
    return ""


def _failure(dialogue: str, turn: int, reason: object) -> Prediction:
    return Prediction(dialogue, turn, {}, failed=redact_text(_words(reason))[:_LONGEST_REASON] or "no reason given")


def _words(told: object) -> str:
    """The text of what a tracker has raised or given, whose own `__str__` may raise in turn."""
    try:
        return str(told)
    except Exception:
        return f"a {type(told).__name__} without words"


@contextmanager
def _staying(when: str) -> Iterator[None]:
    """A tracker that ends the process would end it as if all were well."""
    try:
        yield
    except (SystemExit, GeneratorExit) as error:
        raise DstressError(
            f"the tracker ended the process {when}: {type(error).__name__}: {_words(error)}",
            fix="raise an error that says what is wrong",
        ) from error
