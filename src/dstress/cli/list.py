"""`dstress list [KIND|NAME]`."""

from __future__ import annotations

from typing import Any

from dstress.cli.names import KINDS, LISTED, names_of, registry
from dstress.cli.options import argument, verb
from dstress.cli.output import OutputFiles, console, json_option, make_table
from dstress.errors import DstressError, nearest, unknown
from dstress.reports.tables import Table


@verb("list")
def command(
    what: str | None = argument(type=LISTED, metavar="[KIND|NAME]", required=False), files: OutputFiles = json_option
) -> None:
    """List the components of one KIND, built in and plugged in, or show the one of a NAME with its arguments.

    \b
    Examples
      dstress list
      dstress list conventions
      dstress list typos
      dstress list formats --json
    """
    if what is None:
        kinds = {kind: about["about"] for kind, about in KINDS.items()}
        kinds["suites"] = "experiments in one file: stressors, metrics and the layout of the table"
        kinds["corpora"] = "datasets: the embedded one, imported ones and those that can be downloaded"
        kinds["released"] = "released test sets: stressed text that is the same for everybody"
        shown: Any = list(kinds)
        table = Table(("kind", "what it is"), list(kinds.items()), "`dstress list KIND` lists its components")
    elif what == "corpora":
        from dstress.cli.corpora import list_corpora

        list_corpora(files)
        return
    elif what == "suites":
        from dstress.runs import suites

        shown = {name: suites.load(name).about for name in suites.names()}
        table = Table(("suite", "what it is"), list(shown.items()))
    elif what == "released":
        from dstress.stressors.released import sets

        released = [sets.read_set(sets.path_of(name)) for name in sets.names()]
        fields = ("name", "corpus", "content", "stressor", "seed", "signature", "recipe", "licence", "reading", "about")
        shown = {each.name: {name: getattr(each, name) for name in fields} | {"turns": each.size} for each in released}
        caption = '`dstress stress CORPUS --with "released(NAME)"` applies one; --json shows recipes and readings'
        table = Table(
            ("released set", "corpus", "turns", "what it is"),
            [(each.name, each.corpus, f"{each.size:,}", each.about) for each in released],
            caption,
        )
    elif what in KINDS:
        described = {name: _describe(what, name) for name in registry(what)}
        shown = {name: component["summary"] for name, component in described.items()}
        rows = [(name, ", ".join(about["arguments"]), about["summary"]) for name, about in described.items()]
        caption = "`dstress list NAME` shows one of them, with its arguments' defaults"
        table = Table((what.removesuffix("s"), "arguments", "what it is"), rows, caption)
    else:
        _show(what, files)
        return
    files.show(shown, [table])


def _describe(kind: str, name: str) -> dict[str, Any]:
    """What there is to know of a component; of a broken plug-in, why it is."""
    components = registry(kind)
    plugin = components.plugins.get(name)
    about = {
        "kind": kind.removesuffix("s"),
        "name": name,
        "from": plugin.dist.name if plugin and plugin.dist else "dstress",
        "docs": "" if plugin else KINDS[kind]["page"].format(name=name),
    }
    try:
        return about | {"summary": components.summary(name), "arguments": components.arguments(name)}
    except DstressError as error:
        return about | {"summary": f"broken: {error.problem}", "arguments": {}}


def _show(name: str, files: OutputFiles) -> None:
    """Every component of a name: one may be there in several kinds."""
    components = [_describe(kind, name) for kind in KINDS if name in registry(kind)]
    if not components:
        names = list(names_of("listed"))
        near = nearest(name, names)
        fix = f"`dstress list {near[0]}`" if near else "`dstress list` shows the kinds"
        raise unknown("kind or component", name, names, fix=fix)
    if files.write(components):
        return
    out = console()
    for component in components:
        out.print(f"{component['kind']} {name}: {component['summary']}", markup=False)
        if component["arguments"]:
            rows = [(f"  {name}", default or "must be given") for name, default in component["arguments"].items()]
            out.print(make_table(("  argument", "default"), rows))
        where = f"see {component['docs']}" if component["docs"] else f"from the plug-in {component['from']}"
        out.print(f"  {where}\n", markup=False)
