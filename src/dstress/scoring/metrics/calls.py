"""Metrics of tool calls: over the turns of which the corpus says what is to be called, if anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from dstress.conventions.calls import CallChecker, JudgedCalls
from dstress.dialogue import Call, Dialogue
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics.base import Floats, Metric

_COLUMNS = ("counted", "right", "tools", "right arguments", "gold arguments", "predicted arguments", "must abstain",
            "abstains", "invented")  # fmt: skip
_WORD = re.compile(r"\w+")


class _CallMetric(Metric):
    """A ratio of two columns of what was judged once for all of these metrics."""

    by_turn = True
    needs_states = False
    restrictable = False
    part: ClassVar[str]
    whole: ClassVar[str] = "counted"

    def missing(self, alignment: Alignment) -> str:
        if all(turn.calls is None for turn in alignment.columns.turns):
            return "the corpus does not say what is to be called"
        if all(prediction.calls is None for prediction in alignment.columns.predictions):
            return "the predictions have no calls"
        return "" if self.statistics(alignment)[:, 1].any() else self.nothing

    nothing: ClassVar[str] = "no turn has calls"

    def statistics(self, alignment: Alignment) -> Floats:
        judged = judged_calls(alignment)
        return judged[:, [_COLUMNS.index(self.part), _COLUMNS.index(self.whole)]]


class CallAccuracy(_CallMetric):
    """Share of turns in which exactly the expected calls are made, and none where nothing may be called."""

    name = "call-accuracy"
    part = "right"


class ToolAccuracy(_CallMetric):
    """Share of turns in which the expected tools are called, whatever their arguments."""

    name = "tool-accuracy"
    part = "tools"


class ArgumentF1(_CallMetric):
    """F1 of arguments: those of the calls beside the gold calls of their tools, pooled over all turns."""

    name = "argument-f1"
    nothing = "no call has arguments"

    def statistics(self, alignment: Alignment) -> Floats:
        right, gold, predicted = judged_calls(alignment)[:, [_COLUMNS.index(f"{of} arguments") for of in _PARTS]].T
        return np.column_stack((2 * right, gold + predicted))


_PARTS = ("right", "gold", "predicted")


class Abstention(_CallMetric):
    """Of the turns in which nothing may be called, the share in which nothing is; what is left are false calls."""

    name = "abstention"
    part = "abstains"
    whole = "must abstain"
    nothing = "there is something to call in every turn"


class InventedArguments(_CallMetric):
    """Of the arguments that are given, the share that is wrong, is not in the dialogue so far and is no default."""

    name = "invented-arguments"
    part = "invented"
    whole = "predicted arguments"
    higher_is_better = False
    nothing = "no call has arguments"


def judged_calls(alignment: Alignment) -> Floats:
    """A row for each turn, columns as in `_COLUMNS`: judged once, whatever asks for it."""
    columns, convention = alignment.columns, alignment.convention
    key = ("calls", id(convention))
    if key not in columns.memo:
        rows = []
        for dialogue, predictions in columns.paired():
            tools = {tool.name: tool for tool in dialogue.tools}
            for prediction in predictions:
                turn = dialogue.turns[prediction.turn]
                if turn.calls is None:
                    rows.append((0.0,) * len(_COLUMNS))
                    continue
                calls = prediction.calls or ()
                unread = bool(prediction.unparsed or prediction.failed or prediction.calls is None)
                silent = not calls and (not unread or (bool(prediction.unparsed) and convention.credits_unparsed))
                if not turn.calls:
                    invented = _invented(calls, (), dialogue, prediction.turn)
                    given = sum(len(call.arguments) for call in calls)
                    rows.append((1.0, silent, silent, 0.0, 0.0, given, 1.0, silent, invented))
                elif not turn.calls[0].tool:  # any call will do
                    rows.append((1.0, bool(calls), bool(calls), *(0.0,) * 6))
                else:
                    checkers = [CallChecker(gold, tools.get(gold.tool), convention.argument) for gold in turn.calls]
                    judged = JudgedCalls(checkers, calls, prediction.underscored)
                    invented = 0 if judged.right else _invented(calls, checkers, dialogue, prediction.turn)
                    rows.append((1.0, judged.right, judged.tools, *judged.count_arguments(), 0.0, 0.0, invented))
        columns.memo[key] = np.array(rows, np.float64).reshape(-1, len(_COLUMNS))
    return np.asarray(columns.memo[key], np.float64)


def _invented(calls: Sequence[Call], checkers: Sequence[CallChecker], dialogue: Dialogue, turn: int) -> int:
    """How many arguments are neither right, nor said, nor their parameter's default."""
    said = _spoken(dialogue, turn)
    tools = {name: tool for tool in dialogue.tools for name in (tool.name, tool.name.replace(".", "_"))}
    count = 0
    for call in calls:
        properties = tools[call.tool].parameters.get("properties", {}) if call.tool in tools else {}
        for name, value in call.arguments.items():
            parameter = properties.get(name, {})
            listed = (parameter.get("default"), *(parameter.get("enum") or ()))
            right = any(name in checker.checks and checker.checks[name](value) for checker in checkers)
            # What is true or false, or one of the values that the schema lists, is chosen and not invented.
            if not (right or isinstance(value, bool) or value in listed):
                count += not all(_words(str(part)) in said for part in _leaves(value))
    return count


def _spoken(dialogue: Dialogue, turn: int) -> str:
    before = [text for past in dialogue.turns[:turn] for text in (past.remembered.system, past.remembered.user)]
    current = dialogue.turns[turn]
    return _words(" ".join((*before, current.system, current.user)))


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold().replace(',', '')))} "


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield int(value) if isinstance(value, float) and value.is_integer() else value
