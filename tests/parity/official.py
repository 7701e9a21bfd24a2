"""The official scripts' output, and how their names translate."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dstress import corpora
from dstress.predictions import read_predictions
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Columns, gather
from dstress.scoring.alignment.pairing import Pairing
from dstress.scoring.metrics import metrics
from dstress.scoring.scorecard import Scorecard
from dstress.scoring.unit_scores import unit_names

Json = Any
DSTC8 = {
    "joint_goal_accuracy": "jga",
    "joint_cat_accuracy": "cat-jga",
    "joint_noncat_accuracy": "noncat-jga",
    "average_goal_accuracy": "aga",
    "average_cat_accuracy": "cat-aga",
    "average_noncat_accuracy": "noncat-aga",
    "active_intent_accuracy": "active-intent-accuracy",
    **{f"requested_slots_{part}": f"requested-slots-{part}" for part in ("f1", "precision", "recall")},
    **{f"slot_tagging_{part}": f"slot-tagging-{part}" for part in ("f1", "precision", "recall")},
}
"""What the DSTC8 script calls each metric, and what we do."""


def load(path: Path) -> Json:
    return json.loads(path.read_text(encoding="utf-8"))


def groups(card: Scorecard) -> dict[str, Mapping[str, float | None]]:
    """A card with the slices service, domain and seen, under the names that the DSTC8 script gives its groups."""
    found: dict[str, Mapping[str, float | None]] = {
        "#ALL_SERVICES": {name: score.value for name, score in card.metrics.items()}
    }
    found |= {f"#{key.upper()}_SERVICES": row for key, row in card.by("seen").items()}
    return found | card.by("domain") | card.by("service")


def differences(official: Json, found: Mapping[str, Mapping[str, float | None]]) -> Iterator[str]:
    """Every number of the DSTC8 script that we do not have within 1e-9, and every one that only we have."""
    yield from (f"{key} is not in the script's output" for key in found.keys() - official.keys())
    for key, row in official.items():
        for name, expected in row.items():
            value = found[key][DSTC8[name]] if key in found else math.nan
            absent = expected == "NA" or math.isnan(expected)
            if (value is not None) if absent else (value is None or not abs(value - expected) <= 1e-9):
                yield f"{key} {name}: {expected} there, {value} here"


def aligned_columns(predictions: Path, gold: Path) -> Columns:
    corpus = corpora.load(str(gold))
    return gather(corpus.schema, Pairing(corpus, read_predictions(predictions, schema=corpus.schema), corpus.schema))


def per_frame(alignment: Alignment) -> dict[str, dict[str, float | None]]:
    """Every metric of every frame by itself, under the script's keys, whose turns count both speakers."""
    tables = {name: metrics.create(name) for name in DSTC8.values()}
    values = {name: metric.value(metric.statistics(alignment)) for name, metric in tables.items()}
    keys = []
    for name in unit_names(alignment, {}):
        dialogue, turn, service = name.rsplit("/", 2)
        keys.append(f"{dialogue}-{2 * int(turn):03d}-{service}")
    rows = zip(*(column.tolist() for column in values.values()), strict=True)
    plain = ([None if math.isnan(value) else value for value in row] for row in rows)
    return {key: dict(zip(values, row, strict=True)) for key, row in zip(keys, plain, strict=True)}
