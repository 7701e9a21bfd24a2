"""The engines: where the pieces of a job are done."""

from __future__ import annotations

from dstress.engines.base import Engine, Job
from dstress.engines.local import Local
from dstress.registry import Registry

engines = Registry("engine", Engine, {"local": "dstress.engines.local:Local", "ray": "dstress.engines.ray:Ray"})

__all__ = ["Engine", "Job", "Local", "engines"]
