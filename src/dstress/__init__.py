"""Stress tests for dialogue state trackers.

This is the door. Names are imported when they are first used, so that `import dstress` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from dstress._version import __version__

if TYPE_CHECKING:
    from dstress.corpora import Corpus, add, importers, load
    from dstress.dialogue import Dialogue, Schema, State, Turn
    from dstress.errors import DstressError
    from dstress.pipeline.compare import compare
    from dstress.pipeline.evaluate import evaluate
    from dstress.pipeline.stress import stress
    from dstress.predictions import Prediction, formats, read_predictions, write_predictions
    from dstress.scoring.score import score
    from dstress.scoring.scorecard import Scorecard
    from dstress.spec import ComponentSpec, parse
    from dstress.stressors.base import Rewriter, Stressor
    from dstress.trackers.base import Tracker

_ROOMS = {
    "ComponentSpec": "spec",
    "Corpus": "corpora",
    "Dialogue": "dialogue",
    "DstressError": "errors",
    "Prediction": "predictions",
    "Rewriter": "stressors.base",
    "Scorecard": "scoring.scorecard",
    "Schema": "dialogue",
    "State": "dialogue",
    "Stressor": "stressors.base",
    "Tracker": "trackers.base",
    "Turn": "dialogue",
    "add": "corpora",
    "compare": "pipeline.compare",
    "evaluate": "pipeline.evaluate",
    "formats": "predictions",
    "importers": "corpora",
    "load": "corpora",
    "parse": "spec",
    "read_predictions": "predictions",
    "score": "scoring.score",
    "stress": "pipeline.stress",
    "write_predictions": "predictions",
}


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module 'dstress' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dstress.{_ROOMS[name]}"), name)


__all__ = [
    "ComponentSpec",
    "Corpus",
    "Dialogue",
    "DstressError",
    "Prediction",
    "Rewriter",
    "Schema",
    "Scorecard",
    "State",
    "Stressor",
    "Tracker",
    "Turn",
    "__version__",
    "add",
    "compare",
    "evaluate",
    "formats",
    "importers",
    "load",
    "parse",
    "read_predictions",
    "score",
    "stress",
    "write_predictions",
]
