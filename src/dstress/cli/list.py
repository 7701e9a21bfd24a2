"""`dstress list KIND`."""

from __future__ import annotations

import importlib
from typing import Any

import click

from dstress.cli.output import console, json_option, table, write_json
from dstress.registry import Registry

KINDS = {
    "formats": "dstress.predictions:formats",
    "metrics": "dstress.metrics:metrics",
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


def registry(kind: str) -> Registry[Any]:
    """The registry of a kind, imported now."""
    module, _, name = KINDS[kind].partition(":")
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, Registry):
        raise click.UsageError(f"{kind} cannot be listed")
    return found


@click.command("list")
@click.argument("kind", type=click.Choice([*KINDS, "suites", "corpora"]))
@json_option
def command(kind: str, json_file: str | None) -> None:
    """List the components of one KIND, built in and plugged in.

    \b
    Examples
      dstress list conventions
      dstress list formats --json
    """
    if kind == "corpora":
        from dstress.cli.corpora import list_corpora

        list_corpora(json_file)
        return
    summaries = _suites() if kind == "suites" else _summaries(registry(kind))
    if json_file:
        write_json(summaries, json_file)
        return
    shown = table(kind.removesuffix("s"), "what it is")
    for name, summary in summaries.items():
        shown.add_row(name, summary)
    console().print(shown)


def _summaries(found: Registry[Any]) -> dict[str, str]:
    return {name: found.summary(name) for name in found}


def _suites() -> dict[str, str]:
    from dstress import suites

    return {name: suites.load(name).about for name in suites.names()}
