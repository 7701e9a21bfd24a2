"""Utterance generators, for the stressors that let the user say something else."""

from __future__ import annotations

from dstress.registry import Registry
from dstress.stressors.generators.base import Asked, Candidate, Generator, Goal

generators = Registry(
    "generator",
    Generator,
    {
        "llm": "dstress.stressors.generators.llm:Llm",
        "seq2seq": "dstress.stressors.generators.seq2seq:Seq2Seq",
        "templates": "dstress.stressors.generators.templates:Templates",
    },
)

__all__ = ["Asked", "Candidate", "Generator", "Goal", "generators"]
