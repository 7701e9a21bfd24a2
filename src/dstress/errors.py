"""Everything that can go wrong because of what a person gave us.

    DstressError                a message that names the place and the fix; the command line prints it and exits 2
    ├── SpecError               a component's text, such as `typos(rate=0.1)`, cannot be read
    ├── UnknownNameError        no component, corpus, split, slot ... of that name; carries the nearest names
    ├── DuplicateNameError      two components claim one name
    ├── MissingExtraError       an optional part is not installed; says how to install it
    ├── CorpusError             a corpus source or a stored corpus is wrong
    │   ├── ArchiveError        the archive itself is broken or unsafe
    │   └── DownloadError       a source address did not give what it should
    └── PredictionError         a prediction file is wrong or does not fit its gold

A bug of ours raises something else, and shows its traceback.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

import msgspec

UNREADABLE_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises at bytes that are cut off, not UTF-8, of another shape, or nested without end."""

_LONGEST_ID = 200
"""Letters of a dialogue's id in a message: a file may have any."""
_SHORTEST_PART = 3
"""Letters of what was typed from which a name that holds them is meant."""
_LONG_WORD, _LONGEST_MESSAGE = re.compile(r"\S{1000,}"), 20_000
"""No message quotes more than a person reads, whatever it is made of."""


class DstressError(Exception):
    """A problem that the person can fix. `where` is the file, dialogue and turn; `fix` is what to do about it."""

    def __init__(self, problem: str, *, where: str = "", fix: str = "") -> None:
        self.problem, self.where, self.fix = problem, where, fix
        super().__init__(problem)  # the one positional argument, so that the error survives pickling between processes

    def __str__(self) -> str:
        return shorten(self.text)

    @property
    def text(self) -> str:
        """The whole message, for whoever takes secrets out before it is shortened."""
        head = f"{self.where}: {self.problem}" if self.where else self.problem
        return f"{head}\n  fix: {self.fix}" if self.fix else head


class SpecError(DstressError):
    """A component spec that cannot be read, or arguments that do not fit the component."""


class UnknownNameError(DstressError):
    """A name that is not there. Build it with `unknown`, which finds the nearest names."""


class DuplicateNameError(DstressError):
    """Two components of one kind claim the same name."""


class MissingExtraError(DstressError):
    """An optional part of dstress, or a system program it needs, is not installed."""


class CorpusError(DstressError):
    """A corpus source or a stored corpus that cannot be used as it is."""


class ArchiveError(CorpusError):
    """An archive that is broken, unsafe, or larger than it should be."""


class DownloadError(CorpusError):
    """A source address that did not give the file it should."""


class PredictionError(DstressError):
    """A prediction file that cannot be read, or that does not fit its gold."""


def shorten(text: str) -> str:
    """A message without more of a word, or of itself, than a person reads."""
    text = _LONG_WORD.sub(lambda word: f"{word[0][:_LONGEST_ID]}...", text)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."


def place(file: object = "", dialogue: str = "", turn: int | None = None) -> str:
    """The words for a place in the data, the same in every message: `file, dialogue d, turn 3`."""
    parts = [str(file)] if str(file) else []
    if dialogue:
        parts.append(f"dialogue {dialogue if len(dialogue) <= _LONGEST_ID else dialogue[:_LONGEST_ID] + '...'}")
    if turn is not None:
        parts.append(f"turn {turn}")
    return ", ".join(parts)


@contextmanager
def naming(component: str) -> Iterator[None]:
    """Errors from inside a component say whose they are, where they do not say it by themselves."""
    try:
        yield
    except DstressError as error:
        if not error.where and component.partition("(")[0] not in error.problem:
            error.where = component
        raise


def unknown(kind: str, name: str, options: Iterable[str], *, where: str = "", fix: str = "") -> UnknownNameError:
    """An UnknownNameError that suggests the nearest known names, so that a typing error costs seconds."""
    names = sorted(set(options))
    if near := did_you_mean(name, names):
        hint = near
    elif names:
        hint = "known: " + ", ".join(names[:40]) + (" ..." if len(names) > 40 else "")
    else:
        hint = f"no {kind} is known yet"
    return UnknownNameError(f"unknown {kind} {name!r}; {hint}", where=where, fix=fix)


def nearest(name: str, candidates: Iterable[str]) -> list[str]:
    """Return up to three names like `name`, or of which it is a part, the most alike first; never what was typed."""
    typed, folded = name.casefold(), {candidate.casefold(): candidate for candidate in candidates if candidate != name}
    alike = get_close_matches(typed, list(folded), n=3, cutoff=0.6)
    longer = [candidate for candidate in folded if len(typed) >= _SHORTEST_PART and typed in candidate]
    return [folded[match] for match in dict.fromkeys([*alike, *longer])][:3]


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return a question with the nearest names; empty where none is near."""
    near = nearest(name, candidates)
    return "did you mean " + " or ".join(map(repr, near)) + "?" if near else ""
