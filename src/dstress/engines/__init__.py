"""The engines: where the pieces of a job are done."""

from __future__ import annotations

from dstress.engines.base import Engine, Job
from dstress.engines.local import Local

__all__ = ["Engine", "Job", "Local"]
