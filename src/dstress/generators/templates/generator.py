"""The default utterance generator: delexicalised user utterances of a training corpus, chosen, joined and filled."""

from __future__ import annotations

from random import Random

from dstress.generators.base import Candidate, Generator, Goal
from dstress.generators.matching import unsaid
from dstress.generators.templates.composition import Composer, Option, by_service
from dstress.generators.templates.filler import Filler
from dstress.generators.templates.similar_slots import with_kin
from dstress.generators.templates.system_acts import Listener
from dstress.generators.templates.tokens import element
from dstress.generators.templates.training import learn
from dstress.generators.templates.writing import write_sentence
from dstress.resources import Material, Resources
from dstress.text.utterance import random_for
from dstress.text.writing_style import WritingStyle, corpus_style

_SPREAD = 0.35


class Templates(Generator):
    """Says goals with templates learned from a training corpus; needs no weights."""

    _listener: Listener
    _composer: Composer
    _filler: Filler
    _style: WritingStyle

    def prepare(self, resources: Resources, train: Material) -> None:
        """Learn templates, and how the corpus to be stressed writes."""
        learned = learn(train)
        self._listener = learned.listener
        library = with_kin(learned.library, resources.schema, learned.vocabulary)
        self._composer = Composer(library, learned.nouns, learned.vocabulary.introducing)
        self._filler = Filler(learned.surfaces, resources.schema)
        self._style = corpus_style(resources.corpus)

    def generate(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        """Utterances that say the goal, in the order of their fit to the system turn."""
        key = frozenset(element(slot, value) for slot, value in goal.spoken.items())
        doing = self._listener.hear(system)
        options = self._composer.both(by_service(key, doing), doing, goal.unspoken) if key and n > 0 else []
        random = random_for("templates", system, sorted(goal.spoken.items()), sorted(goal.unspoken.items()))
        found: dict[str, float] = {}
        for score, tokens in _shuffled(options, random):
            text = write_sentence(self._filler.fill(tokens, goal.spoken, self._style), self._style)
            if text and text not in found and not unsaid(text, goal):
                found[text] = score
                if len(found) >= n:
                    break
        return [Candidate(text, score) for text, score in found.items()]


def _shuffled(options: list[Option], random: Random) -> list[tuple[float, tuple[str, ...]]]:
    """Scores and options, the best first, with chance among those that are nearly as good."""
    drawn = [(option.score + random.gauss(0.0, _SPREAD), option.tokens) for option in options]
    return sorted(drawn, key=lambda one: (-one[0], one[1]))
