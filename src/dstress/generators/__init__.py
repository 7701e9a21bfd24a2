"""Utterance generators, for the stressors that let the user say something else."""

from __future__ import annotations

from dstress.generators.base import Candidate, Generator, Goal, Request
from dstress.registry import Registry

generators = Registry(
    "generator",
    Generator,
    {
        "llm": "dstress.generators.llm.generator:Llm",
        "seq2seq": "dstress.generators.network.generator:Seq2Seq",
        "templates": "dstress.generators.templates.generator:Templates",
    },
)

__all__ = ["Candidate", "Generator", "Goal", "Request", "generators"]
