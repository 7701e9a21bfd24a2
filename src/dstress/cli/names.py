"""Names that a person may give on the command line: where they come from, and how a shell completes them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from dstress.registry import Registry

KINDS = {
    "formats": "dstress.predictions:formats",
    "metrics": "dstress.metrics:metrics",
    "pair_metrics": "dstress.metrics:pair_metrics",
    "variant_metrics": "dstress.metrics:variant_metrics",
    "conventions": "dstress.conventions:conventions",
    "importers": "dstress.corpora:importers",
    "stressors": "dstress.stressors:stressors",
    "trackers": "dstress.trackers:trackers",
    "engines": "dstress.engines:engines",
    "translators": "dstress.translators:translators",
    "generators": "dstress.generators:generators",
    "classifiers": "dstress.generators.classifiers:classifiers",
}
"""Kind -> its room's registry."""

_PARAMETERS = {
    "suite": "suites",
    "tracker": "trackers",
    "corpus": "corpora",
    "gold": "corpora",
    "train": "corpora",
    "dev": "corpora",
    "name": "corpora",
    "first": "corpora",
    "second": "corpora",
    "stressor": "stressors",
    "stressors": "stressors",
    "only": "stressors",
    "also": "stressors",
    "convention": "conventions",
    "several": "conventions",
    "metric": "metrics",
    "metrics": "metrics",
    "slices": "slices",
    "format_": "formats",
    "to": "formats",
    "engine": "engines",
    "what": "listed",
}
"""Parameter of any verb -> what it takes."""


def registry(kind: str) -> Registry[Any]:
    """The registry of a kind, imported now."""
    module, _, name = KINDS[kind].partition(":")
    components = getattr(importlib.import_module(module), name)
    if not isinstance(components, Registry):
        raise click.UsageError(f"{kind} cannot be listed")
    return components


def names_of(kind: str) -> Iterable[str]:
    """Every name of a kind; no component is imported for it."""
    if kind == "suites":
        from dstress import suites

        return suites.names()
    if kind == "corpora":
        from dstress.corpora import EMBEDDED, catalogue, reminder, store

        known: dict[str, Iterable[str]] = {**dict.fromkeys(catalogue(), ()), EMBEDDED: reminder.SIZES}
        known |= {name: entry.splits for name in store.stored_names() if (entry := store.read_manifest(name))}
        return [*known, *(f"{name}:{split}" for name, splits in known.items() for split in splits)]
    if kind == "slices":
        from dstress.scoring.slices import SLICES

        return SLICES
    if kind == "listed":
        return [*KINDS, "suites", "corpora", *(name for known in KINDS for name in registry(known))]
    return registry(kind)


def attach_completion(command: click.Command) -> None:
    """Let a shell complete the names that a verb's parameters take, the last of a list or a composition too."""
    for parameter in command.params:
        if kind := _PARAMETERS.get(parameter.name or ""):
            parameter.shell_complete = _Completer(kind)  # type: ignore[method-assign]
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            attach_completion(inner)


class _Completer:
    """Completes a name of one kind; where none fits, a file: most names may be paths as well."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        before, last = re.fullmatch(r"((?:.*[,+])?)(.*)", incomplete, re.DOTALL).groups()  # type: ignore[union-attr]
        fitting = sorted(name for name in names_of(self.kind) if name.startswith(last))
        # A colon parts corpus and split; before it is typed, the splits would only be in the way.
        shown = [name for name in fitting if ":" in last or ":" not in name]
        return [CompletionItem(before + name) for name in shown] or [CompletionItem(incomplete, type="file")]
