"""What a study looks at: runs, and prediction files with their gold, as variants whose answers can be judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from dstress.errors import DstressError, unknown
from dstress.runs.folder import ORIGINAL, RunFolder, is_run
from dstress.runs.scores import corpus_of, predictions_of
from dstress.scoring.open_pair import Gold, PredictionSource, located
from dstress.scoring.score import Scored, ScoringOptions, tally_predictions
from dstress.scoring.shards import Watcher

_JUDGED = ScoringOptions(resamples=0, lenient=True)
"""Sums by dialogue are all that a study needs; whatever it tests, it resamples itself."""


class System(NamedTuple):
    """A tracker's answers to some variants of a corpus. A prediction file answers to the original alone."""

    name: str
    variants: tuple[str, ...]
    convention: str
    open: Callable[[str], PredictionSource]
    run: RunFolder | None = None
    format: str = ""

    def judge(self, variant: str, metrics: Sequence[str], watchers: Sequence[Watcher] = ()) -> Scored:
        """Judge the answers to a variant once, for metrics and for whoever watches."""
        if variant not in self.variants:
            raise unknown("variant", variant, self.variants, where=self.name)
        options = _JUDGED if not self.format else ScoringOptions(resamples=0, lenient=True, format=self.format)
        with located(self.name):
            (scored,) = tally_predictions(self.open(variant), [self.convention], metrics, (), options, watchers)
        return scored


def open_systems(
    paths: Sequence[str | Path | RunFolder], gold: Gold | None = None, convention: str = "", format_name: str = ""
) -> list[System]:
    """Runs and prediction files by their names without endings; without `gold`, files must carry their own."""
    places = [path.path if isinstance(path, RunFolder) else Path(path) for path in paths]
    short = [place.name.partition(".")[0] or str(place) for place in places]
    systems = []
    for path, place, name in zip(paths, places, short, strict=True):
        called = name if short.count(name) == 1 else str(place)
        if isinstance(path, RunFolder) or is_run(place):
            if gold is not None:
                fix = "leave --gold out, or name prediction files only"
                raise DstressError("a run has its own gold", where=str(place), fix=fix)
            run = path if isinstance(path, RunFolder) else RunFolder.open(place)
            systems.append(system_of(run, called, convention))
        else:
            source = PredictionSource(place, gold)
            systems.append(System(called, (ORIGINAL,), convention, lambda _, source=source: source, None, format_name))
    return systems


def system_of(run: RunFolder, name: str = "", convention: str = "") -> System:
    """A run under the convention of its scores, or another."""
    return System(
        name or run.path.name,
        run.variants,
        convention or run.scores.convention,
        lambda variant: PredictionSource(predictions_of(run, variant), corpus_of(run, variant)),
        run,
    )
