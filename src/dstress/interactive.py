"""Classes that no file holds, since somebody typed them into a notebook's cell or an interactive session.

What such a class depends on is its definition, as the cell has it, and the definitions, plain values and modules that
it names. IPython keeps the text of cells; where nobody does, the compiled code stands for it.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import msgspec

_UNENCODABLE = (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError)


class Definitions(NamedTuple):
    """The text of all that was typed in, and the names of the modules that it uses."""

    text: str
    modules: list[str]


def is_typed_in(thing: type | FunctionType) -> bool:
    """Whether a class or a function is of a cell, and not of a file."""
    module = sys.modules.get(thing.__module__)
    if not getattr(module, "__file__", None):
        # Code that `exec` ran in a bare namespace calls itself one of Python's own.
        brought_along = getattr(module, thing.__name__, None) is thing
        return thing.__module__ not in sys.builtin_module_names or not brought_along
    files = {code.co_filename for code in _codes(thing)}
    return bool(files) and not any(Path(file).is_file() for file in files)


def definitions(component: type) -> Definitions:
    """What a class that was typed in depends on; values that are no plain data are left out."""
    texts, modules, seen = [], list[str](), set[int]()
    waiting: list[type | FunctionType] = [component]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if not is_typed_in(thing):
            modules.append(thing.__module__)
            continue
        text, names = _definition(thing)
        texts.append(text)
        waiting += thing.__bases__ if isinstance(thing, type) else ()
        module = sys.modules.get(thing.__module__)
        space: dict[str, Any] = thing.__globals__ if isinstance(thing, FunctionType) else vars(module) if module else {}
        for name in sorted(names & space.keys()):
            value = space[name]
            if isinstance(value, type | FunctionType):
                waiting.append(value)
            elif isinstance(value, ModuleType):
                modules.append(value.__name__)
            else:
                texts.append(f"{name} = {encode_plain(value)}")
                modules.append(type(value).__module__)
    return Definitions("\n".join(texts), modules)


def encode_plain(value: object) -> str:
    """Plain data as text, the same in every process; empty for anything else, such as a model."""
    with suppress(*_UNENCODABLE):
        return msgspec.json.encode(value, order="deterministic").decode()
    return ""


def _definition(thing: type | FunctionType) -> tuple[str, set[str]]:
    """The text of a definition without its comments, and every name in it."""
    name = thing.__qualname__.partition(".")[0]
    for code in _codes(thing):
        with suppress(SyntaxError):
            for node in ast.parse("".join(linecache.getlines(code.co_filename))).body:
                if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    continue
                if node.name == name and code.co_firstlineno <= (node.end_lineno or 0):
                    return ast.unparse(node), {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    codes = list(_codes(thing))
    plain = {key: encode_plain(value) for key, value in vars(thing).items() if not key.startswith("__")}
    names = {name for code in codes for part in _nested(code) for name in part.co_names}
    return f"{name} {plain} {[_describe(code) for code in codes]}", names


def _codes(thing: type | FunctionType) -> Iterator[CodeType]:
    """The compiled functions of a class, or of a function."""
    for member in vars(thing).values() if isinstance(thing, type) else (thing,):
        function = inspect.unwrap(getattr(member, "__func__", None) or getattr(member, "fget", None) or member)
        if isinstance(function, FunctionType):
            yield function.__code__


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _describe(code: CodeType) -> str:
    """What compiled code does, without where it stands."""
    constants = [
        _describe(constant)
        if isinstance(constant, CodeType)
        else repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant)
        for constant in code.co_consts
    ]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"
