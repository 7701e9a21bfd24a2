"""The rules of the house, as functions from sources to complaints. `test_house.py` holds the house to them.

Folders are layers, in the order in which `docs/architecture.md` lists them. Every import counts, also one inside a
function; a registry's `"module:Class"` texts do not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

MODULE_LINES, FUNCTION_LINES, PARAMETERS, README_LINES, TOP_MODULES = 500, 60, 6, 150, 9
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc"}
PRUNED = {"build", "dist", "__pycache__", "node_modules"}
LEFT_AT_THE_ROOT = {"runs", "demo"}
"""What commands write into the folder where they are called."""
# Written in two parts, so that this file passes its own rule.
MACHINE_PATH = re.compile(r"(?<![\w.~])/" + r"(?:work|home|farm|root)/")
INDEX_HOST = re.compile("py" + r"pi\.(?:org|python\.org)|python" + r"hosted\.org|--(?:extra-)?index" + "-url")

Complaints = Iterator[str]


class Module(NamedTuple):
    """One module: its dotted name, its text, its tree."""

    name: str
    text: str
    tree: ast.Module
    is_package: bool = False

    @property
    def place(self) -> str:
        """The room or top-level module it belongs to; `` for the package's own door."""
        return place_of(self.name)


def module(name: str, text: str, *, is_package: bool = False) -> Module:
    return Module(name, text, ast.parse(text), is_package)


def read_package(root: Path) -> list[Module]:
    """Every module under a package's folder."""
    found = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        found.append(
            module(".".join(parts[:-1] if is_package else parts), path.read_text("utf-8"), is_package=is_package)
        )
    return found


def place_of(name: str) -> str:
    return [*name.split("."), ""][1]


def read_layers(page: str) -> list[list[str]]:
    """The layers of the architecture page, from the first one down: the modules at the top, then a folder a line."""
    block = page.partition("## Layers")[2].split("```")[1].strip("\n")
    first, *folders = block.splitlines()
    return [first.split("  ")[0].split(), *([line.split()[0]] for line in folders)]


def imports(found: Module, known: set[str]) -> set[str]:
    """The internal modules that a module imports, anywhere in it."""
    names: set[str] = set()
    package = found.name if found.is_package else found.name.rpartition(".")[0]
    for node in ast.walk(found.tree):
        if isinstance(node, ast.Import):
            names |= {_module_in(alias.name, known) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names |= {_module_in(f"{base}.{alias.name}", known) for alias in node.names}
    return names - {"", found.name}


def _module_in(name: str, known: set[str]) -> str:
    """The longest known module that a dotted name starts with."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def arrows(modules: Iterable[Module], layers: Sequence[Sequence[str]]) -> Complaints:
    """Each module imports only from its own place and from layers above its own."""
    modules = list(modules)
    known = {found.name for found in modules}
    depth = {place: number for number, places in enumerate(layers) for place in places} | {"_version": -1}
    for found in modules:
        if found.name in ("dstress", "dstress.__main__"):
            continue
        if found.place not in depth:
            yield f"{found.name}: docs/architecture.md has no layer {found.place}"
            continue
        for target in sorted(imports(found, known)):
            place = place_of(target)
            if not place:
                yield f"{found.name} imports {target}: nothing inside goes through the package's own door"
            elif place != found.place and depth.get(place, 0) >= depth[found.place] > 0:
                yield f"{found.name} imports {target}: {place} is not above {found.place}"
            elif depth[found.place] == 0 < depth.get(place, 0):
                yield f"{found.name} imports {target}: what stands at the top imports no folder"


def top(modules: Iterable[Module]) -> Complaints:
    """Few modules stand at the top: a newcomer reads their names at a glance."""
    modules = list(modules)
    folders = {found.place for found in modules if found.is_package or found.name.count(".") > 1}
    loose = sorted({found.place for found in modules} - folders - {""})
    loose = [name for name in loose if not name.startswith("_")]
    if len(loose) > TOP_MODULES:
        yield f"{len(loose)} modules at the top; {TOP_MODULES} at most: {', '.join(loose)}"


def cycles(modules: Iterable[Module]) -> Complaints:
    modules = list(modules)
    known = {found.name for found in modules}
    try:
        TopologicalSorter({found.name: imports(found, known) for found in modules}).prepare()
    except CycleError as error:
        yield "import cycle: " + " <- ".join(error.args[1])


def sizes(modules: Iterable[Module]) -> Complaints:
    for found in modules:
        if (lines := found.text.count("\n")) > MODULE_LINES:
            yield f"{found.name} has {lines} lines; {MODULE_LINES} at most"
        for node in _functions(found):
            place = f"{found.name}:{node.lineno} {node.name}"
            if (lines := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES:
                yield f"{place} has {lines} lines; {FUNCTION_LINES} at most"
            names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if _has_options(node):
                continue
            if (count := len(names) - (names[:1] in (["self"], ["cls"]))) > PARAMETERS:
                yield f"{place} has {count} parameters; {PARAMETERS} at most"


def _has_options(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Constructors and commands have as many parameters as they have options."""
    return node.name == "__init__" or any("click" in ast.dump(decorator) for decorator in node.decorator_list)


def _functions(found: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(found.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def vague_names(modules: Iterable[Module]) -> Complaints:
    for found in modules:
        if vague := VAGUE & {part.strip("_") for part in found.name.split(".")}:
            yield f"{found.name}: {vague.pop()!r} says nothing about what is inside"


def asserts(modules: Iterable[Module]) -> Complaints:
    for found in modules:
        for node in ast.walk(found.tree):
            if isinstance(node, ast.Assert):
                yield f"{found.name}:{node.lineno} asserts; raise an error that says the fix"


def docstrings(modules: Iterable[Module]) -> Complaints:
    for found in modules:
        if not ast.get_docstring(found.tree):
            yield f"{found.name} has no docstring"
        for node in found.tree.body:
            named = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if named and not node.name.startswith("_") and not ast.get_docstring(node):
                yield f"{found.name}:{node.lineno} {node.name} has no docstring"


def read_texts(root: Path, pruned: Collection[str] = PRUNED | LEFT_AT_THE_ROOT) -> dict[str, str]:
    """Every text file that belongs to the project, without what tools and runs leave beside them."""
    texts = {}
    for path in sorted(root.iterdir()):
        hidden = path.name.startswith(".") and path.name not in {".ci", ".github", ".gitignore"}
        if hidden or path.name in pruned or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            texts |= {f"{path.name}/{name}": text for name, text in read_texts(path, PRUNED).items()}
        elif b"\0" not in (data := path.read_bytes()):
            texts[path.name] = data.decode("utf-8", errors="replace")
    return texts


def machine_paths(texts: dict[str, str]) -> Complaints:
    yield from _matches(texts, MACHINE_PATH, "a path of one machine")


def index_hosts(texts: dict[str, str]) -> Complaints:
    yield from _matches(texts, INDEX_HOST, "a package index; pip's own settings say where packages come from")


def _matches(texts: dict[str, str], pattern: re.Pattern[str], problem: str) -> Complaints:
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), start=1):
            if match := pattern.search(line):
                yield f"{name}:{number} {match.group()!r} is {problem}"


def readme(texts: dict[str, str]) -> Complaints:
    text = texts.get("README.md", "")
    if (lines := text.count("\n")) > README_LINES:
        yield f"README.md has {lines} lines; {README_LINES} at most"
    yield from (f"README.md does not show `{shown}`" for shown in ("make demo", "make test") if shown not in text)


MODULE_RULES = [cycles, top, sizes, vague_names, asserts, docstrings]
TEXT_RULES = [machine_paths, index_hosts, readme]
