"""A Ray cluster: workers are actors, wherever the cluster has room; a lost one's pieces are done by another."""

from __future__ import annotations

import pickle
import socket
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any
from urllib.parse import urlsplit

from dstress.engines.base import Engine, Job, Task, pack
from dstress.errors import DstressError, MissingExtraError

_CHANCES = 3
"""How often a piece is tried: a lost node is no fault of the piece."""


_KNOCK = 5.0
"""Seconds in which a cluster's door must open."""


class Ray(Engine):
    """A Ray cluster: its own on this machine, or any by its address.

    `workers` actors share the work; 0 is one for every processor of the cluster. `gpus` and `cpus` are what each actor
    asks for. A worker or a node that is lost costs only time.
    """

    def __init__(self, address: str = "", workers: int = 0, cpus: float = 1.0, gpus: float = 0.0) -> None:
        if workers < 0 or cpus <= 0 or gpus < 0:
            raise DstressError("ray: workers and gpus cannot be below 0, and cpus must be above")
        self.address, self.workers, self.cpus, self.gpus = address, workers, cpus, gpus

    def process(self, job: Job, pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Results as they come."""
        with self.joined():
            import ray

            self._require_room(ray)
            yield from _Pool(ray, self, job).results(pieces)

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Part of the cluster; whoever is so already stays so."""
        try:
            import ray
        except ImportError:
            raise MissingExtraError("the engine ray needs Ray", fix="pip install 'dstress[ray]'") from None
        if ray.is_initialized():
            yield
            return
        # Sockets need a short path on a local disk.
        with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
            self._connect(ray, folder)
            try:
                yield
            finally:
                ray.shutdown()

    def _require_room(self, ray: Any) -> None:
        """Ray waits for ever for a node that can hold a worker."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not any(node.get("CPU", 0) >= self.cpus and node.get("GPU", 0) >= self.gpus for node in nodes):
            most = {what: max((node.get(what, 0) for node in nodes), default=0) for what in ("CPU", "GPU")}
            raise DstressError(
                f"ray: no machine of the cluster has {self.cpus:g} processors and {self.gpus:g} GPUs for a worker; "
                f"the most is {most['CPU']:g} and {most['GPU']:g}",
                fix="ask for less with cpus and gpus, or add a machine to the cluster",
            )

    def _connect(self, ray: Any, folder: str) -> None:
        """Join the cluster, or start one of our own."""
        quiet = {"logging_level": "error", "log_to_driver": False}
        if not self.address:
            # `local` says it: without an address Ray would join any cluster that runs on this machine.
            ray.init(address="local", include_dashboard=False, _temp_dir=folder, **quiet)
            return
        try:
            # Ray itself would knock for minutes where nobody is.
            place = urlsplit(self.address if "://" in self.address else f"//{self.address}")
            if place.port:
                socket.create_connection((place.hostname or "", place.port), _KNOCK).close()
            ray.init(address=self.address, **quiet)
        except (OSError, ValueError) as error:
            raise DstressError(
                f"no Ray cluster answers at {self.address!r}: {error}",
                fix="start one with `ray start --head`, or leave address out for one of our own",
            ) from None


class _Pool:
    """Actors, what they are busy with, and what is left to do."""

    def __init__(self, ray: Any, engine: Ray, job: Job) -> None:
        self.ray, self.job = ray, job
        self.pickled = pack(job)
        self.actor = ray.remote(num_cpus=engine.cpus, num_gpus=engine.gpus)(_Actor)
        self.idle: deque[Any] = deque()
        self.joining: dict[Any, Any] = {}
        self.busy: dict[Any, tuple[Any, Task]] = {}
        self.again: deque[Task] = deque()
        self.most = engine.workers or max(1, int(ray.cluster_resources().get("CPU", 1) // engine.cpus))

    def _invite(self) -> None:
        """Ask the cluster for another worker. It gets work only once it has come: there may be no room for it."""
        actor = self.actor.remote(self.pickled)
        self.joining[actor.has_come.remote()] = actor

    def results(self, pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        pieces = iter(pieces)
        first = list(islice(pieces, self.most))
        for _ in first:  # a worker without a piece would only be in the way of somebody else's
            self._invite()
        tasks = (Task(number, piece, _CHANCES) for number, piece in enumerate(chain(first, pieces)))
        while self._assign_tasks(tasks):
            (first, *_), _rest = self.ray.wait([*self.busy, *self.joining], num_returns=1)
            if first in self.joining:
                self._welcome(first)
            else:
                yield from self._collect(first)

    def _assign_tasks(self, tasks: Iterator[Task]) -> bool:
        """Work for every idle worker, lost pieces first; whether anything is under way or left."""
        while self.idle:
            task = self.again.popleft() if self.again else next(tasks, None)
            if task is None:
                break
            actor = self.idle.popleft()
            self.busy[actor.run.remote(task.piece)] = (actor, task)
        if not self.busy and not self.again and (task := next(tasks, None)) is not None:
            self.again.append(task)  # there is work, and no worker has come yet
        return bool(self.busy or self.again)

    def _welcome(self, call: Any) -> None:
        actor = self.joining.pop(call)
        try:
            self.ray.get(call)
        except self.ray.exceptions.RayError:
            self._invite()
        else:
            self.idle.append(actor)

    def _collect(self, call: Any) -> Iterator[tuple[int, bytes]]:
        actor, task = self.busy.pop(call)
        try:
            result = self.ray.get(call)
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self.ray.exceptions.RayError as error:
            self._invite()
            yield from self._try_again(task, error)
        else:
            self.idle.append(actor)
            yield task.number, result

    def _try_again(self, task: Task, error: Exception) -> Iterator[tuple[int, bytes]]:
        """Put a lost piece back; at the last chance in parts, and then give it up."""
        parts = self.job.parts(task.piece)
        if task.chances > 1:
            self.again.append(task._replace(chances=task.chances - 1))
        elif len(parts) > 1:
            self.again.extend(Task(task.number, part, _CHANCES) for part in parts)
        else:
            result = self.job.lost(task.piece, "the worker process died")
            if result is None:
                raise DstressError(f"the cluster lost every worker on the same piece of work: {error}") from None
            yield task.number, result


class _Actor:
    """A worker of the cluster."""

    def __init__(self, job: bytes) -> None:
        self.pickled = job
        self.job: Job | None = None

    def has_come(self) -> bool:
        """Says that it has."""
        return True

    def run(self, piece: bytes) -> bytes:
        """Do a piece; the job is opened with the first, so that what is missing is told as what it is."""
        if self.job is None:
            job: Job = pickle.loads(self.pickled)
            job.open()
            self.job = job
        return self.job.run(piece)
