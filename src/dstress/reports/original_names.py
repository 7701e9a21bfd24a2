"""Scores under the original's names: a schema variant renames services and slots, and a report compares them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from dstress.errors import CorpusError
from dstress.runs.folder import ORIGINAL, RunFolder, Scores
from dstress.schema_names import Names, map_names
from dstress.scoring.scorecard import Scorecard

V = TypeVar("V")


def scores_by_original_names(run: RunFolder) -> Scores:
    """A run's scores with every variant's services and slots by the names that the original has for them."""
    scores = run.scores
    schema = run.schema(ORIGINAL)
    for variant, card in scores.variants.items():
        if variant != ORIGINAL and (renamed := run.schema(variant)) != schema:
            try:
                scores.variants[variant] = _rename_back(card, map_names([(schema, renamed)]))
            except CorpusError:
                # Not a renaming: its services and slots stay apart.
                continue
    return scores


def _rename_back(card: Scorecard, names: Names) -> Scorecard:
    services = {after: before for before, after in names.services.items()}
    ids = [f"{service}-{name}" for service, known in names.slots.items() for name in known]
    slots = {names.slot_id(slot): slot for slot in ids}
    slices = dict(card.slices)
    for name, originals in (("service", services), ("slot", slots)):
        if name in slices:
            slices[name] = _rename_keys(slices[name], originals)
    return msgspec.structs.replace(card, slices=slices, slots=_rename_keys(card.slots, slots))


def _rename_keys(values: Mapping[str, V], originals: Mapping[str, str]) -> dict[str, V]:
    return {originals.get(name, name): value for name, value in values.items()}
