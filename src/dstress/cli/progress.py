"""Progress on whatever takes over a second: live in a terminal, a plain line now and then in a pipe."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

import click

from dstress.display import NOTE

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

_PLAIN_AFTER = 5.0
"""Seconds of silence after which a pipe gets a line."""
_AGAIN_AFTER = 30.0
"""Seconds after which the same thing gets another line, if more of it is done."""
_TICK = 1.0
"""Seconds between two looks at whether a line is due."""
_NUMBERS = 47
"""What the numbers of a live line need at most; a label that does not fit beside them is cut."""


class Show(Protocol):
    """Takes what is being done, how much of it is done, and of how much, where that is known."""

    def __call__(self, label: str, done: int, total: int | None = None) -> None: ...


@contextmanager
def counting(what: str = "") -> Iterator[Show]:
    """Progress over things that are counted: in a terminal a live line with the rate and, of a total, the time left."""
    if not sys.stderr.isatty():
        with _plain(what) as plain:
            yield plain
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.text import Text

    label_column = TextColumn("{task.fields[label]}", markup=False)
    columns = (label_column, BarColumn(bar_width=8), TextColumn("{task.fields[count]}"))
    ticking = {True: (TimeRemainingColumn(), TextColumn("left")), False: (TimeElapsedColumn(),)}
    with _live(*columns, *ticking[False]) as live:
        task = live.add_task("", total=None, label="", count="")

        def show(label: str, done: int, total: int | None = None) -> None:
            nonlocal task
            label, _, note = label.partition(NOTE)
            if label != live.tasks[0].description:
                live.remove_task(task)
                live.columns = (*columns, *ticking[bool(total)])
                shortened = Text(label)
                shortened.truncate(max(live.console.width - _NUMBERS - len(what), 16), overflow="ellipsis")
                task = live.add_task(label, total=total, label=shortened.plain, count="")
            live.update(task, completed=done)
            rate = f" {speed:,.{speed < 10:d}f}/s" if (speed := live.tasks[0].speed) else ""
            live.update(task, count=_count(done, total, what) + rate + (f", {note}" if note else ""))

        yield show


@contextmanager
def downloading(label: str) -> Iterator[Callable[[int, int], None]]:
    """Progress over bytes."""
    if not sys.stderr.isatty():
        with _plain("bytes") as show:
            yield lambda done, total: show(label, done, total or None)
        return
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    with _live(label, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()) as live:
        task = live.add_task("", total=None)
        yield lambda done, total: live.update(task, completed=done, total=total or None)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner with the time that has passed, for work over a second; silent in a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import SpinnerColumn, TimeElapsedColumn

    with _live(SpinnerColumn(), what, TimeElapsedColumn()) as live:
        live.add_task("", total=None)
        yield


@contextmanager
def _live(*columns: str | ProgressColumn) -> Iterator[Progress]:
    """A live line on stderr that is gone at the end; rich is imported only where a line is drawn."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(*columns, console=Console(stderr=True), transient=True) as live:
        yield live


class _State(NamedTuple):
    """What was shown last: of what, how much, since when and from where."""

    label: str = ""
    note: str = ""
    done: int = 0
    total: int | None = None
    start: float = 0.0
    first: int = 0


@contextmanager
def _plain(what: str) -> Iterator[Show]:
    """A line for each thing that takes longer, again every half a minute, and none for what is quick.

    Another thread writes them: a first request may take minutes, and nobody calls meanwhile.
    """
    state, last, written = _State(), time.monotonic(), _State()
    lock, ended = threading.Lock(), threading.Event()

    def show(label: str, done: int, total: int | None = None) -> None:
        nonlocal state
        label, _, note = label.partition(NOTE)
        if label != state.label:
            state = _State(start=time.monotonic(), first=done)
        state = state._replace(label=label, note=note, done=done, total=total)
        with lock:
            write()

    def write() -> None:
        nonlocal last, written
        now, current = time.monotonic(), state
        is_new = current.label != written.label
        if not current.label or now - last < (_PLAIN_AFTER if is_new else _AGAIN_AFTER):
            return
        if is_new or current.done != written.done:
            last, written = now, current
            speed = (current.done - current.first) / (now - current.start) if not is_new else 0.0
            rate = f"{speed:,.{1 if speed < 10 else 0}f}/s" if speed else ""
            numbers = ", ".join(filter(None, (_count(current.done, current.total, what), rate, current.note)))
            click.echo(f"{current.label}: {numbers}".removesuffix(": "), err=True)

    def keep_writing() -> None:
        while not ended.wait(_TICK):
            with lock:
                write()

    threading.Thread(target=keep_writing, daemon=True).start()
    try:
        yield show
    finally:
        ended.set()


def _count(done: int, total: int | None, what: str) -> str:
    count = f"{done:,}/{total:,}" if total else f"{done:,}" if done else ""
    return f"{count} {what}".rstrip() if count else ""
