"""Progress on whatever takes over a second: live in a terminal, a plain line now and then in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import click

_PLAIN_EVERY = 5.0


@contextmanager
def counting(what: str) -> Iterator[Callable[[str, int], None]]:
    """Progress over something whose end is not known: a live line in a terminal, a line now and then in a pipe."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TextColumn(what), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as live:
            task = live.add_task("")

            def show(label: str, done: int) -> None:
                live.update(task, description=label, completed=done)

            yield show
        return
    yield _plain(what)


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
        yield lambda done, total: show(label, done)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn(label), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as live:
        task = live.add_task("", total=None)
        yield lambda done, total: live.update(task, completed=done, total=total or None)


def _plain(what: str) -> Callable[[str, int], None]:
    last = time.monotonic()

    def show(label: str, done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _PLAIN_EVERY:
            last = time.monotonic()
            click.echo(f"{label}: {done:,} {what}", err=True)

    return show


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
