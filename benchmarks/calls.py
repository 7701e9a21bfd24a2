"""Verdicts on tool calls: the convention `bfcl` beside the leaderboard's own checker, where it is installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
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
    official = official_checker()
    if official is None:
        print("left out: the official checker is in bfcl-eval, which is not installed")
        return
    asked = {dialogue.id: official_form(dialogue) for _, dialogue, _ in pairs}
    made = [
        (asked[each.id], [{call.tool: plain(call.arguments)} for call in calls], split) for split, each, calls in pairs
    ]
    theirs = _seconds(lambda: [official(tools, calls, gold, split) for (tools, gold), calls, split in made if gold])
    print(f"the official checker: {len(pairs) / theirs:,.0f}; {theirs / ours:.1f} times faster (at least 5)")


def _seconds(work: Callable[[], object]) -> float:
    """Processor seconds, the least of several runs: a ratio that other programs do not disturb."""
    seconds = []
    for _ in range(5):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def official_checker() -> Callable[[Any, Any, Any, str], bool] | None:
    """The leaderboard's checker of tools, calls, gold and category; None where `bfcl-eval` is not installed.

    Its table of models, which imports the client of every provider, only says how a model's names are spelled: another
    table takes its place, so that nothing but the package itself is needed.
    """
    if importlib.util.find_spec("bfcl_eval") is None:
        return None
    table: Any = ModuleType("bfcl_eval.constants.model_config")
    table.MODEL_CONFIG_MAPPING = {"": SimpleNamespace(underscore_to_dot=False)}
    sys.modules.setdefault(table.__name__, table)
    language = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON
    checker = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker").ast_checker
    return lambda tools, calls, gold, category: checker(tools, calls, gold, language, category, "")["valid"]


def official_form(dialogue: Dialogue) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The tools and the gold calls as the leaderboard writes them; no gold where it calls a tool that is not there."""
    names = {tool.name for tool in dialogue.tools}
    tools = [{"name": tool.name, "parameters": tool.parameters} for tool in dialogue.tools]
    calls = dialogue.turns[0].calls or ()
    gold = [{call.tool: {name: list(values) for name, values in call.arguments.items()}} for call in calls]
    return tools, gold if {call.tool for call in calls} <= names else []


def plain(value: Any) -> Any:
    """A value as Python has it."""
    if isinstance(value, dict):
        return (
            tuple(map(plain, value[TUPLE])) if TUPLE in value else {name: plain(part) for name, part in value.items()}
        )
    return [plain(item) for item in value] if isinstance(value, list) else value
