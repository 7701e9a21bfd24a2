"""Trackers that misbehave, and a run that logs what was asked, for the tests of runs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dstress.predictions.base import FramePrediction, Prediction
from dstress.resources import Resources
from dstress.trackers.base import Answer, Context, Failed, Tracker

SUITE = """
title = "Small"
metrics = ["jga", "slot-f1"]
stressors = ["typos", "entities+typos"]
[[table]]
column = "original"
variant = "original"
metric = "jga"
[[table]]
column = "typos"
variant = "typos"
metric = "cjga"
"""


def keyed(context: Context, every: int) -> bool:
    """One turn in `every`, by what is said in it."""
    return sum(map(ord, context.user)) % every == 0


class Logged(Tracker):
    """Answers like `gold`, but forgets a slot now and then; notes every turn it was asked, and takes its time."""

    def __init__(self, log: str = "", pause: float = 0.0, sequential: bool = False, batch: int = 16) -> None:
        self.log, self.pause, self.sequential, self.batch = log, pause, sequential, batch

    def fingerprint(self) -> str:
        return "logged"

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        if self.log:
            with Path(self.log).open("a") as log:
                log.writelines(f"{context.dialogue} {context.turn} {context.user}\n" for context in contexts)
        time.sleep(self.pause * len(contexts))
        return [self.answer(context) for context in contexts]

    def answer(self, context: Context) -> Answer:
        gold = {slot: forms[0] for slot, forms in context.gold.state.items()}
        if keyed(context, 3) and gold:
            gold.popitem()
        if self.sequential:
            return dict(context.previous or {}) | {s: v for s, v in gold.items() if s not in (context.previous or {})}
        return gold


def said(**fields: Any) -> Prediction:
    return Prediction("", 0, **{"state": {}} | fields)


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


SLOT = "taxi-destination"
ODD: dict[str, Any] = {
    "text": "hotel in the north",
    "key": {7: "x"},
    "value": {SLOT: 5},
    "none": None,
    "list": {SLOT: [["x"]]},
    "nothing": {SLOT: None},
    "bytes": {SLOT: b"x"},
    "numpy": {SLOT: np.str_("x")},
    "surrogate": {SLOT: "\ud800"},
    "surrogate slot": {"\ud800": "x"},
    "huge": {SLOT: "x" * (2 << 20)},
    "intent": said(intent=5),
    "requested": said(requested=5),
    "response": said(response=b"x"),
    "frames": said(frames=(FramePrediction("taxi", intent=5),)),  # type: ignore[arg-type]
    "no state": said(state=None),
    "state of list": said(state=["x"]),
    "another dialogue": Prediction("other", 99, {}),
    "reason": Failed(5),  # type: ignore[arg-type]
    "surrogate reason": Failed("\ud800"),
}
"""Answers that are none."""

ENDS: dict[str, Any] = {"exit": SystemExit(0), "interrupt": KeyboardInterrupt(), "generator": GeneratorExit()}
"""What ends a process, and passes by `except Exception`."""


class Naughty(Logged):
    """Raises, hangs, answers too few or too many, or says what is no state, on some turns."""

    def __init__(self, how: str = "raise", every: int = 5, well: str = "") -> None:
        super().__init__()
        self.how, self.every, self.well, self.given = how, every, well, 0

    def prepare(self, resources: Resources) -> None:
        super().prepare(resources)
        if self.how == "exit early":
            sys.exit(0)
        if self.how == "die early":
            os._exit(0)

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        bad = [context for context in contexts if keyed(context, self.every)]
        if self.well and Path(self.well).exists():
            bad = []
        if bad and self.how == "raise":
            raise ValueError("cannot understand this")
        if bad and self.how == "hang":
            time.sleep(60)
        if bad and self.how == "die":
            os._exit(0)
        if bad and self.how == "mute":
            raise Mute
        if bad and self.how in ENDS:
            raise ENDS[self.how]
        answers = [self.answer(context) for context in contexts]
        self.given += len(answers)
        if bad and self.how == "few":
            return answers[:-1]
        if bad and self.how == "many":
            return [*answers, {}]
        if self.how in ODD:
            return [ODD[self.how] if c in bad else a for c, a in zip(contexts, answers, strict=True)]
        return answers

    def usage(self) -> dict[str, float]:
        given, self.given = self.given, 0
        if self.how == "usage raises":
            raise ENDS["exit"]
        odd: dict[str, Any] = {"usage nan": {"tokens": float("nan")}, "usage text": {"tokens": "many"}, "usage": 5}
        return odd.get(self.how, {"answers": given})  # type: ignore[no-any-return]
