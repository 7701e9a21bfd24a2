"""What a run's files hold: the manifest (`run.toml`), and every number (`scores.json`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from dstress.display import Displayed
from dstress.runs.repeats import Repeats
from dstress.runs.suites.base import ORIGINAL, Suite
from dstress.scoring.scorecard import Score, Scorecard, Slices, TestedDifference


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was asked for. `hashes` are of what the answers depend on: a run never mixes two trackers or corpora."""

    tracker: str
    corpus: str
    suite_name: str
    seed: int
    limit: int
    convention: str
    hashes: dict[str, str]
    versions: dict[str, str]
    suite: Suite
    draw: int = 0
    only: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Options of the command line that change no answer, as they were written."""
    seen: tuple[str, ...] | None = None
    """The services that the corpus's training data shows, where it is known."""
    metrics: tuple[str, ...] = ()
    """Those of a rescoring, in place of the suite's."""
    taken: str = ""
    """The part of the corpus that was given, where it was one already, as in Python `corpus[:20]` is."""
    repeats: int = 1
    """How often every turn is asked; all scores but those of `repeats` stand on the first answers."""
    tools: str = ""
    """The file of the tools that were at hand, where they were not the corpus's own."""
    files: dict[str, str] = {}
    """What each whole file of the run holds, hashed: one that somebody edited is noticed."""
    started: str = ""
    """The day on which the run began, in UTC; a run that is resumed keeps it. Older runs have none."""

    @property
    def part(self) -> str:
        """Which part of the corpus was asked for, in a signature; empty for all of it."""
        drawn = f"draw{self.draw}" if self.draw else f"first{self.limit}" if self.limit else ""
        return ".".join(filter(None, (self.taken, drawn)))

    @property
    def tracked(self) -> str:
        """The corpus for a title: a part is never shown as the whole."""
        tools = [f"tools of {self.tools}"] if self.tools else []
        return ", ".join((self.corpus, *map(_in_words, filter(None, self.part.split("."))), *tools))


def _in_words(part: str) -> str:
    """`first60` -> `the first 60 dialogues`."""
    for start, words in (("first", "the first {} dialogues"), ("draw", "{} dialogues drawn at random")):
        if part.startswith(start):
            return words.format(part.removeprefix(start))
    return f"dialogues {part}"


class Cell(msgspec.Struct, frozen=True):
    """One cell of the suite's final table; without a score where the corpus cannot give one, and why."""

    column: str
    variant: str
    metric: str
    score: Score | None = None
    missing: str = ""
    task: str = ""
    aspect: str = ""

    @property
    def measure(self) -> str:
        """The column without its task: `JGA` of `Para. JGA`."""
        return self.column.removeprefix(f"{self.task} ")


class Drop(TestedDifference, frozen=True, kw_only=True):
    """What a stressor costs: the metric under it less the original's, paired by dialogue."""

    original: float
    stressed: float


STATES, CALLS = "jga", "call-accuracy"


def joint_of(metrics: Collection[str]) -> str:
    """The metric that says which turns are right: of states, or of calls where only these are scored."""
    return CALLS if CALLS in metrics and STATES not in metrics else STATES


class Scores(Displayed, msgspec.Struct):
    """Every number of a run: `scores.json`."""

    variants: dict[str, Scorecard]
    paired: dict[str, dict[str, Score]] = {}
    across: dict[str, dict[str, Score]] = {}
    paired_slices: dict[str, Slices] = {}
    across_slices: dict[str, Slices] = {}
    drops: dict[str, Drop] = {}
    table: list[Cell] = []
    failed: dict[str, int] = {}
    unanswered: dict[str, int] = {}
    """Of the failed turns, those that a prediction file has no answer to: nothing is tested of such a variant."""
    usage: dict[str, float] = {}
    notes: list[str] = []
    repeats: dict[str, Repeats] = {}

    @property
    def convention(self) -> str:
        """The convention that the scores stand on; after a rescoring it is not the one that the run began with."""
        return self.variants[ORIGINAL].signature.get("conv", "exact")

    @property
    def joint(self) -> str:
        """The metric that pairs and the cost of each stressor are of."""
        return joint_of(self.variants[ORIGINAL].metrics)

    @property
    def joint_title(self) -> str:
        """The same in words, within a sentence."""
        return "joint goal accuracy" if self.joint == STATES else "call accuracy"

    @property
    def joint_short(self) -> str:
        """The same at the head of a column."""
        return "JGA" if self.joint == STATES else self.joint

    def __repr__(self) -> str:
        cells = [f"{cell.column} {cell.score.value:.4f}" for cell in self.table if cell.score]
        return f"Scores({len(self.variants)} variants: {', '.join(cells[:8])}{' ...' if cells[8:] else ''})"


def with_undefined(written: Any) -> Any:
    """JSON has no "not a number": in a score, null stands for a value that is undefined."""
    if isinstance(written, dict):
        scored = written.keys() >= {"value", "low", "high"} or written.keys() >= {"difference", "low", "high"}
        return {
            name: float("nan") if scored and value is None else with_undefined(value) for name, value in written.items()
        }
    return [with_undefined(value) for value in written] if isinstance(written, list) else written
