"""A process that tries stressors and is ended when it takes too long.

A hostile text can keep a stressor busy for hours, and a thread cannot be ended. The process works with low priority, so
that pages go first.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection

from dstress.corpora import load
from dstress.studies.playground import Playground, Scene, Tried

_NICENESS = 5


class Worker:
    """Takes one task after another. The process starts with the first one, and anew after one that took too long."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._stop: Callable[[], None] = lambda: None
        self._pipe: Connection | None = None

    def try_out(self, corpus: str, spec: str, scene: Scene, seeds: Sequence[int]) -> Tried:
        """What a stressor makes of a scene, within the time."""
        if self._pipe is None:
            context = get_context("spawn")
            self._pipe, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            self._stop = process.kill
        try:
            self._pipe.send((corpus, spec, scene, seeds))
            if self._pipe.poll(self.seconds):
                tried: Tried = self._pipe.recv()
                return tried
            problem = f"it took longer than {self.seconds:g} seconds"
        except (OSError, EOFError):
            problem = "its process ended"
        self._stop()
        self._pipe.close()
        self._pipe = None
        return Tried(spec, problem=problem, fix="try another turn")


def _work(pipe: Connection) -> None:
    """Do what comes through the pipe, until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process too
    os.nice(_NICENESS)
    playgrounds: dict[str, Playground] = {}
    with suppress(EOFError, OSError):
        while True:
            corpus, spec, scene, seeds = pipe.recv()
            if corpus not in playgrounds:
                playgrounds[corpus] = Playground(load(corpus))
            try:
                tried = playgrounds[corpus].try_out(spec, scene, seeds)
            except Exception as error:  # a stressor's own bug leaves the others their answers
                tried = Tried(spec, problem=f"it failed: {type(error).__name__}")
            pipe.send(tried)
