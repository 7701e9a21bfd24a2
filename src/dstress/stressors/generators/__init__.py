"""Utterance generators, for the stressors that let the user say something else."""

from __future__ import annotations

from dstress.registry import Registry
from dstress.stressors.generators.base import Candidate, Generator, Goal, Request

generators = Registry(
    "generator",
    Generator,
    {
        "learned": "dstress.stressors.generators.learned.generator:Learned",
        "llm": "dstress.stressors.generators.llm:Llm",
        "templates": "dstress.stressors.generators.templates.generator:Templates",
    },
)

__all__ = ["Candidate", "Generator", "Goal", "Request", "generators"]
