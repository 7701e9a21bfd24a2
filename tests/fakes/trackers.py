"""Trackers that misbehave, and a run that logs what was asked, for the tests of runs."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from dstress.trackers.base import Answer, Context, Tracker

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


class Naughty(Logged):
    """Raises, hangs, answers too few or too many, or says what is no state, on some turns."""

    def __init__(self, how: str = "raise", every: int = 5, well: str = "") -> None:
        super().__init__()
        self.how, self.every, self.well, self.given = how, every, well, 0

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        bad = [context for context in contexts if keyed(context, self.every)]
        if self.well and Path(self.well).exists():
            bad = []
        if bad and self.how == "raise":
            raise ValueError("cannot understand this")
        if bad and self.how == "hang":
            time.sleep(60)
        if bad and self.how == "die":
            os._exit(3)
        answers = [self.answer(context) for context in contexts]
        self.given += len(answers)
        if bad and self.how == "few":
            return answers[:-1]
        if bad and self.how == "many":
            return [*answers, {}]
        odd = {"text": "hotel in the north", "key": {7: "x"}, "value": {"taxi-destination": 5}, "none": None}
        if self.how in odd:
            return [odd[self.how] if c in bad else a for c, a in zip(contexts, answers, strict=True)]  # type: ignore[misc]
        return answers

    def usage(self) -> dict[str, float]:
        given, self.given = self.given, 0
        return {"answers": given}
