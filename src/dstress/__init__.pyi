"""The public names and where they stand; `dstress/__init__.py` reads it."""

from dstress._version import __version__
from dstress.conventions.base import Convention
from dstress.corpora import Corpus, Importer, add, importers, load
from dstress.dialogue import Dialogue, Schema, State, Turn
from dstress.errors import DstressError
from dstress.pipeline.compare import compare
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.stress import stress
from dstress.predictions import Format, Prediction, formats, read_predictions, write_predictions
from dstress.scoring.metrics.base import Metric
from dstress.scoring.score import score
from dstress.scoring.scorecard import Scorecard
from dstress.spec import ComponentSpec, parse
from dstress.stressors.base import Rewriter, Stressor
from dstress.trackers.base import Tracker

__all__ = [
    "ComponentSpec",
    "Convention",
    "Corpus",
    "Dialogue",
    "DstressError",
    "Format",
    "Importer",
    "Metric",
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
