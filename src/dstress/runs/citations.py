"""Whom a run should cite: dstress, the papers whose suite, stressors and metrics it used, and its corpus."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dstress._version import __version__
from dstress.corpora.catalogue import catalogue
from dstress.runs.folder import Manifest
from dstress.runs.suites.base import ORIGINAL
from dstress.spec import parse_composition
from dstress.text.tables import read_table

_OURS = "dstress"
_OWN_FIELDS = {"type", "suites", "stressors", "metrics"}


class Citation(msgspec.Struct, frozen=True):
    """An entry for a bibliography, and what asks for it."""

    key: str
    type: str
    fields: dict[str, str]
    used_for: tuple[str, ...] = ()

    def __str__(self) -> str:
        """BibTeX; what stands before an entry is a comment there."""
        reasons = f"% for {', '.join(self.used_for)}\n" if self.used_for else ""
        fields = "".join(f"  {name} = {{{value}}},\n" for name, value in self.fields.items())
        return f"{reasons}@{self.type}{{{self.key},\n{fields}}}\n"


def citations(runs: Iterable[Manifest] = ()) -> list[Citation]:
    """dstress and the papers that the runs stand on; without runs all of the papers."""
    used = [_components(run) for run in runs]
    entries = []
    for key, entry in read_table(__package__, "citations.toml").items():
        reasons = tuple(
            f"the {kind.removesuffix('s')} {name}"
            for kind in ("suites", "stressors", "metrics")
            for name in entry.get(kind, ())
            if any(name in components[kind] for components in used)
        )
        if key == _OURS or reasons or not used:
            fields = {name: str(value) for name, value in entry.items() if name not in _OWN_FIELDS}
            fields |= {"version": __version__} if key == _OURS else {"archiveprefix": "arXiv"}
            entries.append(Citation(key, entry["type"], fields, reasons))
    return entries


def corpus_citations(runs: Iterable[Manifest]) -> list[str]:
    """What the catalogue says about whom the runs' corpora come from, in words."""
    names = dict.fromkeys(run.corpus.partition(":")[0] for run in runs)
    return [f"{name}: {catalogue()[name].citation}" for name in names if name in catalogue()]


def _components(run: Manifest) -> dict[str, set[str]]:
    """The names of what a run used, by kind, without their arguments."""
    suite = run.suite
    metrics = [*(run.metrics or suite.metrics), *(column.metric for column in suite.table)]
    if suite.across:
        metrics += ["ss", "diff-rel"]  # which a group of variants brings with it
    stressors = [variant for variant in suite.variants if variant != ORIGINAL]
    return {"suites": {run.suite_name}, "stressors": _names(stressors), "metrics": _names(metrics)}


def _names(specs: Iterable[str]) -> set[str]:
    return {part.name for spec in specs for part in parse_composition(spec)}
