"""The default utterance generator: delexicalised user utterances of a training corpus, chosen, joined and filled."""

from __future__ import annotations

from collections.abc import Sequence

from dstress.resources import Material, Resources
from dstress.storage.fits import load_or_fit
from dstress.stressors.generators.base import Candidate, Generator, Goal, Request
from dstress.stressors.generators.matching import find_unsaid
from dstress.stressors.generators.templates.acts.composition import compose
from dstress.stressors.generators.templates.acts.learning import ActLibrary, learn_for
from dstress.stressors.generators.templates.acts.turns import has_acts
from dstress.stressors.generators.templates.composition import Composer
from dstress.stressors.generators.templates.filler import Filler, write_sentence
from dstress.stressors.generators.templates.learning import Learned, learn
from dstress.stressors.generators.templates.library import borrow_templates
from dstress.stressors.generators.templates.system_acts import ActTagger
from dstress.stressors.generators.templates.tokens import element_for, has_phrase
from dstress.text.mentions import find_value
from dstress.text.utterance import random_for
from dstress.text.writing_style import WritingStyle, corpus_style

_SPREAD = 0.35  # chance among phrasings that are nearly as good as each other


class Templates(Generator):
    """Says goals with templates learned from a training corpus; needs no weights."""

    _by_acts: ActLibrary | None = None
    _tagger: ActTagger
    _composer: Composer
    _filler: Filler
    _style: WritingStyle

    def prepare(self, resources: Resources, train: Material) -> None:
        """Learn templates, and how the corpus to be stressed writes."""
        if has_acts(train):
            self._by_acts = learn_for(resources, train)
            return
        learned = load_or_fit(resources.folder, type(self), train, Learned, lambda: learn(train))
        self._tagger = learned.tagger
        library = borrow_templates(learned.library, resources.schema, learned.vocabulary)
        self._composer = Composer(library, learned.flag_words, learned.vocabulary.introducing)
        self._filler = Filler(learned.surfaces, resources.schema)
        self._style = corpus_style(resources.corpus)

    def generate(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        """Utterances that say the goal, in the order of their fit to the system turn."""
        return self.generate_all([Request(system, goal)], n)[0]

    def generate_all(self, requests: Sequence[Request], n: int) -> list[list[Candidate]]:
        """By acts where turns have them, else by the words of the system's turn."""
        if self._by_acts is None:
            return [self._compose(system, goal, n) for system, goal, *_ in requests]
        return [compose(self._by_acts, request, n) for request in requests]

    def _compose(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        if not goal.spoken or n < 1:
            return []
        elements = {slot: element_for(slot, value) for slot, value in goal.spoken.items()}
        key = frozenset(elements.values())
        heard = frozenset(elements[slot] for slot in elements if find_value(system, slot, (goal.spoken[slot],)))
        act = self._tagger.tag(system)
        if goal.may_decline and act.kind == "asks" and act.kind_toward(key) == "turns":
            return []  # whatever is said leaves the question unanswered, and nobody has said it
        act = act._replace(offers=act.offers and goal.may_decline)
        phrasings = self._composer.compose(key, act, goal.unspoken, heard)
        random = random_for("templates", system, sorted(goal.spoken.items()), sorted(goal.unspoken.items()))
        scored = [(phrasing.score + random.gauss(0.0, _SPREAD), phrasing.tokens) for phrasing in phrasings]
        candidates: dict[str, float] = {}
        for score, tokens in sorted(scored, key=lambda item: (-item[0], item[1])):
            text = write_sentence(self._filler.fill(tokens, goal.spoken, self._style), self._style)
            fits = text and text not in candidates and not has_phrase(text.lower(), "misfits")
            if fits and not find_unsaid(text, goal):
                candidates[text] = score
                if len(candidates) >= n:
                    break
        return [Candidate(text, score) for text, score in candidates.items()]
