"""The same said in other words, by back-translation (CoCo, Li et al. 2021, section 4.1; CheckDST's PI; RADDLE)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from random import Random
from typing import ClassVar

from dstress.resources import Resources
from dstress.spec import ComponentSpec
from dstress.stressors.base import Outcome, Rewrite, TurnStressor, Unchanged
from dstress.stressors.paraphrase import candidates
from dstress.stressors.paraphrase.phrase_table import Change, PhraseTable, apply_changes, everyday_phrases
from dstress.text.utterance import Ranges, Utterance
from dstress.translators import Translation
from dstress.translators.round_trip import Backtranslation

LONGEST = 250
"""Words in a sentence, or in an utterance for a translator of whole utterances; longer ones are not translated."""
_SENTENCE = re.compile(r"\S.*?(?:[.?!]+(?=\s|$)|(?=[\r\n])|$)", re.DOTALL)
_Answers = Sequence[list[list[Translation]]]
"""For each stretch that was translated, the candidates of each route."""

SILENT = Unchanged("the translator gave no answer")
SAME = Unchanged("nothing came back in other words")
LONG = Unchanged("too long to translate")


class Paraphrase(TurnStressor):
    """The user's words through other languages and back; values stay, other words and word order may change.

    `pivots` are routes through other languages, such as `es` or `es-en-eo`; without them the translator's own.
    `translator` is `apertium`, `http(url=...)`, `huggingface(model=..., back=...)` or your own. `only_updates` leaves
    turns alone that change nothing in the state, as CoCo does (footnote 8).
    """

    languages = ("en",)
    needs: ClassVar[tuple[str, ...]] = ("apertium",)
    rephrases: ClassVar[bool] = True

    def __init__(
        self,
        pivots: tuple[str, ...] = (),
        translator: str | ComponentSpec = "apertium",
        only_updates: bool = False,
    ) -> None:
        self.backtranslation = Backtranslation(translator, pivots)
        self.phrase_table = PhraseTable(everyday_phrases())
        self.only_updates = only_updates

    def prepare(self, resources: Resources) -> None:
        """Every step of every route can be taken."""
        super().prepare(resources)
        self.backtranslation.check()

    def rewrite_utterances(self, utterances: Sequence[Utterance]) -> list[Outcome]:
        """All utterances in one batch per step of each route."""
        rough = self.backtranslation.translator.rough
        parts = [self._parts(utterance, rough) for utterance in utterances]
        pairs = list(zip(utterances, parts, strict=True))
        texts = [utterance.text[start:end] for utterance, spans in pairs for start, end in spans]
        translations = iter(self.backtranslation.translations(texts))
        choose = self._choose_changes if rough else self._choose_whole
        outcomes: list[Outcome] = []
        for utterance, spans in pairs:
            if spans:
                outcomes.append(choose(utterance, spans, [next(translations) for _ in spans]))
            elif self._is_passed_over(utterance):
                outcomes.append(None)
            else:
                outcomes.append(LONG if len(utterance.text.split()) > LONGEST else SAME)
        return outcomes

    def _parts(self, utterance: Utterance, rough: bool) -> list[tuple[int, int]]:
        """The stretches to translate: sentences that can change for a rough translator, else the whole."""
        if self._is_passed_over(utterance):
            return []
        spans = [match.span() for match in _SENTENCE.finditer(utterance.text)] if rough else [(0, len(utterance.text))]
        short = [(start, end) for start, end in spans if len(utterance.text[start:end].split()) <= LONGEST]
        if not rough:
            return short
        # A sentence without any phrase that may change cannot change, whatever comes back.
        return [(start, end) for start, end in short if self.phrase_table.can_change(utterance.text[start:end])]

    def _is_passed_over(self, utterance: Utterance) -> bool:
        return not utterance.text.strip() or (self.only_updates and utterance.turn.state == utterance.before)

    def _choose_changes(self, utterance: Utterance, spans: Ranges, answers: _Answers) -> Outcome:
        """All changes that some route offers and that leave values alone; where routes differ, one at random."""
        if not any(route for routes in answers for route in routes):
            return SILENT
        kept = [*utterance.protected, *_references(utterance)]
        offered = {
            change._replace(start=begin + change.start, end=begin + change.end)
            for (begin, stop), routes in zip(spans, answers, strict=True)
            for route in routes
            for candidate in route
            for change in self.phrase_table.find_changes(utterance.text[begin:stop], candidate.text)
        }
        free = [
            change for change in offered if not any(change.start < end and start < change.end for start, end in kept)
        ]
        changes = list(_draw(free, utterance.random))
        return apply_changes(utterance.text, changes) if any(not change.slight for change in changes) else SAME

    def _choose_whole(self, utterance: Utterance, spans: Ranges, answers: _Answers) -> Outcome:
        """The candidate with the highest round-trip confidence that is a paraphrase and says every value."""
        ranked = sorted(chain.from_iterable(answers[0]), key=lambda candidate: -candidate.score)
        problems = []
        for candidate in ranked:
            text = candidates.match_style(candidate.text, utterance.text)
            problem = candidates.find_problem(utterance.text, text) or self.objection(utterance, Rewrite(text))
            if not problem:
                return text
            problems.append(problem)
        return Unchanged(problems[0]) if problems else SILENT


def _draw(offered: Iterable[Change], random: Random) -> Iterator[Change]:
    """One change for each place; of two that overlap, the longer, which comes first."""
    at = 0
    ordered = sorted(offered, key=lambda change: (change.start, -change.end, change.text, change.slight))
    for _, same_place in groupby(ordered, key=lambda change: (change.start, change.end)):
        choices = list(same_place)
        if choices[0].start >= at:
            yield choices[int(random.random() * len(choices))]
            at = choices[0].end


def _references(utterance: Utterance) -> Iterator[tuple[int, int]]:
    """Where the utterance refers to a value given before: those words carry the label."""
    for reference in utterance.turn.coreferences:
        at = utterance.text.lower().find(reference.expression.lower())
        if reference.expression and at >= 0:
            yield at, at + len(reference.expression)
