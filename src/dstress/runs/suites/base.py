"""A suite: which stressors, which metrics, and the table that sums them up. A paper's benchmark is one TOML file.

title = "CheckDST"
about = "one line that says what it measures"
convention = "exact"                  # left out: `exact`
metrics = ["jga", "coref-jga"]        # of every variant
slices = ["service", "slot"]
stressors = ["paraphrase", "disfluency", "entities"]

[terms]                               # abbreviations of the table, spelled out beside it
PI = "paraphrase invariance"

[released]                            # sets that take a stressor's place on the very corpus that they were made for
paraphrase = ["mwz21-paraphrase-1"]

[[across]]                            # metrics over several variants: jga-orig, jga-v1-5, ss(jga), diff-rel
name = "variants"
stressors = ["schema_variant(version=v1)", "schema_variant(version=v2)"]
metric = "jga"

[[table]]                             # the final table, a column each
column = "PI cJGA"
variant = "paraphrase"                # `original`, a stressor, or a name under `across`
metric = "cjga"                       # of the variant; cjga and consistent-jga are of its changed pairs
slice = ["stress", "unseen"]          # of any column; left out: over everything
task = "Para."                        # the row of a second table, with a column for each measure: RADDLE's table 2
aspect = "Language"                   # what several tasks have in common, for the coarse plot; left out: the task

[[average]]                           # the mean of all columns that have a task
column = "Avg.c"
without = ["Standard"]                # but of these tasks
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from dstress.errors import DstressError, SpecError, unknown
from dstress.text.tables import read_table, read_table_file

ORIGINAL = "original"


class Column(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One column of the final table: a metric of a variant, or of one key of a slice of it."""

    column: str
    variant: str
    metric: str
    slice: tuple[str, str] | None = None
    task: str = ""
    aspect: str = ""

    @property
    def name(self) -> str:
        """`JGA` of the task `Para.` is `Para. JGA`."""
        return f"{self.task} {self.column}".strip()


class Average(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The mean of the table's columns that have a task, in points, but for some tasks."""

    column: str
    without: tuple[str, ...] = ()


class Across(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Variants that are looked at together, as SGD-X does with its five."""

    name: str
    stressors: tuple[str, ...]
    metric: str = "jga"


class Suite(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a run does to its corpus and measures of its tracker."""

    title: str
    about: str = ""
    convention: str = ""
    metrics: tuple[str, ...] = ("jga",)
    slices: tuple[str, ...] = ("service", "slot")
    stressors: tuple[str, ...] = ()
    across: tuple[Across, ...] = ()
    table: tuple[Column, ...] = ()
    average: tuple[Average, ...] = ()
    released: dict[str, tuple[str, ...]] = {}
    terms: dict[str, str] = {}

    def spell_out(self, *columns: str) -> dict[str, str]:
        """The abbreviations that stand in columns of the table, and what they mean."""
        words = {word for column in columns for word in column.replace(",", "").split()}
        return {term: meaning for term, meaning in self.terms.items() if term in words}

    @property
    def variants(self) -> tuple[str, ...]:
        """The original, then every stressor that the suite names anywhere, once."""
        named = [*self.stressors, *(spec for group in self.across for spec in group.stressors)]
        return (ORIGINAL, *dict.fromkeys(named))


def load(name: str) -> Suite:
    """A suite by its name, or from a TOML file of your own."""
    path = Path(name)
    if path.suffix == ".toml":
        if not path.is_file():
            raise SpecError(f"there is no suite file {name}")
        return _check(read_table_file(path, "suite"), name)
    if name not in (suites := list(names())):
        raise unknown(
            "suite", name, suites, fix="or give the path of a TOML file; docs/suites.md says how to write one"
        )
    return _check(read_table(__package__, f"{name}.toml"), f"{name}.toml")


def names() -> Iterator[str]:
    """The suites that come with dstress."""
    parts = (part.name for part in files(__package__).iterdir())
    return (name.removesuffix(".toml") for name in sorted(parts) if name.endswith(".toml"))


def _check(table: dict[str, Any], where: str) -> Suite:
    """The suite that a table describes; its columns must name variants that it has."""
    try:
        suite = msgspec.convert(table, Suite)
    except msgspec.ValidationError as error:
        raise SpecError(str(error), where=where, fix="docs/suites.md shows what a suite may say") from None
    groups = [group.name for group in suite.across]
    for spec in suite.released:
        if spec not in suite.variants[1:]:
            raise unknown("stressor", spec, suite.variants[1:], where=f"{where}, [released]")
    for column in suite.table:
        if column.variant not in (*suite.variants, *groups):
            raise unknown("variant", column.variant, [*suite.variants, *groups], where=f"{where}, [[table]]")
    tasks = [column.task for column in suite.table if column.task]
    for name in (task for average in suite.average for task in average.without):
        if name not in tasks:
            raise unknown("task", name, tasks, where=f"{where}, [[average]]", fix="columns under [[table]] name tasks")
    if len({*suite.variants, *groups}) < len(suite.variants) + len(groups):
        raise DstressError("a group under [[across]] has the name of another, or of a variant", where=where)
    return suite
