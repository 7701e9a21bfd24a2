"""The same said in other words, by back-translation (CoCo, Li et al. 2021, section 4.1; CheckDST's PI; RADDLE)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import ClassVar

from dstress.resources import Setting
from dstress.spec import ComponentSpec
from dstress.stressors.base import Kept, Outcome, Restated, TurnStressor
from dstress.stressors.paraphrase import candidates
from dstress.stressors.paraphrase.changes import Change, Rephrasing, applied, phrases
from dstress.text.utterance import Utterance
from dstress.translators import Translation
from dstress.translators.round_trip import Backtranslation

LONGEST = 250
"""Words in a sentence, or in an utterance for a translator of whole utterances; longer ones are not translated."""
_SENTENCE = re.compile(r"\S.*?(?:[.?!]+(?=\s|$)|(?=[\r\n])|$)", re.DOTALL)
_ROUTES = list[list[Translation]]

SILENT = Kept("the translator gave no answer")
SAME = Kept("nothing came back in other words")
LONG = Kept("too long to translate")


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

    def prepare(self, setting: Setting) -> None:
        """Every step of every route can be taken."""
        super().prepare(setting)
        self.backtranslation.check()

    def restate_all(self, said: Sequence[Utterance]) -> list[Outcome]:
        """All utterances in one batch per step of each route."""
        rough = self.backtranslation.translator.rough
        parts = [self._parts(one, rough) for one in said]
        texts = [one.text[start:end] for one, spans in zip(said, parts, strict=True) for start, end in spans]
        found = iter(self.backtranslation.translations(texts))
        answers = [[next(found) for _ in spans] for spans in parts]
        choose = self._pieced if rough else self._whole
        return [
            choose(one, spans, came) if spans else self._untranslated(one)
            for one, spans, came in zip(said, parts, answers, strict=True)
        ]

    def _parts(self, said: Utterance, rough: bool) -> list[tuple[int, int]]:
        """The stretches to translate: sentences that can change for a rough translator, else the whole."""
        if self._passed_over(said):
            return []
        spans = [match.span() for match in _SENTENCE.finditer(said.text)] if rough else [(0, len(said.text))]
        short = [(start, end) for start, end in spans if len(said.text[start:end].split()) <= LONGEST]
        # A sentence without any phrase that may change cannot change, whatever comes back.
        return [(start, end) for start, end in short if not rough or self.rephrasing.can_change(said.text[start:end])]

    def _passed_over(self, said: Utterance) -> bool:
        return not said.text.strip() or (self.only_updates and said.turn.state == said.before)

    def _untranslated(self, said: Utterance) -> Outcome:
        if self._passed_over(said):
            return None
        return LONG if len(said.text.split()) > LONGEST else SAME

    def _pieced(self, said: Utterance, spans: Sequence[tuple[int, int]], answers: Sequence[_ROUTES]) -> Outcome:
        """All changes that some route offers and that leave values alone; where routes differ, one at random."""
        if not any(route for routes in answers for route in routes):
            return SILENT
        kept = [*said.protected, *_references(said)]
        offered = sorted(
            Change(span[0] + change.start, span[0] + change.end, change.said, change.slight)
            for span, routes in zip(spans, answers, strict=True)
            for route in routes
            for candidate in route
            for change in self.rephrasing.changes(said.text[span[0] : span[1]], candidate.text)
        )
        free = [
            change for change in offered if not any(change.start < end and start < change.end for start, end in kept)
        ]
        made = list(_drawn(said, free))
        return applied(said.text, made) if any(not change.slight for change in made) else SAME

    def _whole(self, said: Utterance, spans: Sequence[tuple[int, int]], answers: Sequence[_ROUTES]) -> Outcome:
        """The candidate with the highest round-trip confidence that is a paraphrase and says every value."""
        ranked = sorted((each for route in answers[0] for each in route), key=lambda each: -each.score)
        problems = []
        for candidate in ranked:
            text = candidates.in_style(candidate.text, said.text)
            found = candidates.problem(said.text, text) or self.objection(said, Restated(text))
            if not found:
                return text
            problems.append(found)
        return Kept(problems[0]) if problems else SILENT


def _drawn(said: Utterance, offered: Sequence[Change]) -> Iterator[Change]:
    """One change for each place; of two that overlap, the longer, which comes first."""
    at = 0
    ordered = sorted(set(offered), key=lambda change: (change.start, -change.end, change.said))
    for _, same_place in groupby(ordered, key=lambda change: (change.start, change.end)):
        choices = list(same_place)
        if choices[0].start >= at:
            yield choices[int(said.random.random() * len(choices))]
            at = choices[0].end


def _references(said: Utterance) -> Iterator[tuple[int, int]]:
    """Where the utterance refers to a value given before: those words carry the label."""
    for reference in said.turn.coreferences:
        at = said.text.lower().find(reference.expression.lower())
        if reference.expression and at >= 0:
            yield at, at + len(reference.expression)
