"""Doors of the package: modules that show names from elsewhere and import each when it is first used.

A door's names stand once, as the imports of its `.pyi` file: there type checkers and editors read them, and so does
`open_door`.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path


def open_door(module: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a module that shows the names of its stub."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {alias.name: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(str(homes[name])), name)
        setattr(sys.modules[module], name, value)  # the next look finds it there
        return value

    return get, lambda: sorted(homes), sorted(homes)
