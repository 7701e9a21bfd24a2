"""The same said in other words, by back-translation (CoCo, Li et al. 2021, section 4.1; CheckDST's PI; RADDLE)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import ClassVar

from dstress.resources import Resources
from dstress.spec import ComponentSpec
from dstress.stressors.base import Outcome, Rewrite, TurnStressor, Unchanged
from dstress.stressors.paraphrase import candidates
from dstress.stressors.paraphrase.changes import Change, Rephrasing, applied, phrases
from dstress.text.utterance import Utterance
from dstress.translators import Translation
from dstress.translators.round_trip import Backtranslation

LONGEST = 250
"""Words in a sentence, or in an utterance for a translator of whole utterances; longer ones are not translated."""
_SENTENCE = re.compile(r"\S.*?(?:[.?!]+(?=\s|$)|(?=[\r\n])|$)", re.DOTALL)
_ROUTES = list[list[Translation]]

SILENT = Unchanged("the translator gave no answer")
SAME = Unchanged("nothing came back in other words")
LONG = Unchanged("too long to translate")


class Paraphrase(TurnStressor):
    """The user's words through other languages and back; values stay, other words and word order may change.

    `pivots` are routes through other languages, such as `es` or `es-en-eo`; without them the translator's own.
    `translator` is `apertium`, `http(url=...)`, `huggingface(model=..., back=...)` or your own. `only_updates` leaves
    turns alone that change nothing in the state, as CoCo does (footnote 8).
    """

    needs: ClassVar[tuple[str, ...]] = ("apertium",)
    rephrases: ClassVar[bool] = True

    def __init__(
        self,
        pivots: tuple[str, ...] = (),
        translator: str | ComponentSpec = "apertium",
        only_updates: bool = False,
    ) -> None:
        self.backtranslation = Backtranslation(translator, pivots)
        self.rephrasing = Rephrasing(phrases())
        self.only_updates = only_updates

    def prepare(self, resources: Resources) -> None:
        """Every step of every route can be taken."""
        super().prepare(resources)
        self.backtranslation.check()

    def rewrite_utterances(self, utterances: Sequence[Utterance]) -> list[Outcome]:
        """All utterances in one batch per step of each route."""
        rough = self.backtranslation.translator.rough
        parts = [self._parts(one, rough) for one in utterances]
        texts = [one.text[start:end] for one, spans in zip(utterances, parts, strict=True) for start, end in spans]
        found = iter(self.backtranslation.translations(texts))
        answers = [[next(found) for _ in spans] for spans in parts]
        choose = self._pieced if rough else self._whole
        return [
            choose(one, spans, came) if spans else self._untranslated(one)
            for one, spans, came in zip(utterances, parts, answers, strict=True)
        ]

    def _parts(self, utterance: Utterance, rough: bool) -> list[tuple[int, int]]:
        """The stretches to translate: sentences that can change for a rough translator, else the whole."""
        if self._passed_over(utterance):
            return []
        spans = [match.span() for match in _SENTENCE.finditer(utterance.text)] if rough else [(0, len(utterance.text))]
        short = [(start, end) for start, end in spans if len(utterance.text[start:end].split()) <= LONGEST]
        # A sentence without any phrase that may change cannot change, whatever comes back.
        return [
            (start, end) for start, end in short if not rough or self.rephrasing.can_change(utterance.text[start:end])
        ]

    def _passed_over(self, utterance: Utterance) -> bool:
        return not utterance.text.strip() or (self.only_updates and utterance.turn.state == utterance.before)

    def _untranslated(self, utterance: Utterance) -> Outcome:
        if self._passed_over(utterance):
            return None
        return LONG if len(utterance.text.split()) > LONGEST else SAME

    def _pieced(self, utterance: Utterance, spans: Sequence[tuple[int, int]], answers: Sequence[_ROUTES]) -> Outcome:
        """All changes that some route offers and that leave values alone; where routes differ, one at random."""
        if not any(route for routes in answers for route in routes):
            return SILENT
        kept = [*utterance.protected, *_references(utterance)]
        offered = sorted(
            Change(span[0] + change.start, span[0] + change.end, change.said, change.slight)
            for span, routes in zip(spans, answers, strict=True)
            for route in routes
            for candidate in route
            for change in self.rephrasing.changes(utterance.text[span[0] : span[1]], candidate.text)
        )
        free = [
            change for change in offered if not any(change.start < end and start < change.end for start, end in kept)
        ]
        made = list(_drawn(utterance, free))
        return applied(utterance.text, made) if any(not change.slight for change in made) else SAME

    def _whole(self, utterance: Utterance, spans: Sequence[tuple[int, int]], answers: Sequence[_ROUTES]) -> Outcome:
        """The candidate with the highest round-trip confidence that is a paraphrase and says every value."""
        ranked = sorted((each for route in answers[0] for each in route), key=lambda each: -each.score)
        problems = []
        for candidate in ranked:
            text = candidates.in_style(candidate.text, utterance.text)
            found = candidates.problem(utterance.text, text) or self.objection(utterance, Rewrite(text))
            if not found:
                return text
            problems.append(found)
        return Unchanged(problems[0]) if problems else SILENT


def _drawn(utterance: Utterance, offered: Sequence[Change]) -> Iterator[Change]:
    """One change for each place; of two that overlap, the longer, which comes first."""
    at = 0
    ordered = sorted(set(offered), key=lambda change: (change.start, -change.end, change.said))
    for _, same_place in groupby(ordered, key=lambda change: (change.start, change.end)):
        choices = list(same_place)
        if choices[0].start >= at:
            yield choices[int(utterance.random.random() * len(choices))]
            at = choices[0].end


def _references(utterance: Utterance) -> Iterator[tuple[int, int]]:
    """Where the utterance refers to a value given before: those words carry the label."""
    for reference in utterance.turn.coreferences:
        at = utterance.text.lower().find(reference.expression.lower())
        if reference.expression and at >= 0:
            yield at, at + len(reference.expression)
