"""By which names a report shows scores: variants by their stressor, or where its arguments matter by the suite's table
(a long spec fits beside no plot); services and slots by the original's, since a schema variant renames them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

import msgspec

from dstress.runs.folder import RunFolder, Scores
from dstress.runs.suites.base import ORIGINAL, Suite
from dstress.schema_names import names_back


def variant_names(suite: Suite) -> dict[str, str]:
    """A name for each variant: its stressor, if it has no arguments and no other variant has it; else its task, or what
    its first column says beside the metric; else its spec.

    So `paraphrase` has this name on every page, and `PI` is left to the table. A column of a slice speaks of a part of
    the variant, and a name that two variants would share tells neither, nor does one that is the spec of another.
    """
    names: dict[str, str] = {}
    stressors = Counter(variant.partition("(")[0] for variant in suite.variants)
    for variant in suite.variants:
        columns = [column for column in suite.table if column.variant == variant and column.slice is None]
        names[variant] = variant
        for column in columns if stressors[variant] != 1 else ():  # one without arguments, of its own
            # `NED always wrong` of the metric `always-wrong` is `NED`.
            metric = "[- ]".join(map(re.escape, column.metric.split("-")))
            without = re.sub(rf"(?<!\w){metric}(?!\w)", "", column.column, flags=re.IGNORECASE).strip(" ,")
            if name := column.task or without:
                names[variant] = name
                break
    shared = Counter(names.values())
    return {
        variant: variant if shared[name] > 1 or name in names else name  # each is a spec or no spec, so none collide
        for variant, name in names.items()
    }


def rename_variants(scores: Scores, names: Mapping[str, str]) -> Scores:
    """The scores with each variant by its name, for whoever writes about them."""

    by_variant = ("variants", "paired", "paired_slices", "drops", "failed", "repeats")
    renamed = {
        field: {names.get(variant, variant): value for variant, value in getattr(scores, field).items()}
        for field in by_variant
    }
    return msgspec.structs.replace(scores, **renamed)


def scores_by_original_names(run: RunFolder) -> Scores:
    """A run's scores with every variant's services and slots by the names that the original has for them."""
    scores = run.scores
    schema = run.variant(ORIGINAL).schema
    for variant, card in scores.variants.items():
        names = names_back(schema, run.variant(variant).schema)
        slices = dict(card.slices)
        if "service" in slices:
            slices["service"] = {names.services.get(name, name): part for name, part in slices["service"].items()}
        if "slot" in slices:
            slices["slot"] = {names.slot_id(slot): part for slot, part in slices["slot"].items()}
        slots = {names.slot_id(slot): errors for slot, errors in card.slots.items()}
        scores.variants[variant] = msgspec.structs.replace(card, slices=slices, slots=slots)
    return scores
