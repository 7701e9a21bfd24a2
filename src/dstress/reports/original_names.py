"""Scores under the original's names: a schema variant renames services and slots, and a report compares them."""

from __future__ import annotations

import msgspec

from dstress.runs.folder import ORIGINAL, RunFolder, Scores
from dstress.schema_names import Names, names_back
from dstress.scoring.scorecard import Scorecard


def scores_by_original_names(run: RunFolder) -> Scores:
    """A run's scores with every variant's services and slots by the names that the original has for them."""
    scores = run.scores
    schema = run.schema(ORIGINAL)
    for variant, card in scores.variants.items():
        scores.variants[variant] = _rename(card, names_back(schema, run.schema(variant)))
    return scores


def _rename(card: Scorecard, names: Names) -> Scorecard:
    slices = dict(card.slices)
    if "service" in slices:
        slices["service"] = {names.services.get(name, name): part for name, part in slices["service"].items()}
    if "slot" in slices:
        slices["slot"] = {names.slot_id(slot): part for slot, part in slices["slot"].items()}
    return msgspec.structs.replace(
        card, slices=slices, slots={names.slot_id(slot): errors for slot, errors in card.slots.items()}
    )
