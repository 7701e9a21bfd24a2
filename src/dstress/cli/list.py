"""`dstress list [KIND|NAME]`."""

from __future__ import annotations

from typing import Any

import click

from dstress.cli.names import KINDS, registry
from dstress.cli.output import console, json_option, make_table, print_table, write_json
from dstress.errors import DstressError, unknown
from dstress.reports.tables import Table

PAGES = {
    "formats": "docs/predictions.md#{name}",
    "metrics": "docs/metrics/README.md",
    "pair_metrics": "docs/metrics/consistency.md",
    "variant_metrics": "docs/metrics/sensitivity.md",
    "conventions": "docs/conventions.md#{name}",
    "importers": "docs/corpora.md",
    "stressors": "docs/stressors/{name}.md",
    "trackers": "docs/trackers/README.md",
    "engines": "docs/runs.md",
    "translators": "docs/stressors/translators.md",
    "generators": "docs/stressors/generators.md",
    "classifiers": "docs/stressors/generators.md",
}
"""Kind -> where its components are told about."""


@click.command("list")
@click.argument("what", metavar="[KIND|NAME]", required=False)
@json_option
def command(what: str | None, json_file: str | None) -> None:
    """List the components of one KIND, built in and plugged in, or show the one of a NAME with its arguments.

    \b
    Examples
      dstress list
      dstress list conventions
      dstress list typos
      dstress list formats --json
    """
    kinds = [*KINDS, "suites", "corpora"]
    if what is None:
        shown: Any = kinds
        table = Table(("kind",), [(kind,) for kind in kinds], "`dstress list KIND` shows what there is of it")
    elif what == "corpora":
        from dstress.cli.corpora import list_corpora

        list_corpora(json_file)
        return
    elif what == "suites":
        from dstress import suites

        shown = {name: suites.load(name).about for name in suites.names()}
        table = Table(("suite", "what it is"), list(shown.items()))
    elif what in KINDS:
        described = {name: _describe(what, name) for name in registry(what)}
        shown = {name: component["summary"] for name, component in described.items()}
        rows = [(name, ", ".join(found["arguments"]), found["summary"]) for name, found in described.items()]
        caption = "`dstress list NAME` shows one of them, with its arguments' defaults"
        table = Table((what.removesuffix("s"), "arguments", "what it is"), rows, caption)
    else:
        _show(what, json_file)
        return
    if json_file:
        write_json(shown, json_file)
    else:
        print_table(table)


def _describe(kind: str, name: str) -> dict[str, Any]:
    """What there is to know of a component; of a broken plug-in, why it is."""
    components = registry(kind)
    plugin = components.plugins.get(name)
    found = {
        "kind": kind.removesuffix("s"),
        "name": name,
        "from": plugin.dist.name if plugin and plugin.dist else "dstress",
        "docs": "" if plugin else PAGES[kind].format(name=name),
    }
    try:
        return found | {"summary": components.summary(name), "arguments": components.arguments(name)}
    except DstressError as error:
        return found | {"summary": f"broken: {error.problem}", "arguments": {}}


def _show(name: str, json_file: str | None) -> None:
    """Every component of a name: one may be there in several kinds."""
    found = [_describe(kind, name) for kind in KINDS if name in registry(kind)]
    if not found:
        known = [*KINDS, "suites", "corpora", *(known for kind in KINDS for known in registry(kind))]
        raise unknown("kind or component", name, known, fix="`dstress list` shows the kinds")
    if json_file:
        write_json(found, json_file)
        return
    out = console()
    for component in found:
        out.print(f"{component['kind']} {name}: {component['summary']}", markup=False)
        table = make_table("  argument", "default")
        for argument, default in component["arguments"].items():
            table.add_row(f"  {argument}", default or "must be given")
        if component["arguments"]:
            out.print(table, markup=False)
        where = f"see {component['docs']}" if component["docs"] else f"from the plug-in {component['from']}"
        out.print(f"  {where}\n", markup=False)
