"""A Ray cluster: workers are actors, wherever the cluster has room; a lost one's pieces are done by another."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import socket
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dstress.engines.base import ERROR, READY, RESULT, Backlog, Engine, Job, Task, pack, read_reply, reply
from dstress.errors import DstressError, MissingExtraError

_CHANCES = 3
"""How often a piece is tried: a lost node is no fault of the piece."""


_FOLDER = "ray-dstress-"
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

    def process(self, job: Job, pieces: Iterable[Any]) -> Iterator[tuple[int, Any]]:
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
        end_orphans()
        # Sockets need a short path on a local disk.
        with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
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


def end_orphans() -> None:
    """End what clusters of ours left behind whose process was killed: Ray's agents live on, and so does the folder."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*-*"):
        owner = folder.name.removeprefix(_FOLDER).partition("-")[0]
        is_ours = owner.isdigit() and folder.stat().st_uid == os.getuid()
        if not is_ours or Path(f"/proc/{owner}").exists() or not Path("/proc/self").exists():
            continue
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended, or is somebody else's
                if str(folder).encode() in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


class _Pool:
    """Actors, and what they are busy with."""

    def __init__(self, ray: Any, engine: Ray, job: Job) -> None:
        self.ray, self.job = ray, job
        self.pickled = pack(job)
        self.actor = ray.remote(num_cpus=engine.cpus, num_gpus=engine.gpus)(_Actor)
        self.idle: deque[Any] = deque()
        self.joining: dict[Any, Any] = {}
        self.busy: dict[Any, tuple[Any, Task]] = {}
        self.most = engine.workers or max(1, int(ray.cluster_resources().get("CPU", 1) // engine.cpus))

    def _invite(self) -> None:
        """Ask the cluster for another worker. It gets work only once it has come: there may be no room for it."""
        actor = self.actor.remote(self.pickled)
        self.joining[actor.has_come.remote()] = actor

    def results(self, pieces: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        pieces = iter(pieces)
        first = list(islice(pieces, self.most))
        for _ in first:  # a worker without a piece would only be in the way of somebody else's
            self._invite()
        backlog = Backlog(self.job, chain(first, pieces), _CHANCES, patient=True)
        while (task := backlog.take()) or self.busy:
            if task and self.idle:
                actor = self.idle.popleft()
                self.busy[actor.run.remote(task.piece)] = (actor, task)
                continue
            if task:
                backlog.put_back(task)
            yield from self._wait(backlog)

    def _wait(self, backlog: Backlog) -> Iterator[tuple[int, Any]]:
        """Wait for a worker that comes, or is done with its piece."""
        (call, *_), _rest = self.ray.wait([*self.busy, *self.joining], num_returns=1)
        actor, task = self.busy.pop(call, None) or (self.joining.pop(call, None), None)
        try:
            content = self.ray.get(call)
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self.ray.exceptions.RayError:  # it is lost
            self._invite()
            if task:
                yield from backlog.lose(task, "the worker process died")
        else:
            _, result = read_reply(content)
            self.idle.append(actor)
            if task:
                yield task.number, result


class _Actor:
    """A worker of the cluster."""

    def __init__(self, job: bytes) -> None:
        self.pickled = job
        self.job: Job | None = None

    def has_come(self) -> bytes:
        """Says that it has."""
        return reply(READY)

    def run(self, piece: Any) -> bytes:
        """Do a piece; the job is opened with the first, so that what is missing is told as what it is."""
        try:
            if self.job is None:
                job: Job = pickle.loads(self.pickled)
                job.open()
                self.job = job
            return reply(RESULT, self.job.run(piece))
        except Exception as error:
            return reply(ERROR, error)
