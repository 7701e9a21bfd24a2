"""The channel in several processes at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path

from dstress.engines.base import cores
from dstress.stressors.speech.channel import Channel, Conditions, Recognition, Speaker

_GROUP = 6
"""Utterances that travel together: few, so that no process waits long for the last."""


class ChannelPool:
    """Processes that run the channel; use it in a `with`. With one core, this process does it all."""

    def __init__(self, folder: Path, processes: int = 0) -> None:
        self.folder, self.processes = folder, processes or cores()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> ChannelPool:
        if self.processes > 1:
            # Not forked: whoever shows progress has threads, and those do not survive a fork.
            self._pool = ProcessPoolExecutor(self.processes, multiprocessing.get_context("spawn"))
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def transmit(self, utterances: Sequence[tuple[str, Speaker]], conditions: Conditions) -> list[Recognition]:
        """What is understood of each utterance, in order."""
        if self._pool is None:
            return _transmit(self.folder, conditions, utterances)
        groups = [utterances[start : start + _GROUP] for start in range(0, len(utterances), _GROUP)]
        recognised = self._pool.map(_transmit, [self.folder] * len(groups), [conditions] * len(groups), groups)
        return [recognition for group in recognised for recognition in group]


def _transmit(folder: Path, conditions: Conditions, utterances: Sequence[tuple[str, Speaker]]) -> list[Recognition]:
    return _channel(folder, conditions).transmit(utterances)


@lru_cache(maxsize=1)
def _channel(folder: Path, conditions: Conditions) -> Channel:
    return Channel(folder, conditions)
