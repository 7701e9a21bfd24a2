"""Reference pages made from the code: names by mkdocstrings, commands by their help, components by their registries."""

from __future__ import annotations

import re

import click

import dstress
from dstress.cli.main import VERBS, cli
from dstress.cli.names import KINDS, registry
from dstress.reports.tables import escape_markdown

CONTRACTS = {
    "dialogue": "Dialogues, states and schemas",
    "corpora.base": "Corpus importers",
    "predictions.base": "Prediction formats",
    "conventions.base": "Conventions",
    "stressors.base": "Stressors",
    "trackers.base": "Trackers",
    "scoring.metrics.base": "Metrics",
    "scoring.alignment.cells": "Alignment",
    "scoring.scorecard": "Scorecards",
    "engines.base": "Engines",
    "stressors.translators.base": "Translators",
    "stressors.generators.base": "Generators",
    "runs.folder": "Run folders",
    "resources": "Resources",
    "errors": "Errors",
}
"""Module -> the title of its page: what a person who extends dstress meets."""
_WITHOUT_HEADING = """\
    options:
      show_root_heading: false
      show_root_toc_entry: false
      heading_level: 2
"""


def reference_pages() -> dict[str, str]:
    """The pages by their names."""
    pages = {"python": _public_names(), "command-line": _commands(), "components": _components()}
    for module, title in CONTRACTS.items():
        name = module.removesuffix(".base").replace(".", "-")
        pages[name] = f"# {title}\n\n`dstress.{module}`\n\n::: dstress.{module}\n{_WITHOUT_HEADING}"
    return pages


def _public_names() -> str:
    """`import dstress`: the names of its docstring, in its order and under its headings."""
    page = "# The package\n\nWhat `import dstress` offers.\n"
    for line in (dstress.__doc__ or "").splitlines():
        if match := re.match(r"    (\w+) ", line):
            page += f"\n::: dstress.{match[1]}\n"
        elif line.startswith("What "):
            page += f"\n## {line}\n"
    return page


def _commands() -> str:
    """Every verb's help, as it is printed."""
    page = "# Command line\n\nExit codes: 0 fine, 1 a gate failed, 2 the input or the call is wrong.\n"
    context = click.Context(cli, info_name="dstress")
    for verb in VERBS:
        command = cli.get_command(context, verb)
        page += _help(command, context, f"dstress {verb}", 2) if command else ""
    return page


def _help(command: click.Command, parent: click.Context, title: str, level: int) -> str:
    context = click.Context(command, info_name=command.name, parent=parent, max_content_width=90, terminal_width=90)
    shown = f"\n{'#' * level} {title}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            shown += _help(inner, context, f"{title} {name}", level + 1) if inner else ""
    return shown


def _components() -> str:
    """Every component that comes with dstress, by kind, with its page."""
    page = "# Components\n\nAs `dstress list KIND` shows them; `dstress list NAME` shows one with its defaults.\n"
    for kind in KINDS:
        known = registry(kind)
        page += f"\n## {kind.replace('_', ' ').capitalize()}\n\n| name | arguments | what it is |\n|---|---|---|\n"
        for name in known:
            link = KINDS[kind]["page"].format(name=name).removeprefix("docs/")
            arguments, summary = ", ".join(known.arguments(name)), _inline(known.summary(name))
            page += f"| [{name}](../{link}) | {arguments} | {summary} |\n"
    return page


def _inline(summary: str) -> str:
    """A docstring's line as Markdown: what is in backticks is code, all else is text."""
    parts = re.split("(`[^`]*`)", summary)
    # The generator does not know an escaped bracket, and takes <sos_b> for a tag.
    parts[::2] = [escape_markdown(part).replace(r"\<", "&lt;") for part in parts[::2]]
    return "".join(parts)
