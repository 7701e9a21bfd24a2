"""A tracker's answers under any composition of stressors, dialogue by dialogue, with what was edited.

Everything is measured once and remembered. What a measurement costs is known before anything is asked: turns that are
as they were, with their history, keep the answer to the original.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from rapidfuzz.distance import Levenshtein

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Turn
from dstress.pipeline.probe import Answers, Probe, first_difference
from dstress.pipeline.stress import StressedCorpus, stress
from dstress.pipeline.track import Request
from dstress.runs.suites.base import ORIGINAL
from dstress.scoring.metrics.base import Floats
from dstress.text.tokens import words_in

TURNS, RIGHT, LOST, EDITED = range(4)
"""What is counted of a dialogue: turns, those right, how many more are right on the original, edited words."""


class Trial(NamedTuple):
    """A composition, or `original`, on a dialogue.

    With `losses_only` turns that are wrong on the original are not asked again and count as wrong: what a stressor
    breaks by chance it seldom fixes, so a choice needs them less than it needs more dialogues.
    """

    spec: str
    dialogue: str
    losses_only: bool = False


class _Plan(NamedTuple):
    """A stressed dialogue and what must be asked about it; `base` is its history where that is another one."""

    dialogue: Dialogue
    turns: list[int]
    base: Dialogue
    base_turns: list[int]

    @property
    def cost(self) -> int:
        return len(self.turns) + len(self.base_turns)


class Measurements:
    """All that is known of a tracker on a corpus so far."""

    def __init__(self, probe: Probe, corpus: Corpus, seed: int) -> None:
        self.probe, self.corpus, self.seed = probe, corpus, seed
        self.dialogues = {dialogue.id: dialogue for dialogue in corpus}
        self._stressed: dict[str, StressedCorpus] = {}
        self._plans: dict[Trial, _Plan] = {}
        self._answers: dict[str, Answers] = {}
        self._right: dict[str, set[int]] = {}
        self._counts: dict[Trial, Floats] = {}

    def prepare(self, spec: str) -> None:
        """Fit a composition; raises a DstressError where the corpus does not allow it."""
        if spec not in self._stressed:
            self._stressed[spec] = stress(self.corpus, spec, seed=self.seed)

    def cost(self, trial: Trial) -> int:
        """How many turns are asked for it; the original must have been measured for `losses_only`."""
        return len(self.dialogues[trial.dialogue].turns) if trial.spec == ORIGINAL else self._plan(trial).cost

    def counts(self, trials: Iterable[Trial]) -> Floats:
        """Statistics by dialogue, (dialogues, 4), of what was measured."""
        return np.array([self._counts[trial] for trial in trials], np.float64).reshape(-1, 4)

    def measure(self, trials: Sequence[Trial]) -> None:
        """Ask whatever of these is not known yet, all together; the originals come first."""
        names = [name for name in dict.fromkeys(trial.dialogue for trial in trials) if name not in self._answers]
        originals = [Request(self.dialogues[name], list(range(len(self.dialogues[name].turns)))) for name in names]
        self._answers |= dict(zip(names, self.probe.ask(originals), strict=True))
        self._judge([Trial(ORIGINAL, name) for name in names], [self._answers[name] for name in names])
        new = [trial for trial in dict.fromkeys(trials) if trial not in self._counts and trial.spec != ORIGINAL]
        plans, bases = [self._plan(trial) for trial in new], [self._answers[trial.dialogue] for trial in new]
        # A sequential tracker's own answers to the histories, from the first turn on that is another.
        histories = []
        for plan, clean in zip(plans, bases, strict=True):
            first = plan.base_turns[0] if plan.base_turns else 0
            histories.append(Request(plan.base, plan.base_turns, {first - 1: clean[first - 1].state} if first else {}))
        bases = [clean | own for clean, own in zip(bases, self.probe.ask(histories), strict=True)]
        requests = [
            Request(plan.dialogue, plan.turns, {turn: answer.state for turn, answer in base.items()})
            for plan, base in zip(plans, bases, strict=True)
        ]
        answered = self.probe.ask(requests)
        self._judge(new, [base | answers for base, answers in zip(bases, answered, strict=True)])

    def _plan(self, trial: Trial) -> _Plan:
        if trial not in self._plans:
            self.prepare(trial.spec)
            original = self.dialogues[trial.dialogue]
            (stressed,) = self._stressed[trial.spec].stressor.stress([original], self.seed)
            turns = tuple(msgspec.structs.replace(turn.remembered, stress=None) for turn in stressed.turns)
            first = first_difference(turns, original.turns)
            needed = [number for number, turn in enumerate(stressed.turns) if turn.changed or number > first]
            if trial.losses_only:
                needed = [number for number in needed if number in self._right[trial.dialogue]]
            followed: list[int] = []
            if self.probe.tracker.sequential:
                followed = list(range(first, len(turns)))
                needed = [n for n in needed if stressed.turns[n].remembered is not stressed.turns[n]]
            self._plans[trial] = _Plan(stressed, needed, msgspec.structs.replace(stressed, turns=turns), followed)
        return self._plans[trial]

    def _judge(self, trials: Sequence[Trial], answers: Sequence[Answers]) -> None:
        of_original = self.dialogues
        dialogues = [of_original[t.dialogue] if t.spec == ORIGINAL else self._plans[t].dialogue for t in trials]
        judged = self.probe.judge(list(zip(dialogues, answers, strict=True)))
        for trial, dialogue, errors in zip(trials, dialogues, judged, strict=True):
            right = {turn for turn, wrong in errors.items() if not wrong}
            before = self._right.setdefault(trial.dialogue, right)  # the original is judged first
            right = right & before if trial.losses_only else right
            edited = sum(map(count_edited_words, dialogue.turns))
            self._counts[trial] = np.array(
                [len(dialogue.turns), len(right), len(before) - len(right), edited], np.float64
            )


def count_edited_words(turn: Turn) -> int:
    """Words that were replaced, added or left out, of both speakers; a changed turn has at least one."""
    if not turn.changed:
        return 0
    pairs = ((turn.original.user, turn.user), (turn.original.system, turn.system))
    words = [[words_in(text.casefold()) for text in pair] for pair in pairs]
    return max(1, sum(Levenshtein.distance(old, new) for old, new in words))
