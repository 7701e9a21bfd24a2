"""`dstress list KIND`."""

from __future__ import annotations

import importlib
from typing import Any

import click

from dstress.cli.output import console, json_option, make_table, write_json
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
    components = getattr(importlib.import_module(module), name)
    if not isinstance(components, Registry):
        raise click.UsageError(f"{kind} cannot be listed")
    return components


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
    if kind == "suites":
        from dstress import suites

        summaries = {name: suites.load(name).about for name in suites.names()}
    else:
        components = registry(kind)
        summaries = {name: components.summary(name) for name in components}
    if json_file:
        write_json(summaries, json_file)
        return
    shown = make_table(kind.removesuffix("s"), "what it is")
    for name, summary in summaries.items():
        shown.add_row(name, summary)
    console().print(shown)
