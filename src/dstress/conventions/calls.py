"""Calls under a convention: which arguments are right, and whether a call is.

A gold call is compiled once into a checker, since the same question is judged for every model and every variant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dstress.dialogue import Call, GoldCall, Tool

Check = Callable[[Any], bool]
"""Whether a value is right."""

CompileArgument = Callable[[Sequence[Any], Mapping[str, Any]], Check]
"""Makes the check of an argument from its accepted values and its parameter's schema."""

MAY_BE_LEFT_OUT = ""
"""Among accepted values: the argument need not be there."""


class CallChecker:
    """Says of a predicted call whether it is the gold call; a gold call of a tool that is not there is never made."""

    def __init__(self, gold: GoldCall, tool: Tool | None, compile_argument: CompileArgument) -> None:
        parameters = tool.parameters if tool else {}
        properties = parameters.get("properties", {})
        name, spelled = gold.tool, gold.tool.replace(".", "_")
        self.names: dict[bool | None, tuple[str, ...]] = {False: (name,), True: (spelled,), None: (name, spelled)}
        self.callable = self.names if tool else dict.fromkeys(self.names, ())
        self.checks = {
            name: compile_argument(values, properties.get(name, {}))
            for name, values in gold.arguments.items()
            if name in properties
        }
        # Most values are accepted as they stand, which is quicker to see than to standardise them.
        self.as_written: dict[str, dict[type, set[Any]]] = {}
        for name, check in self.checks.items():
            by_type = self.as_written.setdefault(name, {})
            for value in gold.arguments[name]:
                if isinstance(value, str | int | float) and check(value):
                    by_type.setdefault(type(value), set()).add(value)
        optional = {name for name, values in gold.arguments.items() if MAY_BE_LEFT_OUT in values}
        self.needed = tuple(dict.fromkeys((*(gold.arguments.keys() - optional), *parameters.get("required", ()))))
        self.all_accepted = self.checks.keys() >= set(self.needed)

    def accepts(self, call: Call, underscored: bool | None = None) -> bool:
        """Whether the call is right as a whole."""
        if call.tool not in self.callable[underscored]:
            return False
        arguments, as_written = call.arguments, self.as_written
        for name, value in arguments.items():
            by_type = as_written.get(name)
            if by_type is None:
                return False
            values = by_type.get(type(value))
            if (values is None or value not in values) and not self.checks[name](value):
                return False
        # A call with every argument that there is lacks none, unless a required one is never accepted.
        if len(arguments) == len(as_written) and self.all_accepted:
            return True
        return all(name in arguments for name in self.needed)

    def right_arguments(self, call: Call) -> int:
        """How many of the call's arguments are right."""
        return sum(name in self.checks and self.checks[name](value) for name, value in call.arguments.items())


def equal_values(accepted: Sequence[Any], parameter: Mapping[str, Any]) -> Check:
    """Plain equality: numbers by value, everything else by type and value, objects member by member."""
    return lambda value: any(_equal(form, value) for form in accepted)


def _equal(form: Any, value: Any) -> bool:
    if isinstance(form, dict):
        return (
            isinstance(value, dict)
            and all(name in form and any(_equal(item, part) for item in form[name]) for name, part in value.items())
            and all(name in value or MAY_BE_LEFT_OUT in items for name, items in form.items())
        )
    if isinstance(form, list | tuple):
        return isinstance(value, list) and len(form) == len(value) and all(map(_equal, form, value))
    return bool(isinstance(form, bool) == isinstance(value, bool) and form == value)


def are_right(checkers: Sequence[CallChecker], calls: Sequence[Call], underscored: bool | None) -> bool:
    """Whether the calls are the gold calls, each matched, in the order of gold, with the first call that is right."""
    if len(checkers) != len(calls):
        return False
    if len(calls) == 1:
        return checkers[0].accepts(calls[0], underscored)
    left = list(calls)
    for checker in checkers:
        for place, call in enumerate(left):
            if checker.accepts(call, underscored):
                del left[place]
                break
        else:
            return False
    return True


class JudgedCalls:
    """The calls of one turn, judged in detail."""

    __slots__ = ("calls", "checkers", "right", "underscored")

    def __init__(self, checkers: Sequence[CallChecker], calls: Sequence[Call], underscored: bool | None) -> None:
        self.checkers, self.calls, self.underscored = checkers, calls, underscored
        self.right = are_right(checkers, calls, underscored)

    @property
    def tools(self) -> bool:
        """Whether the tools are those of the gold calls, each as often."""
        named = sorted(call.tool for call in self.calls)
        spellings = (False, True) if self.underscored is None else (self.underscored,)
        return any(sorted(checker.names[spelled][0] for checker in self.checkers) == named for spelled in spellings)

    def count_arguments(self) -> tuple[int, int, int]:
        """How many arguments are right, expected and given.

        Those of calls that are not right as a whole count beside the gold call of their tool.
        """
        given = sum(len(call.arguments) for call in self.calls)
        if self.right:
            return given, given, given
        left, unmatched = list(self.calls), []
        for checker in self.checkers:
            match = next((call for call in left if checker.accepts(call, self.underscored)), None)
            if match is None:
                unmatched.append(checker)
            else:
                left.remove(match)
        right = expected = given - sum(len(call.arguments) for call in left)
        for checker in unmatched:
            names = checker.names[self.underscored]
            alike = [(checker.right_arguments(call), place) for place, call in enumerate(left) if call.tool in names]
            most, place = max(alike, default=(0, -1), key=lambda pair: (pair[0], -pair[1]))
            right += most
            named = set(left.pop(place).arguments.keys() & checker.checks.keys()) if place >= 0 else set[str]()
            expected += len(named.union(checker.needed))
        return right, expected, given
