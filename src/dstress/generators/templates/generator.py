"""The default utterance generator: delexicalised user utterances of a training corpus, chosen, joined and filled."""

from __future__ import annotations

from collections.abc import Sequence

from dstress.generators.base import Candidate, Generator, Goal, Request
from dstress.generators.matching import find_unsaid
from dstress.generators.templates.acts.annotation import has_acts
from dstress.generators.templates.acts.composition import compose
from dstress.generators.templates.acts.learning import ActLibrary, learn_for
from dstress.generators.templates.composition import Composer
from dstress.generators.templates.filler import Filler
from dstress.generators.templates.system_acts import ActTagger
from dstress.generators.templates.tokens import element_for, words
from dstress.generators.templates.training import Learned, learn
from dstress.generators.templates.unseen_slots import borrow_templates
from dstress.generators.templates.writing import write_sentence
from dstress.resources import Material, Resources
from dstress.storage.fits import load_or_fit
from dstress.text.mentions import find_value
from dstress.text.utterance import random_for
from dstress.text.writing_style import WritingStyle, corpus_style

_SPREAD = 0.35
"""Chance among phrasings that are nearly as good as each other."""


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
            return [self._compose(system, goal, n) for system, goal, _ in requests]
        return [compose(self._by_acts, request, n) for request in requests]

    def _compose(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        if not goal.spoken or n < 1:
            return []
        key = frozenset(element_for(slot, value) for slot, value in goal.spoken.items())
        heard = frozenset(
            element_for(slot, value) for slot, value in goal.spoken.items() if find_value(system, slot, (value,))
        )
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
            if any(phrase in text.lower() for phrase in words("misfits")):
                continue
            if text and text not in candidates and not find_unsaid(text, goal):
                candidates[text] = score
                if len(candidates) >= n:
                    break
        return [Candidate(text, score) for text, score in candidates.items()]
