"""A small run that has all a report must cope with: markup, right-to-left text, emoji, failures, and real errors."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Frame, Schema, Service, Slot, Turn
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import Run, RunOptions
from dstress.reports.html import write_html
from dstress.reports.many_runs import ManyRuns, study_runs
from dstress.runs.folder import RunFolder
from dstress.runs.scores import find_errors
from dstress.runs.suites import Suite
from dstress.runs.suites.base import Across, Column
from dstress.scoring.score import ScoringOptions
from dstress.trackers.base import Answer, Context, Failed, Tracker
from tests.reports.visits import Visit

ATTACK = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>"
ARABIC = "أريد فندقا في وسط المدينة"
EMOJI = "😀🏳️‍🌈 somewhere cheap please, thank you very much indeed 😀 that would be wonderful"

SCHEMA = Schema(
    (
        Service("hotel", "", (Slot("area", "", True, ("north", "south", "centre")), Slot("na<b>me"))),
        Service("taxi", "", (Slot("destination"), Slot("leave at"))),
    )
)
_REQUEST = "please find something nice around there because my whole family would really love that place"


def _dialogue(number: int) -> Dialogue:
    said = (ATTACK, ARABIC, EMOJI, _REQUEST[number % 5 :])
    area, name = ("north", "south", "centre")[number % 3], f"Hotel {number}"
    turns = []
    state: dict[str, tuple[str, ...]] = {}
    added = (("hotel-area", area), ("hotel-na<b>me", name), ("taxi-destination", name), ("taxi-leave at", "10:15"))
    for index, (slot, value) in enumerate(added):
        state = {**state, slot: (value,)}
        service = slot.partition("-")[0]
        user = f"{said[(number + index) % 4]} and it should be {value} for certain"
        turns.append(Turn(user, f"What else? {ATTACK}" if index else "", state, (Frame(service),)))
    return Dialogue(f"d<i>{number}", tuple(turns), ("hotel", "taxi"))


class Shaky(Tracker):
    """Right but for some slots, by the words it hears; sometimes it says nothing at all."""

    spec = "shaky<b>"
    salt = ""

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        return [self._answer(context) for context in contexts]

    def _answer(self, context: Context) -> Answer:
        chance = zlib.crc32(f"{context.dialogue}{context.user}{self.salt}".encode())
        if chance % 23 == 0:
            return Failed(f"timed out {ATTACK}")
        state = {slot: forms[0] for slot, forms in context.gold.state.items()}
        harm = chance % (5 if context.gold.changed else 12)
        if harm == 0:
            state.pop("hotel-area", None)
        if harm == 1:
            state["hotel-na<b>me"] = ATTACK
        if harm == 2:
            state["taxi-leave at"] = "11:45"
        if harm == 3:
            state["hotel-area"] = state.get("hotel-area", "north").upper()
        return state


class Shakier(Shaky):
    """The same, shaky elsewhere."""

    def __init__(self, salt: str = "salt") -> None:
        self.salt = salt


SUITE = Suite(
    "Small <suite>",
    "typing and names",
    metrics=("jga", "aga", "slot-f1", "gca"),
    stressors=("typos(rate=0.2)", "entities", "entities+disfluency"),
    across=(Across("together", ("typos(rate=0.2)", "entities")),),
    table=(
        Column("original", "original", "jga"),
        Column("typos", "typos(rate=0.2)", "jga"),
        Column("names cJGA", "entities", "cjga"),
        Column("names always wrong", "entities", "always-wrong"),
    ),
)


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    dialogues = [_dialogue(number) for number in range(40)]
    return Corpus("small", "test", SCHEMA, lambda: iter(dialogues))


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, ready_home: Path, corpus: Corpus) -> Run:
    """The run, made once."""
    patch = pytest.MonkeyPatch()
    patch.setenv("DSTRESS_HOME", str(ready_home))
    try:
        return evaluate(SUITE, Shaky(), corpus, tmp_path_factory.mktemp("run") / "it", RunOptions(resamples=200))
    finally:
        patch.undo()


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory, ready_home: Path, corpus: Corpus, run: RunFolder) -> list[RunFolder]:
    """Five runs of the same dialogues."""
    folder, patch = tmp_path_factory.mktemp("many"), pytest.MonkeyPatch()
    patch.setenv("DSTRESS_HOME", str(ready_home))
    trackers = {"gold": "gold", "empty": "empty", "pepper<i>": Shakier("pepper"), "salt": Shakier()}
    options = RunOptions(resamples=200, report=False, max_failed=1.0)
    try:
        return [run, *(evaluate(SUITE, tracker, corpus, folder / name, options) for name, tracker in trackers.items())]
    finally:
        patch.undo()


@pytest.fixture(scope="session")
def study(many: list[RunFolder]) -> ManyRuns:
    """The five of them together."""
    return study_runs(many, options=ScoringOptions(resamples=500))


@pytest.fixture(scope="session")
def page(run: RunFolder) -> Path:
    """The run's page."""
    return write_html(run, find_errors(run))


@pytest.fixture
def visit(chromium: Any, page: Path) -> Iterator[Visit]:
    """A visit to the run's page, which may complain about nothing and ask for nothing."""
    visited = Visit(chromium, page)
    yield visited
    visited.tab.context.close()
    assert visited.complaints == []
