"""Names that a person may give on the command line: where they come from, and how a shell completes them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from dstress.registry import Registry
from dstress.text.tables import read_table

KINDS: dict[str, dict[str, str]] = read_table(__package__, "kinds.toml")
"""Kinds of components by name: `registry`, the `page` that documents them, and what they are (`about`)."""


def registry(kind: str) -> Registry[Any]:
    """The registry of a kind, imported now."""
    module, _, name = KINDS[kind]["registry"].partition(":")
    components = getattr(importlib.import_module(module), name)
    if not isinstance(components, Registry):
        raise click.UsageError(f"{kind} cannot be listed")
    return components


def names_of(kind: str) -> Iterable[str]:
    """Every name of a kind; no component is imported for it."""
    if kind == "suites":
        from dstress.runs import suites

        return suites.names()
    if kind == "corpora":
        from dstress.corpora import EMBEDDED, catalogue, reminder, store

        splits_of: dict[str, Iterable[str]] = {**dict.fromkeys(catalogue(), ()), EMBEDDED: reminder.SIZES}
        splits_of |= {name: entry.splits for name in store.stored_names() if (entry := store.read_manifest(name))}
        return [*splits_of, *(f"{name}:{split}" for name, splits in splits_of.items() for split in splits)]
    if kind == "slices":
        from dstress.scoring.slices import SLICES

        return SLICES
    if kind == "listed":
        return [
            *KINDS,
            "suites",
            "corpora",
            "released",
            *(name for component_kind in KINDS for name in registry(component_kind)),
        ]
    return registry(kind)


class Named(StringParamType):
    """A text with a name of one kind in it, which a shell completes: the last of a list or a composition.

    Where no name fits, a file is offered: most names may be paths as well.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete what is typed after the last comma or plus."""
        start = max(incomplete.rfind(","), incomplete.rfind("+")) + 1
        before, last = incomplete[:start], incomplete[start:]
        fitting = sorted(name for name in names_of(self.kind) if name.startswith(last))
        # A colon separates corpus and split; before it is typed, the splits would only be in the way.
        shown = [name for name in fitting if ":" in last or ":" not in name]
        return [CompletionItem(before + name) for name in shown] or [CompletionItem(incomplete, type="file")]


CORPUS, SUITE, TRACKER, STRESSOR = Named("corpora"), Named("suites"), Named("trackers"), Named("stressors")
CONVENTION, METRIC, SLICE, FORMAT = Named("conventions"), Named("metrics"), Named("slices"), Named("formats")
ENGINE, LISTED = Named("engines"), Named("listed")
"""What options and arguments take."""
