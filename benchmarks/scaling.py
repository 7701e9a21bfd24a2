"""How time grows, as ratios: Python's start with and without dstress, texts of two lengths, runs of two sizes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.timing import best_of, report
from dstress import corpora
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, State, Turn
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.stress import stress
from dstress.runs.suites import Suite
from dstress.scoring.metrics.grounding import is_grounded
from dstress.text.mentions import protected_spans

STATE: State = {
    "train-departure": ("cambridge",),
    "train-leaveat": ("17:15",),
    "train-book people": ("5",),
    "hotel-internet": ("no",),
    "hotel-area": ("dontcare",),
    "hotel-name": ("gonville and caius college",),
}
WORDS = ("cambridge", "no", "any", "5", "five", "17:15", "wifi", "gonville", "caius", "half", "&", "a.m.", "ggg")
HOTELS = Schema((Service("hotel", slots=(Slot("name"), Slot("area", "", True, ("north", "south", "west")))),))


def run() -> None:
    report("python with `import dstress`", _start("import dstress"), "python alone", _start("pass"), at_most=3)
    for word in WORDS:
        _grow(f"mentions in texts of {word!r}", partial(_find_mentions, word), 8_000, 1_000)
    for spec, slot, value in (("entities", "hotel-name", "hamilton lodge"), ("values", "hotel-area", "west")):
        _grow(f"{spec} on one utterance", partial(_stress, spec, slot, value), 8_000, 1_000)
    _grow("is_grounded", _look_up_names, 100_000, 25_000)
    corpora.ensure_embedded()
    small, large = (best_of(2, partial(_run_suite, size)) for size in (50, 200))
    report("a run of 200 stressors", large, "one of 50", small, at_most=4)


def _start(code: str) -> float:
    return best_of(5, lambda: subprocess.run([sys.executable, "-c", code], check=True))


def _grow(what: str, work: Callable[[int], object], large: int, small: int) -> None:
    """Report the time for the large input beside that for the small one: three times the sizes' ratio is the limit."""
    limit = 3 * large / small
    times = [best_of(3, partial(work, size)) for size in (large, small)]
    report(f"{what}: {large:,}", times[0], f"{small:,}", times[1], at_most=limit)


_more = count()


def _find_mentions(word: str, words: int) -> None:
    # Texts are remembered, so each one has another length.
    protected_spans(Turn(" ".join([word] * (words + next(_more) % 97)), "", STATE), {})


def _stress(spec: str, slot: str, value: str, words: int) -> None:
    dialogue = Dialogue(f"long-{next(_more)}", (Turn("word " * words + value, "", {slot: (value,)}),))
    list(stress(Corpus("long", "test", HOTELS, lambda: iter([dialogue])), spec))


def _look_up_names(times: int) -> None:
    utterances = [f"i want to go to king 's college and then to a guesthouse , number {n} ." for n in range(20)]
    for number in range(times):
        is_grounded(f"zizzi {number % 1000}", utterances)


def _run_suite(size: int) -> None:
    """Little to track, so that what a run does for each variant is what is timed."""
    suite = Suite("many", slices=(), stressors=tuple(f"typos(rate={n / 1000})" for n in range(1, size + 1)))
    with tempfile.TemporaryDirectory() as folder:
        evaluate(suite, "gold", "reminder:test", Path(folder) / "run", limit=3, resamples=50)
