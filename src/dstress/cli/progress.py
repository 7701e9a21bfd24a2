"""Progress on whatever takes over a second: live in a terminal, a plain line now and then in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Protocol

import click

_PLAIN_AFTER = 5.0
"""Seconds of silence after which a pipe gets a line."""
_NUMBERS = 47
"""What the numbers of a live line need at most; a label that does not fit beside them is cut."""


class Show(Protocol):
    """Takes what is being done, how much of it is done, and of how much, where that is known."""

    def __call__(self, label: str, done: int, total: int | None = None) -> None: ...


@contextmanager
def counting(what: str = "") -> Iterator[Show]:
    """Progress over things that are counted: in a terminal a live line with the rate and, of a total, the time left."""
    if not sys.stderr.isatty():
        yield _plain(what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.text import Text

    console = Console(stderr=True)
    label_column = TextColumn("{task.fields[label]}", markup=False)
    columns = (label_column, BarColumn(bar_width=8), TextColumn("{task.fields[count]}"))
    ticking = {True: (TimeRemainingColumn(), TextColumn("left")), False: (TimeElapsedColumn(),)}
    with Progress(*columns, *ticking[False], console=console, transient=True) as live:
        task = live.add_task("", total=None, label="", count="")

        def show(label: str, done: int, total: int | None = None) -> None:
            nonlocal task
            if label != live.tasks[0].description:
                live.remove_task(task)
                live.columns = (*columns, *ticking[bool(total)])
                shortened = Text(label)
                shortened.truncate(max(console.width - _NUMBERS - len(what), 16), overflow="ellipsis")
                task = live.add_task(label, total=total, label=shortened.plain, count="")
            live.update(task, completed=done)
            rate = f" {speed:,.{speed < 10:d}f}/s" if (speed := live.tasks[0].speed) else ""
            live.update(task, count=_count(done, total, what) + rate)

        yield show


@contextmanager
def counting_calls(what: str) -> Iterator[Callable[[str], None]]:
    """The same for whoever calls once for each thing that is done, and does not count."""
    done = count(1)
    with counting(what) as show:
        yield lambda label: show(label, next(done))


@contextmanager
def downloading(label: str) -> Iterator[Callable[[int, int], None]]:
    """Progress over bytes."""
    if not sys.stderr.isatty():
        show = _plain("bytes")
        yield lambda done, total: show(label, done, total or None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn(label), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as live:
        task = live.add_task("", total=None)
        yield lambda done, total: live.update(task, completed=done, total=total or None)


def _plain(what: str) -> Show:
    """At most a line for each thing that is done, and none for what is quick."""
    last, named = time.monotonic(), ""

    def show(label: str, done: int, total: int | None = None) -> None:
        nonlocal last, named
        if label != named and time.monotonic() - last >= _PLAIN_AFTER:
            last, named = time.monotonic(), label
            click.echo(f"{label}: {_count(done, total, what)}".removesuffix(": "), err=True)

    return show


def _count(done: int, total: int | None, what: str) -> str:
    count = f"{done:,}/{total:,}" if total else f"{done:,}" if done else ""
    return f"{count} {what}".rstrip() if count else ""


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner with the time that has passed, for work over a second; silent in a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn(what), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as live:
        live.add_task("", total=None)
        yield
