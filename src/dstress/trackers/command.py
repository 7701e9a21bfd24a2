"""A tracker that is a program in any language: contexts on its standard input, answers on its standard output."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from dstress.dialogue import Schema
from dstress.errors import DstressError, SpecError
from dstress.resources import Resources
from dstress.trackers.base import Answer, Context, Failed, Tracker
from dstress.trackers.child_process import GARBAGE, NAMELESS, TOO_MANY, UNASKED, Child, Trouble
from dstress.trackers.wire import Unreadable, context_data, read_answer, schema_data

_HOPELESS = 3
"""Failed turns, with never an answer, after which the fault is the program's and not the turn's."""


class Command(Tracker):
    """A program: a line of JSON for the schema, then one for each context; it prints one line for each context.

    `cmd` is split like in a shell, but no shell runs it. A program that dies, prints something that is no answer, or
    prints nothing for `timeout` seconds is started again and asked again once; then the turn fails and the next is
    asked. With `sequential` each context carries the program's own previous answer. `version` names what the command
    does not show, such as the weights that it loads.
    """

    def __init__(
        self, cmd: str, batch: int = 32, timeout: float = 120.0, sequential: bool = False, version: str = ""
    ) -> None:
        if batch < 1 or timeout <= 0:
            raise SpecError("command: batch must be 1 or more, timeout above 0")
        self.cmd, self.batch, self.timeout = cmd, batch, timeout
        self.sequential, self.version = sequential, version
        try:
            self._words = shlex.split(cmd)
        except ValueError as error:
            raise SpecError(f"command: {cmd!r} cannot be parted into words: {error}") from None
        if not self._words:
            raise SpecError("command: an empty command does nothing", fix='write command(cmd="python3 tracker.py")')
        self._child: Child | None = None
        self._schema_sent: Schema | None = None
        self._answered = self._failed = self._starts = 0

    def __getstate__(self) -> dict[str, Any]:
        """The running program stays behind when it is sent to another process."""
        return self.__dict__ | {"_child": None, "_schema_sent": None}

    def prepare(self, resources: Resources) -> None:
        """Look for the program, before any work."""
        super().prepare(resources)
        if shutil.which(self._words[0]) is None:
            fix = "install it, give its path, or make it executable"
            raise self._error(f"there is no program {self._words[0]!r}", fix)

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The program's answers to a batch, of one schema: a turn that costs the program its life twice has failed."""
        answers: list[Answer] = []
        lost = -1
        one_by_one = False
        while len(answers) < len(contexts):
            before = len(answers)
            try:
                self._ask(contexts[: before + 1] if one_by_one else contexts, answers)
            except Trouble as trouble:
                self._end(at_once=True)
                if trouble.category == UNASKED:
                    raise self._error(
                        f"the program printed {trouble.category}, so earlier answers may belong to other turns: "
                        f"{trouble.detail}",
                        "print one line for each context and nothing else; messages go to standard error",
                    ) from None
                if trouble.category == NAMELESS and not self._answered:
                    raise self._error(
                        f"the program printed {trouble.category}, so nobody knows what it answers: {trouble.detail}",
                        "copy `dialogue` and `turn` from each context into its answer",
                    ) from None
                if trouble.category == TOO_MANY:
                    # No answer of the batch can be trusted to belong to its turn; one by one they can.
                    self._answered -= len(answers) - before
                    del answers[before:]
                    if not one_by_one:
                        one_by_one = True
                        continue
                if lost == len(answers):  # the same turn again
                    self._failed += 1
                    if not self._answered and self._failed >= _HOPELESS:
                        raise self._error(
                            f"the program has answered none of {self._failed} turns; {trouble}",
                            "try it by hand: it reads a line of JSON for each turn and prints one, as docs/trackers "
                            "shows",
                        ) from None
                    answers.append(Failed(str(trouble)))
                lost = len(answers)
        return answers

    def fingerprint(self) -> str:
        """The command, the content of every file that it names, and the version."""
        digest = hashlib.sha256(msgspec.json.encode(["command", self.cmd, self.sequential, self.version]))
        for word in self._words:
            for text in (word, word.partition("=")[2]):  # `--config=small.json` names a file too
                if text and Path(text).is_file():
                    with Path(text).open("rb") as stream:
                        digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()[:16]

    def usage(self) -> dict[str, float]:
        """How often the program had to be started."""
        starts, self._starts = self._starts, 0
        return {"starts": float(starts)}

    def close(self) -> None:
        """End the program."""
        self._end()

    def _error(self, problem: str, fix: str = "") -> DstressError:
        return DstressError(problem, where=f"command({self.cmd})", fix=fix)

    def _ask(self, contexts: Sequence[Context], answers: list[Answer]) -> None:
        """Ask for what is still missing; answers are added as they come, so that those before a trouble are kept."""
        if self._child is not None and not self._child.running:
            self._end(at_once=True)  # it ended after its last answer, which is its own affair
        if self._child is None:
            try:
                self._child = Child(self._words)
            except OSError as error:
                raise self._error(f"the program cannot be started: {error}") from None
            self._starts += 1
        waiting = contexts[len(answers) :]
        schema = waiting[0].schema
        lines = [] if self._schema_sent == schema else [msgspec.json.encode({"schema": schema_data(schema)})]
        lines += [msgspec.json.encode(context_data(context, previous=self.sequential)) for context in waiting]

        def on_line(line: bytes) -> None:
            answers.append(_read(line, contexts[len(answers)]))
            self._answered += 1

        self._schema_sent = schema
        self._child.exchange(b"".join(line + b"\n" for line in lines), len(waiting), self.timeout, on_line)

    def _end(self, *, at_once: bool = False) -> None:
        if self._child is not None:
            self._child.close(at_once=at_once)
        self._child = self._schema_sent = None


def _read(line: bytes, context: Context) -> Answer:
    """An answer. A line that is none means that the program is out of step, and has to be started again."""
    try:
        data = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Trouble(GARBAGE, f"a line that is no JSON: {line[:80].decode('utf-8', 'replace')!r}") from None
    try:
        answer = read_answer(data, context)
    except Unreadable as problem:
        raise Trouble(GARBAGE, str(problem)) from None
    if not {"dialogue", "turn"} <= data.keys():
        raise Trouble(NAMELESS, f"{data!r:.80}")
    return answer
