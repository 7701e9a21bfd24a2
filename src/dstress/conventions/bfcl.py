"""What the checker of the Berkeley Function Calling Leaderboard counts as the same call, value by value.

Its oddities are kept: a value of the type that the accepted values have, and not the schema, counts as a variable and
is compared as it is; objects and lists are standardised one level deep; an empty list is right where a list may be left
out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dstress.conventions.base import Convention
from dstress.conventions.calls import MAY_BE_LEFT_OUT, Check
from dstress.text.python_calls import TUPLE

_TYPES: dict[Any, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "number": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "object": dict,
    "any": str,
}
_LISTS = ("array", "tuple")
_FLOATS = ("float", "number")
_LOOSE = str.maketrans("'", '"', " ,./-_*^")


class Bfcl(Convention):
    """The Berkeley leaderboard's: types are strict, texts compared without blanks, punctuation and case.

    `parse` says what a call that cannot be read counts as where nothing may be called: an abstention, as in the script,
    or with `strict` a failure.
    """

    name = "bfcl"
    about_calls = True

    def __init__(self, parse: Literal["official", "strict"] = "official") -> None:
        self.credits_unparsed = parse == "official"

    def argument(self, accepted: Sequence[Any], parameter: Mapping[str, Any]) -> Check:
        """The check of one argument."""
        kind = parameter.get("type")
        first = next((type(value) for value in accepted if value != MAY_BE_LEFT_OUT), None)
        expected = _TYPES.get(kind, first) if isinstance(kind, str) else first
        if expected is str and first in (str, None):
            texts = {_standardised(value) for value in accepted if isinstance(value, str)}
            return lambda value: type(value) is str and value.translate(_LOOSE).lower() in texts
        if expected in (int, bool) and first is expected:
            values = {value for value in accepted if value != MAY_BE_LEFT_OUT and not isinstance(value, list | dict)}
            return lambda value: type(value) is expected and value in values
        if kind in _FLOATS and first is float:
            numbers = {value for value in accepted if isinstance(value, int | float)}
            return lambda value: type(value) in (float, int) and value in numbers
        return _general(accepted, kind, expected, first, parameter)


def _general(
    accepted: Sequence[Any], kind: object, expected: type | None, first: type | None, parameter: Mapping[str, Any]
) -> Check:
    items = parameter.get("items")
    inner = _TYPES.get(items.get("type")) if kind in _LISTS and isinstance(items, dict) else None
    listed = [[_standardised(item) for item in value] for value in accepted if isinstance(value, str | list | tuple)]

    def is_right(value: Any) -> bool:
        if isinstance(value, dict) and TUPLE in value:
            if kind != "tuple":
                return False
            value = value[TUPLE]
        if kind in _FLOATS and type(value) is int and abs(value) < 1 << 1000:
            value = float(value)
        of = type(value)
        if of is expected:
            if inner is not None and not any(_fits(value, form, inner) for form in accepted):
                return False
            is_variable = first not in (expected, None)
        elif of is first:
            is_variable = True
        else:
            return False
        if is_variable:
            return value in accepted
        if expected is dict:
            return any(_same_object(form, value) for form in accepted)
        if expected is list and inner is dict:
            return any(
                len(form) == len(value) and all(map(_same_object, form, value))
                for form in accepted
                if isinstance(form, str | list | tuple)
            )
        if expected is list:
            return [_standardised(item) for item in value] in listed
        return (
            _standardised(value) in [_standardised(form) for form in accepted] if expected is str else value in accepted
        )

    return is_right


def _fits(values: list[Any], form: Any, inner: type) -> bool:
    """Whether every item has the items' type, or that of the first item which is accepted."""
    if not isinstance(form, list | tuple):
        return True
    first = next((type(item) for item in form if item != MAY_BE_LEFT_OUT), None)
    return all(type(item) is inner or type(item) is first for item in values)


def _same_object(form: Any, value: Any) -> bool:
    if not (isinstance(form, dict) and isinstance(value, dict)):
        return False
    for name, part in value.items():
        if name not in form:
            return False
        if isinstance(form[name], dict):
            if not _same_object(form[name], part):
                return False
        elif _standardised(part) not in [_standardised(item) for item in form[name]]:
            return False
    return all(name in value or MAY_BE_LEFT_OUT in members for name, members in form.items())


def _standardised(value: Any) -> Any:
    return value.translate(_LOOSE).lower() if isinstance(value, str) else value
