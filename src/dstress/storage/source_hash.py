"""What a component's behaviour depends on, hashed: its module, the modules it imports that are its own, their tables.

Installed packages are known by their versions. A person's own modules, and a component's own package, are known by
their content, and so are the files that lie beside them and that they name, and the definitions of a notebook's cells.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sysconfig
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec, resolve_name
from itertools import accumulate
from pathlib import Path

from dstress.interactive import definitions, is_typed_in

_HOUSE = "dstress"
_LARGEST_READ = 1 << 26
"""Bytes; a larger file, such as weights, is known by its size and its time."""
_INSTALLED = {Path(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")}


def hash_source(component: type) -> str:
    """A hash of all own source that a class stands on."""
    digest = hashlib.sha256(definitions(component).text.encode() if is_typed_in(component) else b"")
    for file in sorted(source_files(component)):
        about = file.stat()
        content = f"{about.st_size} {about.st_mtime_ns}".encode()
        if about.st_size <= _LARGEST_READ:
            content = file.read_bytes()
        digest.update(file.name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()[:16]


def source_files(component: type) -> set[Path]:
    """The modules that a class stands on, and the tables that they name or that lie beside them."""
    start = component.__module__
    waiting, seen, files = [start], {_HOUSE}, set[Path]()  # `import dstress` itself reaches every room
    if is_typed_in(component):
        waiting = definitions(component).modules
    while waiting:
        name = waiting.pop()
        path = None if name in seen else _file_of(name, component if name == start else None)
        seen.add(name)
        if path is None:
            continue
        # Only the component's own package, and what nobody installed, is known by its content.
        top = name.partition(".")[0]
        is_installed = top == _HOUSE or any(path.is_relative_to(folder) for folder in _INSTALLED)
        if is_installed and top != start.partition(".")[0]:
            continue
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        imports, tables = _read_module(path, path.stat().st_mtime_ns, package)
        files |= {path, *tables}
        waiting += imports
    return files


@lru_cache(maxsize=4096)
def _read_module(path: Path, changed: int, package: str) -> tuple[list[str], set[Path]]:
    """The names of what a module imports, and the files beside it that it reads.

    `changed` is the time of the file: one that was edited is read again.
    """
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError):
        return [], set()
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    named = (path.parent / text for text in texts if "." in text and len(text) < 200 and "\0" not in text)
    tables = {file for file in named if file.is_file()} | set(path.parent.glob("*.toml"))
    imports: list[str] = []
    for node in nodes:
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            with suppress(ImportError):
                modules = [resolve_name("." * node.level + (node.module or ""), package)]
                imports += [f"{modules[0]}.{alias.name}" for alias in node.names]  # which may be modules too
        for module in modules:  # importing `a.b` runs `a`, too
            imports += accumulate(module.split("."), "{}.{}".format)
    return list(dict.fromkeys(imports)), tables


def _file_of(name: str, component: type | None) -> Path | None:
    """The source of a module; None where it has none, as in a notebook's cell."""
    try:
        if component is not None:
            file = inspect.getsourcefile(component)
        else:
            spec = find_spec(name)
            file = spec.origin if spec is not None and spec.has_location else None
    except (ImportError, TypeError, ValueError, AttributeError, OSError):
        return None
    return Path(file) if file and file.endswith(".py") and Path(file).is_file() else None
