"""What a component's behaviour depends on, hashed: its module, the modules it imports that are its own, their tables.

Installed packages are known by their versions. A person's own modules, and a component's own package, are known by
their content, and so are the files that lie beside them and that they name, and the definitions of a notebook's cells.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sysconfig
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import NamedTuple

from dstress.interactive import definitions, is_typed_in

_HOUSE = "dstress"
_LARGEST_READ = 1 << 26
"""Bytes; a larger file, such as weights, is known by its size and its time."""


def hash_source(component: type) -> str:
    """A hash of all own source that a class stands on."""
    digest = hashlib.sha256(definitions(component).text.encode() if is_typed_in(component) else b"")
    for file in sorted(source_files(component)):
        digest.update(file.name.encode() + b"\0" + _content(file) + b"\0")
    return digest.hexdigest()[:16]


def source_files(component: type) -> set[Path]:
    """The modules that a class stands on, and the tables that they name or that lie beside them."""
    start = component.__module__
    own = start.partition(".")[0]
    waiting, seen, files = [start], {_HOUSE}, set[Path]()  # the house's own door opens onto every room
    if is_typed_in(component):
        waiting = definitions(component).modules
    while waiting:
        name = waiting.pop()
        path = None if name in seen else _file_of(name, component if name == start else None)
        seen.add(name)
        if path is None or not _is_own(name, path, own):
            continue
        module = _read_module(path, path.stat().st_mtime_ns, _package_of(name, path))
        files |= {path, *module.tables}
        waiting += module.imports
    return files


class _Module(NamedTuple):
    """What a module imports, by name, and the files beside it that it reads."""

    imports: tuple[str, ...]
    tables: tuple[Path, ...]


@lru_cache(maxsize=4096)
def _read_module(path: Path, changed: int, package: str) -> _Module:
    """`changed` is the time of the file: one that was edited is read again."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return _Module((), ())
    nodes = list(ast.walk(tree))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    named = (path.parent / text for text in texts if "." in text and len(text) < 200 and "\0" not in text)
    tables = {file for file in named if file.is_file()} | set(path.parent.glob("*.toml"))
    return _Module(tuple(dict.fromkeys(_imported(nodes, package))), tuple(tables))


def _imported(nodes: list[ast.AST], package: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            try:
                module = resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue
            yield from _with_parents(module)
            yield from (f"{module}.{alias.name}" for alias in node.names)  # which may be modules too


def _with_parents(name: str) -> Iterator[str]:
    """Importing `a.b` runs `a`, too."""
    parts = name.split(".")
    yield from (".".join(parts[: length + 1]) for length in range(len(parts)))


def _file_of(name: str, component: type | None) -> Path | None:
    """The source of a module; None where it has none, as in a notebook's cell."""
    try:
        if component is not None:
            found = inspect.getsourcefile(component)
        else:
            spec = find_spec(name)
            found = spec.origin if spec is not None and spec.has_location else None
    except (ImportError, TypeError, ValueError, AttributeError, OSError):
        return None
    return Path(found) if found and found.endswith(".py") and Path(found).is_file() else None


def _package_of(name: str, path: Path) -> str:
    return name if path.name == "__init__.py" else name.rpartition(".")[0]


def _is_own(name: str, path: Path, own: str) -> bool:
    """Whether a module belongs to the component's own package, or to nobody's."""
    top = name.partition(".")[0]
    if top == own:
        return True
    return top != _HOUSE and not any(path.is_relative_to(folder) for folder in _installed())


@cache
def _installed() -> frozenset[Path]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return frozenset(Path(path) for name, path in sysconfig.get_paths().items() if name in names)


def _content(file: Path) -> bytes:
    about = file.stat()
    return file.read_bytes() if about.st_size <= _LARGEST_READ else f"{about.st_size} {about.st_mtime_ns}".encode()
