"""Apertium, a free rule-based translator that runs on the machine itself (Forcada et al. 2011)."""

from __future__ import annotations

import re
import shlex
import shutil
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from dstress.errors import MissingExtraError, SpecError
from dstress.text.tables import read_table
from dstress.translators.base import Translation, Translator
from dstress.translators.pipeline import Pipeline, Stopped

_SPECIAL = re.compile(r"[\[\]{}^$/\\@<>]")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_END = ".[]"
"""The mark of a sentence's end, as Apertium's own deformatters add it: taggers need one after the last word."""
_ENDED = re.compile(r"\.?(?<!\\)\[\]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


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
        self._turns: defaultdict[str, Lock] = defaultdict(Lock)

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
        with self._turns[mode.stem]:  # routes that share a direction take turns
            answers = self._ask([_deformat(text) for text in texts], mode)
        return [[Translation(_reformat(answer))] if answer is not None else [] for answer in answers]

    def close(self) -> None:
        """End all process chains."""
        while self._running:
            self._running.popitem()[1].close()

    def _ask(self, texts: Sequence[str], mode: Path) -> list[str | None]:
        """An answer for each text. The text at which the programs stop is tried again, then left out."""
        answers: list[str | None] = []
        failures = 0
        while len(answers) < len(texts):
            before = len(answers)
            try:
                for answer in self._pipeline(mode).ask(texts[before:], self.timeout):
                    answers.append(answer)
            except Stopped:
                self._running.pop(mode.stem).close()
                failures = failures + 1 if len(answers) == before else 1
                if failures > self.retries:
                    answers.append(None)
                    failures = 0
        return answers

    def _pipeline(self, mode: Path) -> Pipeline:
        if mode.stem not in self._running or not self._running[mode.stem].is_running:
            opening = next((text for name, text in _data()["openings"].items() if mode.stem.startswith(name)), "")
            self._running[mode.stem] = Pipeline(_commands(mode), f"{opening}{_END}" if opening else "")
        return self._running[mode.stem]

    def _mode(self, source: str, target: str) -> Path:
        folder = (self.folder or _find_installed(source, target)) / "modes"
        for name in _mode_names(source, target):
            if (folder / f"{name}.mode").is_file():
                return folder / f"{name}.mode"
        raise _missing(f"Apertium's translation from {source!r} to {target!r}", source, target)


def _find_installed(source: str, target: str) -> Path:
    program = shutil.which("apertium")
    if program is None:
        raise _missing("the translator apertium", source, target)
    near = Path(program).resolve().parents[1] / "share" / "apertium"
    return near if near.is_dir() else Path(program).parents[1] / "share" / "apertium"


def _missing(what: str, source: str, target: str) -> MissingExtraError:
    pair = "-".join(sorted(code.partition("_")[0] for code in (source, target)))
    package = _data()["packages"].get(pair)
    debian = (
        f"apt install apertium {package}" if package else "the package apertium-<pair> of your system, if there is one"
    )
    return MissingExtraError(
        f"{what} is not installed",
        fix=f"Debian, Ubuntu: {debian}. macOS: Homebrew has no formula for Apertium or its pairs; take the builds "
        "named at https://wiki.apertium.org/wiki/Installation. Or give another translator: http(...), huggingface(...)",
    )


@cache
def _data() -> dict[str, dict[str, Any]]:
    return read_table(__package__, "apertium.toml")


def _mode_names(source: str, target: str) -> list[str]:
    """What the mode may be called: `en`, `ca_valencia` gives `eng-cat_valencia` and older spellings."""
    named = []
    for code in (source, target):
        language, underscore, variant = code.partition("_")
        named.append([f"{name}{underscore}{variant}" for name in _data()["languages"].get(language, [language])])
    return [f"{first}-{second}" for first in named[0] for second in named[1]]


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


def _deformat(text: str) -> str:
    """A text as Apertium's stream wants it: special characters escaped, nothing unprintable, an end."""
    return _SPECIAL.sub(r"\\\g<0>", _UNPRINTABLE.sub(" ", text)) + _END


def _reformat(answer: str) -> str:
    return " ".join(_ESCAPED.sub(r"\1", _ENDED.sub("", answer)).split())
