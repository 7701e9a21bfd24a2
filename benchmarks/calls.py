"""Verdicts on tool calls: the convention `bfcl` beside the leaderboard's own checker, where it is installed."""

from __future__ import annotations

import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.timing import shared
from dstress import corpora
from dstress.conventions.bfcl import Bfcl
from dstress.conventions.calls import CallChecker, are_right
from dstress.dialogue import Call, Dialogue
from dstress.predictions import read_predictions
from dstress.text.python_calls import TUPLE

CATEGORIES = ("simple", "multiple_function", "parallel_function", "parallel_multiple_function")


def run() -> None:
    folder = shared("golden/bfcl")
    if folder is None:
        return
    pairs: list[tuple[str, Dialogue, tuple[Call, ...]]] = []
    with tempfile.TemporaryDirectory() as scratch:
        zipfile.ZipFile(folder / "answers.zip").extractall(scratch)
        for category in CATEGORIES:
            split = category.removesuffix("_function")
            questions = {each.id: each for each in corpora.load(f"{folder / 'questions.zip'}:{split}")}
            for path in sorted(Path(scratch).glob(f"*/{category}.jsonl")):
                read = [prediction for prediction in read_predictions(path) if not prediction.unparsed]
                pairs += [(split, questions[each.dialogue], each.calls or ()) for each in read]

    checkers = {}
    for _, dialogue, _ in pairs:
        tools = {tool.name: tool for tool in dialogue.tools}
        gold = dialogue.turns[0].calls or ()
        checkers[dialogue.id] = [CallChecker(call, tools.get(call.tool), Bfcl().argument) for call in gold]
    ours = _seconds(lambda: [are_right(checkers[each.id], calls, False) for _, each, calls in pairs])
    print(f"{len(pairs):,} answers with calls: {len(pairs) / ours:,.0f} verdicts per second")
    try:
        from bfcl_eval.constants.enums import Language  # type: ignore[import-not-found]
        from bfcl_eval.eval_checker.ast_eval import ast_checker as official  # type: ignore[import-not-found]
    except ImportError:
        print("left out: the official checker is in bfcl-eval, which is not installed")
        return
    official.convert_func_name = lambda name, model: name
    asked = {dialogue.id: _official(dialogue) for _, dialogue, _ in pairs}
    made = [
        (asked[each.id], [{call.tool: _plain(call.arguments)} for call in calls], split) for split, each, calls in pairs
    ]
    theirs = _seconds(
        lambda: [
            official.ast_checker(tools, calls, gold, Language.PYTHON, split, "")["valid"]
            for (tools, gold), calls, split in made
            if gold
        ],
    )
    print(f"the official checker: {len(pairs) / theirs:,.0f}; {theirs / ours:.1f} times faster (at least 5)")


def _seconds(work: Callable[[], object]) -> float:
    """Processor seconds, the least of several runs: a ratio that other programs do not disturb."""
    seconds = []
    for _ in range(5):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _official(dialogue: Dialogue) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    names = {tool.name for tool in dialogue.tools}
    tools = [{"name": tool.name, "parameters": tool.parameters} for tool in dialogue.tools]
    calls = dialogue.turns[0].calls or ()
    gold = [{call.tool: {name: list(values) for name, values in call.arguments.items()}} for call in calls]
    return tools, gold if {call.tool for call in calls} <= names else []


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return (
            tuple(map(_plain, value[TUPLE])) if TUPLE in value else {name: _plain(part) for name, part in value.items()}
        )
    return [_plain(item) for item in value] if isinstance(value, list) else value
