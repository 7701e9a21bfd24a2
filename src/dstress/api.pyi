"""The names of `dstress.api` and where they stand; `dstress/api.py` reads it."""

from dstress.conventions import Convention, conventions
from dstress.corpora import Corpus, Importer, importers, load
from dstress.corpora.base import Split
from dstress.corpora.checks import derive_schema
from dstress.corpora.split_names import split_of_file
from dstress.dialogue import (
    Call,
    Dialogue,
    Frame,
    GoldCall,
    Schema,
    Service,
    Slot,
    Span,
    State,
    Tool,
    Turn,
    first_forms,
    service_of,
)
from dstress.engines import Engine, engines
from dstress.errors import DstressError, SpecError
from dstress.predictions import Format, Prediction, formats
from dstress.resources import Resources
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics import Metric, metrics
from dstress.scoring.metrics.base import over_units, ratio
from dstress.stressors import stressors
from dstress.stressors.base import (
    DialogueStressor,
    Rewrite,
    Rewriter,
    SchemaStressor,
    Stressor,
    TurnStressor,
    Unchanged,
)
from dstress.stressors.generators import Generator, generators
from dstress.stressors.generators.base import Candidate, Goal, Request
from dstress.stressors.translators import Translation, Translator, translators
from dstress.text.slot_names import SlotNames
from dstress.trackers import Context, Tracker, create, trackers
from dstress.trackers.base import Answer, Exchange, Failed

__all__ = [
    "Alignment",
    "Answer",
    "Call",
    "Candidate",
    "Context",
    "Convention",
    "Corpus",
    "Dialogue",
    "DialogueStressor",
    "DstressError",
    "Engine",
    "Exchange",
    "Failed",
    "Format",
    "Frame",
    "Generator",
    "Goal",
    "GoldCall",
    "Importer",
    "Metric",
    "Prediction",
    "Request",
    "Resources",
    "Rewrite",
    "Rewriter",
    "Schema",
    "SchemaStressor",
    "Service",
    "Slot",
    "SlotNames",
    "Span",
    "SpecError",
    "Split",
    "State",
    "Stressor",
    "Tool",
    "Tracker",
    "Translation",
    "Translator",
    "Turn",
    "TurnStressor",
    "Unchanged",
    "conventions",
    "create",
    "derive_schema",
    "engines",
    "first_forms",
    "formats",
    "generators",
    "importers",
    "load",
    "metrics",
    "over_units",
    "ratio",
    "service_of",
    "split_of_file",
    "stressors",
    "trackers",
    "translators",
]
