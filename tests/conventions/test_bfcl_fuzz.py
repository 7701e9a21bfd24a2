"""The convention `bfcl` beside the leaderboard's newest checker, on answers that no model gave."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.calls import CATEGORIES, official_checker, official_form, plain
from dstress import corpora
from dstress.conventions.bfcl import Bfcl
from dstress.conventions.calls import CallChecker, are_right
from dstress.dialogue import Call, Dialogue
from dstress.predictions import read_predictions
from tests.parts import REAL_DATA, need
from tests.paths import SHARED

pytestmark = pytest.mark.slow
GOLDEN = SHARED / "golden" / "bfcl"
MODELS = ("gpt-4-0125-preview", "gpt-4o-mini-2024-07-18-FC", "gpt-3.5-turbo-0125-FC", "snowflake_arctic")


def test_every_verdict_on_changed_answers_is_the_official_one(tmp_path: Path) -> None:
    need(REAL_DATA, "bfcl-eval")
    official, random = official_checker(), Random(1)
    assert official is not None
    verdicts: Counter[bool] = Counter()
    crashes, differing = 0, []
    for category, dialogue, calls in answers(tmp_path):
        tools, gold = official_form(dialogue)
        if not gold:
            continue
        by_name = {tool.name: tool for tool in dialogue.tools}
        checkers = [CallChecker(call, by_name[call.tool], Bfcl().argument) for call in dialogue.turns[0].calls or ()]
        for answer in (calls, changed(calls, dialogue, random), gold_answer(dialogue, random)):
            try:
                expected = official(tools, [{call.tool: plain(call.arguments)} for call in answer], gold, category)
            except (TypeError, AttributeError, KeyError, IndexError):
                crashes += 1
                continue
            verdicts[expected] += 1
            if are_right(checkers, answer, False) != expected:
                differing.append((dialogue.id, answer, gold, expected))
    assert not differing, (len(differing), differing[:3])
    assert min(verdicts[True], verdicts[False]) > 2_000, verdicts
    assert crashes < verdicts.total() / 100


def answers(scratch: Path) -> Iterator[tuple[str, Dialogue, tuple[Call, ...]]]:
    zipfile.ZipFile(GOLDEN / "answers.zip").extractall(scratch)
    for category in CATEGORIES:
        split = category.removesuffix("_function")
        questions = {each.id: each for each in corpora.load(f"{GOLDEN / 'questions.zip'}:{split}")}
        for model in MODELS:
            for prediction in read_predictions(scratch / model / f"{category}.jsonl"):
                if prediction.calls:
                    yield split, questions[prediction.dialogue], prediction.calls


def gold_answer(dialogue: Dialogue, random: Random) -> tuple[Call, ...]:
    """The expected calls with any accepted values, one of them changed every other time."""
    calls = tuple(
        Call(
            gold.tool,
            {name: value for name, values in gold.arguments.items() if (value := random.choice(values)) != ""},
        )
        for gold in dialogue.turns[0].calls or ()
    )
    return changed(calls, dialogue, random) if random.random() < 0.5 else calls


def changed(calls: tuple[Call, ...], dialogue: Dialogue, random: Random) -> tuple[Call, ...]:
    """The calls with one thing changed: a value, a name, an argument more or less, a tool, or which calls are made."""
    place = random.randrange(len(calls))
    call, others = calls[place], [*calls]
    arguments, kind = dict(call.arguments), random.randrange(8)
    name = random.choice([*arguments, "extra"])
    if kind < 4 and name in arguments:
        arguments[name] = other_value(arguments[name], random)
    elif kind == 4:
        arguments.pop(name, None)
    elif kind == 5:
        arguments[random.choice(["extra", name.upper()])] = arguments.get(name, 1)
    elif kind == 6:
        call = Call(random.choice([*(tool.name for tool in dialogue.tools), call.tool.replace(".", "_")]), arguments)
    else:
        random.shuffle(others)
        return tuple(random.choice([others, [*others, call], others[1:] or others]))
    others[place] = Call(call.tool, arguments)
    return tuple(others)


def other_value(value: Any, random: Random) -> Any:
    """A value that is nearly the same, in other words or of another type."""
    if isinstance(value, dict) and value and random.random() < 0.7:
        name = random.choice([*value])
        return value | {name: other_value(value[name], random)}
    if isinstance(value, list) and value and random.random() < 0.7:
        place = random.randrange(len(value))
        return random.choice(
            [value[::-1], value[1:], [*value[:place], other_value(value[place], random), *value[place + 1 :]]]
        )
    forms: list[Any] = [None, True, [value], {"value": value}, str(value), "", [], 0]
    if isinstance(value, str):
        forms += [
            value.upper(),
            value.lower(),
            value.replace(" ", ""),
            f"{value}.",
            f" {value}",
            value.replace(",", ""),
            f"'{value}'",
            value + "s",
        ]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        forms += [float(value), int(value), -value, value + 1, value / 3]
    return random.choice(forms)
