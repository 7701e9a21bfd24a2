"""What a suite's table calls its variants: `PI` is `paraphrase`, and a long spec fits beside a plot."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from dstress.runs.folder import Scores
from dstress.suites.base import ORIGINAL, Column, Suite

T = TypeVar("T")


def variant_names(suite: Suite) -> dict[str, str]:
    """A name for each variant: its task, or what its first column says beside the metric; else its spec.

    A column of a slice speaks of a part of the variant, and a name that two variants would share tells neither, nor
    does one that is the spec of another.
    """
    names = {}
    for variant in suite.variants:
        columns = [column for column in suite.table if column.variant == variant and column.slice is None]
        called = (column.task or _without_metric(column) for column in columns)
        names[variant] = ORIGINAL if variant == ORIGINAL else next(filter(None, called), variant)
    shared = Counter(names.values())
    return {
        variant: variant if shared[name] > 1 or name in names else name  # each is a spec or no spec, so none collide
        for variant, name in names.items()
    }


def _without_metric(column: Column) -> str:
    """`NED always wrong` of the metric `always-wrong` is `NED`."""
    words = "[- ]".join(map(re.escape, column.metric.split("-")))
    return re.sub(rf"(?<!\w){words}(?!\w)", "", column.column, flags=re.IGNORECASE).strip(" ,")


def rename_variants(scores: Scores, names: Mapping[str, str]) -> Scores:
    """The scores with each variant by its name, for whoever writes about them."""

    def renamed(by_variant: Mapping[str, T]) -> dict[str, T]:
        return {names.get(variant, variant): value for variant, value in by_variant.items()}

    return msgspec.structs.replace(
        scores,
        variants=renamed(scores.variants),
        paired=renamed(scores.paired),
        paired_slices=renamed(scores.paired_slices),
        drops=renamed(scores.drops),
        failed=renamed(scores.failed),
        repeats=renamed(scores.repeats),
    )
