"""A turn said anew by an utterance generator from its own goal, where the goal is all that the user said.

A generator knows values and no more: what the user asks for, agrees to or names beside them would be lost. So a draft
must have every telling word of the turn, and no other.
"""

from __future__ import annotations

from collections.abc import Sequence

from dstress.errors import CorpusError
from dstress.generators import Generator, Request, generators
from dstress.generators.goals import own_goal, state_with
from dstress.generators.matching import find_oversaid, find_unsaid
from dstress.resources import Resources
from dstress.spec import ComponentSpec
from dstress.stressors.counterfactual.fits import fit_once
from dstress.stressors.paraphrase import candidates
from dstress.text.utterance import Utterance

_CANDIDATES = 10


class Regeneration:
    """Drafts by a generator, which learns from `train`, by default the corpus's own training split."""

    def __init__(self, generator: str | ComponentSpec, train: str) -> None:
        self.generator: Generator = generators.create(generator)
        self.train = train

    def training(self, own: str) -> str:
        """The training corpus: the one that was named, or the stressed corpus's own split."""
        if not (self.train or own):
            raise CorpusError(
                "a generator learns what users say from training data, and this corpus has no training split",
                fix="name one of the same services: paraphrase(generator=templates, train=mwz21-trade:train)",
            )
        return self.train or own

    def prepare(self, resources: Resources) -> None:
        """Let the generator learn."""
        train = resources.load(self.training(resources.train))
        self.generator = fit_once(self.generator, resources, train)

    def drafts(self, utterances: Sequence[Utterance]) -> list[list[str]]:
        """For each utterance the drafts that say all of it, the best first."""
        goals = [own_goal(utterance) for utterance in utterances]
        wanted = [
            place
            for place, (utterance, goal) in enumerate(zip(utterances, goals, strict=True))
            if goal.spoken and not goal.unspoken and state_with(utterance, goal) == utterance.turn.state
        ]
        requests = [Request(utterances[place].turn.system, goals[place], utterances[place]) for place in wanted]
        drafts: list[list[str]] = [[] for _ in utterances]
        for place, made in zip(wanted, self.generator.generate_all(requests, _CANDIDATES), strict=True):
            goal, said = goals[place], utterances[place].text
            drafts[place] = [
                one.text
                for one in made
                if not find_unsaid(one.text, goal)
                and not find_oversaid(one.text, goal)
                and _says_the_same(said, one.text)
            ]
        return drafts


def _says_the_same(original: str, draft: str) -> bool:
    return candidates.telling_words(original) == candidates.telling_words(draft) and not candidates.find_problem(
        original, draft
    )
