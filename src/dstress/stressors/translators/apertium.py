"""Apertium, a free rule-based translator that runs on the machine itself (Forcada et al. 2011).

Its programs stay open and answer one text after the other, each ended by a NUL. All of them know this protocol (their
option `-z`): a NUL in the input makes each finish what it holds and pass the NUL on. So a whole corpus needs one start
per direction, not one per utterance.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import shutil
import subprocess
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from dstress.errors import MissingExtraError, SpecError
from dstress.stressors.translators.base import Translation, Translator
from dstress.text.tables import read_table

_SPECIAL = re.compile(r"[\[\]{}^$/\\@<>]")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_END = ".[]"
"""The mark of a sentence's end, as Apertium's own deformatters add it: taggers need one after the last word."""
_ENDED = re.compile(r"\.?(?<!\\)\[\]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CHUNK = 1 << 16


class Apertium(Translator):
    """Rule-based translation by the system program apertium; one lasting process chain per direction, one candidate.

    `timeout` is how many seconds a text may take; programs that die or hang are started again `retries` times for a
    text, before it counts as not translated. `folder` holds Apertium's `modes` folder, if not the usual one.
    """

    needs: ClassVar[tuple[str, ...]] = ("apertium",)
    routes = ("es", "eo")
    rough = True

    def __init__(self, timeout: float = 20.0, retries: int = 1, folder: Path | None = None) -> None:
        if timeout <= 0 or retries < 0:
            raise SpecError("apertium: timeout must be above 0, and retries 0 or more")
        self.timeout, self.retries, self.folder = timeout, retries, folder
        self._running: dict[str, Pipeline] = {}
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def __reduce__(self) -> tuple[type[Apertium], tuple[float, int, Path | None]]:
        """Processes stay behind when it is sent to another process, which then starts its own."""
        return Apertium, (self.timeout, self.retries, self.folder)

    def check(self, source: str, target: str) -> None:
        """Apertium and a mode from `source` to `target` are installed, with all the programs that the mode names."""
        mode = self._mode(source, target)
        missing = [command[0] for command in _commands(mode) if shutil.which(command[0]) is None]
        if missing:
            raise _missing(f"Apertium's program {missing[0]}, which the mode {mode.stem} needs,", source, target)

    def translate(self, texts: Sequence[str], source: str, target: str) -> list[list[Translation]]:
        """One candidate for each text. Words that Apertium does not know stay as they are."""
        mode = self._mode(source, target)
        escaped = [_SPECIAL.sub(r"\\\g<0>", _UNPRINTABLE.sub(" ", text)) + _END for text in texts]
        with self._turns[mode.stem]:  # routes that share a direction take turns
            answers = self._ask(escaped, mode)
        return [
            [] if answer is None else [Translation(" ".join(_ESCAPED.sub(r"\1", _ENDED.sub("", answer)).split()))]
            for answer in answers
        ]

    def close(self) -> None:
        """End all process chains."""
        while self._running:
            self._running.popitem()[1].close()

    def _ask(self, texts: Sequence[str], mode: Path) -> list[str | None]:
        """An answer for each text. The text at which the programs stop is tried again, then left out."""
        answers: list[str | None] = []
        failures = 0
        while len(answers) < len(texts):
            before, pipeline = len(answers), self._running.get(mode.stem)
            if pipeline is None or not pipeline.is_running:
                openings = read_table(__package__, "apertium.toml")["openings"]
                opening = next((text for name, text in openings.items() if mode.stem.startswith(name)), "")
                pipeline = Pipeline(_commands(mode), f"{opening}{_END}" if opening else "")
                self._running[mode.stem] = pipeline
            try:
                for answer in pipeline.ask(texts[before:], self.timeout):
                    answers.append(answer)  # so that those before a stop are kept
            except Stopped:
                self._running.pop(mode.stem).close()
                failures = failures + 1 if len(answers) == before else 1
                if failures > self.retries:
                    answers.append(None)
                    failures = 0
        return answers

    def _mode(self, source: str, target: str) -> Path:
        """The mode's file. `en`, `ca_valencia` is called `eng-cat_valencia`, or has an older spelling."""
        folder = self.folder
        if folder is None:
            program = shutil.which("apertium")
            if program is None:
                raise _missing("the translator apertium", source, target)
            near = Path(program).resolve().parents[1] / "share" / "apertium"
            folder = near if near.is_dir() else Path(program).parents[1] / "share" / "apertium"
        named = []
        for code in (source, target):
            language, underscore, variant = code.partition("_")
            names = read_table(__package__, "apertium.toml")["languages"].get(language, [language])
            named.append([f"{name}{underscore}{variant}" for name in names])
        for mode in (folder / "modes" / f"{first}-{second}.mode" for first in named[0] for second in named[1]):
            if mode.is_file():
                return mode
        raise _missing(f"Apertium's translation from {source!r} to {target!r}", source, target)


