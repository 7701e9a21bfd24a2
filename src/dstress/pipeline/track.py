"""Ask a tracker for its answers: the third step of the flow, load -> stress -> track -> score -> report.

Dialogues are cut into pieces, which an engine shares out. A piece says which turns still want an answer; the result has
a line for each. A turn that a tracker cannot answer (it raises, hangs, or says something that is no state) is recorded
as failed, with the reason, and the rest of its piece is not lost with it.
"""

from __future__ import annotations

import math
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import Dialogue, Schema, join_values
from dstress.engines.base import Engine, Job
from dstress.errors import DstressError, naming
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.runs.journal import Journal
from dstress.storage.secrets import redact_text
from dstress.trackers.base import Answer, Context, Failed, StreamingTracker, Tracker

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

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process it goes as JSON, which takes a third of the time that pickle does."""
        return _read_request, (msgspec.json.encode(self),)


def _read_request(content: bytes) -> Request:
    return msgspec.json.decode(content, type=Request)


class Tracked(NamedTuple):
    """What became of a piece: its answers, a line each, what they cost, and the first traceback."""

    lines: bytes
    used: dict[str, float]
    traceback: str = ""


TIMED = ("tracking seconds", "turns asked")
"""In what a piece cost: how long its worker was at it, and over how many turns. No two runs take the same time."""

_ENOUGH_FAILURES = 20
"""Failed turns, without a single answer, after which nothing more is asked."""


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

    def run(self, piece: list[Request]) -> Tracked:
        start = time.perf_counter()
        answers = track_requests(piece, self.schema, self._track_in_batches, sequential=self.tracker.sequential)
        return self._result(answers, start)

    def _result(self, answers: Iterable[Prediction], start: float) -> Tracked:
        lines = b"".join(msgspec.json.encode(answer) + b"\n" for answer in answers)
        used = self._usage() | dict(zip(TIMED, (time.perf_counter() - start, lines.count(b"\n")), strict=True))
        trace, self.traceback = self.traceback, ""
        return Tracked(lines, used, trace)

    def stream(self, piece: list[Request]) -> Iterator[Tracked]:
        """A result for each answer as it comes, where the tracker streams and needs no answer of its own."""
        if self.tracker.sequential or not isinstance(self.tracker, StreamingTracker):
            yield self.run(piece)
            return
        start = time.perf_counter()
        contexts = [Context(each.dialogue, turn, self.schema) for each in piece for turn in each.turns]
        for batch in range(0, len(contexts), self.tracker.batch):
            for answer in self._track_each(self.tracker, contexts[batch : batch + self.tracker.batch]):
                yield self._result([answer], start)
                start = time.perf_counter()

    def _track_each(self, tracker: StreamingTracker, contexts: Sequence[Context]) -> Iterator[Prediction]:
        left, coming = dict(enumerate(contexts)), tracker.track_each(contexts)
        while left:
            try:
                place, answer = next(coming)
            except DstressError:
                raise
            except StopIteration:
                break
            except _RAISED:
                self.traceback = self.traceback or traceback.format_exc()
                break
            yield record_answer(left.pop(place), answer)
        for context in left.values():
            yield from self._track([context])

    def parts(self, piece: list[Request]) -> list[list[Request]]:
        """By dialogue; a single dialogue by turn, unless its turns hang together."""
        if len(piece) > 1:
            return [[request] for request in piece]
        (request,) = piece
        if self.tracker.sequential or len(request.turns) < 2:
            return [piece]
        return [[Request(request.dialogue, [turn], request.previous)] for turn in request.turns]

    def lost(self, piece: list[Request], reason: str) -> Tracked:
        failures = (_failure(request.dialogue.id, turn, reason) for request in piece for turn in request.turns)
        return Tracked(b"".join(msgspec.json.encode(failure) + b"\n" for failure in failures), {})

    def _usage(self) -> dict[str, float]:
        """What the answers cost; amounts that are no numbers cost the count, and not the answers."""
        try:
            used = {what: amount for what, amount in self.tracker.usage().items() if amount}
            return msgspec.json.decode(msgspec.json.encode(used), type=dict[str, float])
        except _RAISED:
            return {"unreadable usage": 1.0}

    def _track_in_batches(self, contexts: Sequence[Context]) -> Iterator[Prediction]:
        for start in range(0, len(contexts), self.tracker.batch):
            yield from self._track(contexts[start : start + self.tracker.batch])

    def _track(self, contexts: Sequence[Context]) -> list[Prediction]:
        if not contexts:
            return []
        try:
            answers = self.tracker.track(contexts)
            if len(answers) == len(contexts):
                return [record_answer(c, a) for c, a in zip(contexts, answers, strict=True)]
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


def track_requests(
    requests: Sequence[Request],
    schema: Schema,
    track: Callable[[Sequence[Context]], Iterable[Prediction]],
    *,
    sequential: bool,
) -> Iterator[Prediction]:
    """The answers to all turns that are asked for.

    A sequential tracker gets each turn as soon as its answer to the turn before is known, in a wave with all others
    that are as far; any other gets them all at once.
    """
    if not sequential:
        yield from track([Context(request.dialogue, turn, schema) for request in requests for turn in request.turns])
        return
    previous = [dict(request.previous) for request in requests]
    waiting = {(number, turn) for number, request in enumerate(requests) for turn in request.turns}
    while waiting:
        wave = sorted(
            (number, turn)
            for number, turn in waiting
            if turn - 1 in previous[number] or (number, turn - 1) not in waiting
        )
        waiting.difference_update(wave)
        # Each with a previous state of its own, which a tracker may change into its answer.
        contexts = [
            Context(requests[number].dialogue, turn, schema, dict(previous[number].get(turn - 1, {})))
            for number, turn in wave
        ]
        for (number, step), answer in zip(wave, track(contexts), strict=True):
            turn = requests[number].dialogue.turns[step]
            # The next turn follows on the answer to this one only if it follows on these words.
            if turn.remembered is turn or step not in requests[number].previous:
                previous[number][step] = answer.state
            yield answer


def record_answer(context: Context, answer: Answer) -> Prediction:
    """The answer as it is recorded; one that could not be read again is a failure. Every answer comes by here.

    A slot that the schema does not have stays, as a wrong value: it costs that slot and not the turn. An answer that
    names another turn is out of step; one without a dialogue is for the turn that was asked for.
    """
    if isinstance(answer, Failed):
        return _failure(context.dialogue, context.turn, answer.reason)
    try:
        if isinstance(answer, Prediction):
            recorded = answer
        else:
            recorded = Prediction("", 0, _texts(answer) if isinstance(answer, Mapping) else {"": repr(answer)})
        problem = _problem(recorded.state)
        names_turn = bool(recorded.dialogue or recorded.turn)
        if names_turn and (recorded.dialogue or context.dialogue, recorded.turn) != (context.dialogue, context.turn):
            problem = f"an answer to dialogue {recorded.dialogue}, turn {recorded.turn}, which was not asked for now"
        recorded = msgspec.structs.replace(recorded, dialogue=context.dialogue, turn=context.turn)
        if not problem:
            # As data and back: only then is each field, however deep, known to be what it is said to be.
            data = msgspec.to_builtins(recorded, builtin_types=(bytes, bytearray, memoryview))
            recorded = msgspec.convert(data, Prediction)
            size = len(msgspec.json.encode(recorded))
            problem = f"an answer of {size:,} bytes" if size > _LONGEST_ANSWER else ""
    except Exception as error:  # whatever the encoder, or an object of the tracker's own, makes of it
        problem = _words(error)
    return _failure(context.dialogue, context.turn, f"malformed: {problem}") if problem else recorded


def _texts(state: Mapping[str, Any]) -> dict[str, str]:
    """The state with one text for each list of values, which are all meant."""
    several = {
        slot: join_values(value)
        for slot, value in state.items()
        if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value)
    }
    return {**state, **several}


class Assignment(NamedTuple):
    """What is to be tracked, the answers so far, and the answers to the words that single stressed turns follow on."""

    corpus: Iterable[Dialogue]
    journal: Journal
    clean: Journal | None


def track(
    engine: Engine, job: Tracking, assignment: Assignment, on_progress: Callable[[int, float], None]
) -> Counter[str]:
    """Answer every turn that the journal does not have, and say what that cost (tokens, requests).

    `on_progress` is called, first before any answer, with how many turns have been answered, those that the journal
    had among them, and with how many tokens that took.
    """
    cost, trace, journal = Counter[str](), "", assignment.journal
    on_progress(journal.turns, 0)
    for _, result in engine.process(job, _pieces(assignment, job.tracker, engine.workers)):
        journal.add(result.lines)
        cost.update(result.used)
        trace = trace or result.traceback
        if journal.failed >= _ENOUGH_FAILURES:
            _require_answers(journal, trace)
        on_progress(journal.turns, cost["tokens_in"] + cost["tokens_out"])
    _require_answers(journal, trace)
    return cost


def _require_answers(journal: Journal, trace: str) -> None:
    """Stop where every turn has failed: such a run would only look like a result."""
    if journal.failed and not journal.answered:
        reason = next((answer.failed for answer in journal if answer.failed), "")
        raise DstressError(
            f"the tracker has failed on each of the {journal.failed:,} turns that it was asked: {reason}"
            + (f"\n{trace.rstrip()}" if trace else ""),
            fix="fix the tracker, then run it again",
        )


def _pieces(assignment: Assignment, tracker: Tracker, workers: int) -> Iterator[list[Request]]:
    """Requests by the batch; the last ones in smaller pieces, so that no worker is without any."""
    waiting: list[Request] = []
    sizes: list[int] = []

    def take(size: int) -> list[Request]:
        count = next((n for n, done in enumerate(accumulate(sizes), start=1) if done >= size), len(sizes))
        piece = waiting[:count]
        del waiting[:count], sizes[:count]
        return piece

    for dialogue in assignment.corpus:
        request = _request(dialogue, assignment, tracker)
        if request.turns:
            waiting.append(request)
            sizes.append(1 if tracker.sequential else len(request.turns))
            if sum(sizes) >= max(1, workers) * tracker.batch:
                yield take(tracker.batch)
    share = min(tracker.batch, math.ceil(sum(sizes) / max(1, workers)))
    while waiting:
        yield take(share)


def _request(dialogue: Dialogue, assignment: Assignment, tracker: Tracker) -> Request:
    """What is still to be asked; a turn that no stressor changed, with its history, keeps the answer it has."""
    journal, clean = assignment.journal, assignment.clean
    turns = sorted(set(range(len(dialogue.turns))) - journal.done(dialogue.id))
    if turns and clean is not None:
        answered = clean.done(dialogue.id)
        same = [turn for turn in turns if not dialogue.turns[turn].changed and turn in answered]
        journal.add(clean.lines(dialogue.id, same))
        turns = sorted(set(turns) - set(same))
    previous: dict[int, dict[str, str]] = {}
    if turns and tracker.sequential:
        # What it has said of each turn as later turns remember it.
        own = journal.answers(dialogue.id)
        before = clean.answers(dialogue.id) if clean is not None else {}
        for number, turn in enumerate(dialogue.turns):
            answer = own.get(number) if turn.remembered is turn else before.get(number)
            if answer is not None and not answer.failed:
                previous[number] = answer.state
    return Request(dialogue, turns, previous)


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


def _words(problem: object) -> str:
    """The text of what a tracker has raised or given, whose own `__str__` may raise in turn."""
    try:
        return str(problem)
    except Exception:
        return f"a {type(problem).__name__} without words"


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
