"""Calls written as Python source, `[f(x=1), g.h(name="a")]`, read without running anything.

Prompted models are asked for this form, and the Berkeley leaderboard reads it with Python's own parser. Its readings of
odd source are kept, since its verdicts are based on them: a bare name is the text of that name, a call inside an
argument is an object, any sign before a number makes it negative.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable
from typing import Any

TUPLE = "()"
"""JSON has no tuples: `(1, 2)` is read as `{"()": [1, 2]}`, since the leaderboard tells it from a list."""

Calls = list[tuple[str, dict[str, Any]]]
"""Tools by name, with their arguments, in the order in which they are called."""

_MOST = 10_000
"""How long a text or list, and how large an exponent, arithmetic inside an argument may make."""
_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}


class NoCalls(ValueError):
    """The text holds no list of calls."""


def read_calls(source: str, *, bare: bool = False) -> Calls:
    """The calls of a list, tuple or set of calls; with `bare` also of a single call, or one without arguments."""
    try:
        with warnings.catch_warnings():  # of invalid escapes and the like, which models write
            warnings.simplefilter("ignore")
            body = ast.parse(source, mode="eval").body
        if bare and isinstance(body, ast.Call):
            return [_call(body)]
        if not isinstance(body, ast.List | ast.Tuple | ast.Set):
            raise NoCalls("not a list of calls")
        calls = []
        for element in body.elts:
            if not isinstance(element, ast.Call):
                raise NoCalls(f"not a call: {ast.unparse(element):.40}")
            if not (element.keywords or bare):
                raise NoCalls(f"a call without named arguments: {ast.unparse(element):.40}")
            calls.append(_call(element))
        return calls
    except NoCalls:
        raise
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise NoCalls(f"not Python: {error}") from None


def _call(call: ast.Call) -> tuple[str, dict[str, Any]]:
    parts, function = [], call.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    return ".".join(reversed(parts)), {keyword.arg or "**": _value(keyword.value) for keyword in call.keywords}


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return "..." if value is ... else value if isinstance(value, str | int | float | None) else repr(value)
        case ast.UnaryOp(operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=elements):
            return [_value(element) for element in elements]
        case ast.Tuple(elts=elements):
            return {TUPLE: [_value(element) for element in elements]}
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _value(value) for key, value in zip(keys, values, strict=True)}
        case ast.BinOp():
            return _computed(node)
        case ast.Name(id=name):
            return name
        case ast.Call(keywords=[]):
            return ast.unparse(node)
        case ast.Call():
            name, arguments = _call(node)
            return {name: arguments}
        case ast.Subscript(value=value, slice=index):
            return f"{ast.unparse(value)}[{ast.unparse(index)}]"
    raise NoCalls(f"not a value: {ast.unparse(node):.40}")


def _key(node: ast.expr | None) -> str:
    key = None if node is None else _value(node)
    if isinstance(key, list) or (isinstance(key, dict) and TUPLE not in key) or node is None:
        raise NoCalls("a key that is no text")
    return key if isinstance(key, str) else f"{key!r} ({type(key).__name__})"


def _computed(node: ast.expr) -> Any:
    """Arithmetic on constants; whatever else stands there has no value here."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            first, second = _computed(left), _computed(right)
            repeats = isinstance(op, ast.Mult) and any(isinstance(part, str | list) for part in (first, second))
            sizes = [part if isinstance(part, int | float) else len(part) for part in (first, second)]
            if (repeats or isinstance(op, ast.Pow)) and max(map(abs, sizes)) > _MOST:
                raise NoCalls("too large to compute")
            return _OPERATORS[type(op)](first, second)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_computed(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return +_computed(operand)
        case ast.Constant(value=int() | float() | str() as value):
            return value
        case ast.List(elts=elements):
            return [_computed(element) for element in elements]
    raise NoCalls(f"not a constant: {ast.unparse(node):.40}")
