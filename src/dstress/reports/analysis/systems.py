"""What a study looks at: runs, and prediction files with their gold, as variants whose answers can be judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dstress.corpora.base import Corpus
from dstress.errors import DstressError, unknown
from dstress.runs.comparability import require_comparable, short_names
from dstress.runs.folder import ORIGINAL, RunFolder, is_run
from dstress.runs.judged import predictions_of
from dstress.scoring.open_pair import Gold, LoadedSystem, Predictions, PredictionSource, load_system, located
from dstress.scoring.score import Scored, ScoringOptions, tally_predictions
from dstress.scoring.shards import Watcher

_JUDGED = ScoringOptions(resamples=0, lenient=True)
"""Sums by dialogue are all that a study needs; whatever it tests, it resamples itself."""


class JudgedSystem(NamedTuple):
    """A tracker's answers to some variants of a corpus. A prediction file answers to the original alone."""

    name: str
    variants: tuple[str, ...]
    convention: str
    answers: RunFolder | LoadedSystem

    @property
    def run(self) -> RunFolder | None:
        """The run, where it is one."""
        return self.answers if isinstance(self.answers, RunFolder) else None

    def corpus(self, variant: str) -> Corpus:
        """The dialogues of a variant."""
        return self.answers.variant(variant).corpus() if isinstance(self.answers, RunFolder) else self.answers.corpus

    def judge(self, variant: str, metrics: Sequence[str], watchers: Sequence[Watcher] = ()) -> Scored:
        """Judge the answers to a variant once, for metrics and for whoever watches."""
        if variant not in self.variants:
            raise unknown("variant", variant, self.variants, where=self.name)
        predictions: Predictions
        if isinstance(self.answers, RunFolder):
            predictions = predictions_of(self.answers.variant(variant))
        else:
            predictions = self.answers.predictions
        source = PredictionSource(predictions, self.corpus(variant))
        with located(self.name):
            (scored,) = tally_predictions(source, [self.convention], metrics, (), _JUDGED, watchers)
        return scored


def open_systems(
    paths: Sequence[str | Path | RunFolder], gold: Gold | None = None, convention: str = "", format_name: str = ""
) -> list[JudgedSystem]:
    """Runs and prediction files by their names without endings; without `gold`, files must carry their own."""
    places = [path.path if isinstance(path, RunFolder) else Path(path) for path in paths]
    systems = []
    for path, place, called in zip(paths, places, short_names(places), strict=True):
        if isinstance(path, RunFolder) or is_run(place):
            if gold is not None:
                fix = "leave --gold out, or name prediction files only"
                raise DstressError("a run has its own gold", where=str(place), fix=fix)
            run = path if isinstance(path, RunFolder) else RunFolder.open(place)
            systems.append(JudgedSystem(called, run.variants, convention or run.scores.convention, run))
        else:
            loaded = load_system(PredictionSource(place, gold), called, format_name)
            systems.append(JudgedSystem(called, (ORIGINAL,), convention or loaded.convention, loaded))
    if format_name and all(system.run for system in systems):
        raise DstressError("a run is no file of some format", where=systems[0].name, fix="leave --format out")
    return systems


def shared_variants(first: JudgedSystem, second: JudgedSystem) -> list[str]:
    """The variants on which two systems can be compared; raises where they are not of one corpus and convention."""
    if first.run is not None and second.run is not None:
        same_convention = first.convention == second.convention  # where one was named, answers are judged anew by it
        return require_comparable([first.run, second.run], any_convention=same_convention).shared
    where = f"{first.name} and {second.name}"
    if first.convention != second.convention:
        problem = f"these are usually scored in different ways: {first.convention}, {second.convention}"
        raise DstressError(problem, where=where, fix="name one with --convention")
    ids = [{dialogue.id: len(dialogue.turns) for dialogue in system.corpus(ORIGINAL)} for system in (first, second)]
    if ids[0] != ids[1]:
        raise DstressError("they answer to other dialogues", where=where, fix="compare systems on the same data")
    return [ORIGINAL]