def _missing(what: str, source: str, target: str) -> MissingExtraError:
    pair = "-".join(sorted(code.partition("_")[0] for code in (source, target)))
    package = read_table(__package__, "apertium.toml")["packages"].get(pair)
    debian = f"apt install apertium {package}"
    debian = debian if package else "the package apertium-<pair> of your system, if there is one"
    return MissingExtraError(
        f"{what} is not installed",
        fix=f"Debian, Ubuntu: {debian}. macOS: Homebrew has no formula for Apertium or its pairs; take the builds "
        "named at https://wiki.apertium.org/wiki/Installation. Or give another translator: http(...), huggingface(...)",
    )


@cache
def _commands(mode: Path) -> tuple[tuple[str, ...], ...]:
    """The programs of a mode file, each told to flush at a NUL."""
    commands: list[list[str]] = [[]]
    for word in shlex.split(mode.read_text(encoding="utf-8"), comments=True):
        if word == "|":
            commands.append([])
        elif word == "$1":
            commands[-1].append("-n")  # words that have no translation go through unmarked
        elif word != "$2":
            commands[-1].append(word)
    return tuple((program, "-z", *arguments) for program, *arguments in commands)


class Stopped(Exception):
    """The programs ended, or gave no answer in time."""


class Pipeline:
    """The running programs. `opening` is a text to send first; its answer is thrown away."""

    def __init__(self, commands: Sequence[Sequence[str]], opening: str = "") -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        pipe: Any = subprocess.PIPE
        for command in commands:
            before = pipe
            process = subprocess.Popen(command, stdin=before, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if self._processes:
                before.close()  # our copy must not keep the pipe open: the next program is its only reader
            self._processes.append(process)
            pipe = process.stdout
        self._out, self._rest = pipe.fileno(), b""
        self._opening, self._is_opened = opening, not opening
        self._ended = weakref.finalize(self, _end, list(self._processes))

    def ask(self, texts: Sequence[str], timeout: float) -> Iterator[str]:
        """The answers in order, as they come. Raises Stopped if none comes for `timeout` seconds."""
        inputs = list(texts) if self._is_opened else [self._opening, *texts]
        writer = threading.Thread(target=self._write, args=(inputs,), daemon=True)
        writer.start()
        try:
            for answer in self._read_answers(len(inputs), timeout):
                if self._is_opened:
                    yield answer
                else:
                    self._is_opened = True
        except BaseException:
            self.close()  # then the writer, which may wait for programs that no longer listen, fails and ends
            raise
        finally:
            writer.join()

    @property
    def is_running(self) -> bool:
        """Whether it can still be asked."""
        return self._ended.alive

    def close(self) -> None:
        """End the programs."""
        self._ended()

    def _write(self, texts: Sequence[str]) -> None:
        # Programs that ended break the pipe: the reader sees that their answers stop.
        with contextlib.suppress(OSError, ValueError):
            if stdin := self._processes[0].stdin:
                stdin.write(b"".join(text.encode("utf-8", "replace") + b"\0" for text in texts))
                stdin.flush()

    def _read_answers(self, count: int, timeout: float) -> Iterator[str]:
        waiting = select.poll()
        waiting.register(self._out, select.POLLIN)
        while count:
            more = os.read(self._out, _CHUNK) if waiting.poll(1000 * timeout) else b""
            if not more:
                raise Stopped
            # A long answer comes in pieces. Each of them is a sign of life, so the clock starts again.
            *whole, self._rest = (self._rest + more).split(b"\0")
            for answer in whole[:count]:
                yield answer.decode("utf-8", "replace")
            if len(whole) > count:
                self.close()  # more answers than texts: what follows could not be told apart
            count -= min(count, len(whole))


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        with contextlib.suppress(OSError):
            process.kill()
    for process in processes:
        process.wait()
        for pipe in filter(None, (process.stdin, process.stdout)):
            with contextlib.suppress(OSError):
                pipe.close()
