"""The same said in other words (CheckDST's PI; RADDLE), or only back-translated (CoCo, Li et al. 2021, section 4.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from random import Random
from typing import ClassVar, Literal

import msgspec

from dstress.errors import SpecError
from dstress.resources import Resources
from dstress.spec import ComponentSpec, parse
from dstress.stressors.base import Outcome, Rewrite, TurnStressor, Unchanged
from dstress.stressors.paraphrase import candidates
from dstress.stressors.paraphrase.phrase_table import Change, PhraseTable, apply_changes, everyday_phrases
from dstress.stressors.paraphrase.regeneration import Regeneration
from dstress.stressors.paraphrase.sentence_frames import Sentences
from dstress.text.edits import differing_words
from dstress.text.similarity import Encoder
from dstress.text.utterance import Ranges, Utterance
from dstress.text.writing_style import corpus_style
from dstress.translators import Translation
from dstress.translators.round_trip import Backtranslation

LONGEST = 250
"""Words in a sentence, or in an utterance for a translator of whole utterances; longer ones are not translated."""
DRAFTS = 8
FAR, NEAR = 0.5, 0.2
"""Shares of words that differ: enough for a strong paraphrase, and too few for one."""
MEANING = 0.6
"""The cosine below which an encoder says that a draft means something else."""
_SENTENCE = re.compile(r"\S.*?(?:[.?!]+(?=\s|$)|(?=[\r\n])|$)", re.DOTALL)
_Answers = Sequence[list[list[Translation]]]
"""For each stretch that was translated, the candidates of each route."""

SILENT = Unchanged("the translator gave no answer")
SAME = Unchanged("nothing came back in other words")
LONG = Unchanged("too long to translate")


class Paraphrase(TurnStressor):
    """The user's words in other words; values, names, numbers, times and days stay, and so does what is asked for.

    `strength=strong` says each sentence in another frame, by the house's own grammar. A `translator` that is named and
    a `generator` (`templates`, `network(...)`, `llm(...)`; it learns from `train`, or the corpus's own training split)
    give further drafts; with `encoder=true` a sentence encoder takes out those that mean something else.
    `strength=mild` is back-translation alone, by default through `apertium`; `translator` may be `http(url=...)`,
    `huggingface(model=..., back=...)` or your own, `pivots` are routes through other languages, such as `es` or
    `es-en-eo`. `only_updates` leaves turns alone that change nothing in the state, as CoCo does (footnote 8).
    """

    languages = ("en",)
    rephrases: ClassVar[bool] = True

    def __init__(
        self,
        strength: Literal["strong", "mild"] = "strong",
        pivots: tuple[str, ...] = (),
        translator: str | ComponentSpec | None = None,
        generator: str | ComponentSpec | None = None,
        train: str = "",
        encoder: bool = False,
        only_updates: bool = False,
    ) -> None:
        if strength == "mild" and encoder:
            raise SpecError(
                "paraphrase: a mild paraphrase has no candidates for an encoder", fix="take strength=strong"
            )
        self.strength, self.encoder, self.only_updates = strength, encoder, only_updates
        wanted = strength == "mild" or translator is not None or pivots
        self.backtranslation = Backtranslation(translator or "apertium", pivots) if wanted else None
        self.regeneration = None if generator is None else Regeneration(generator, train)
        self.phrase_table = PhraseTable(everyday_phrases())

    def key(self) -> str:
        """Without the strength if mild: those are the words that `paraphrase` had before there was another one."""
        spec = parse(super().key())
        arguments = {name: value for name, value in spec.arguments.items() if (name, value) != ("strength", "mild")}
        return str(msgspec.structs.replace(spec, arguments=arguments))

    def reads(self, train: str) -> tuple[str, ...]:
        """What the generator learns from, if one was named."""
        return () if self.regeneration is None else (self.regeneration.training(train),)

    def prepare(self, resources: Resources) -> None:
        """Learn how the corpus writes. Every step of every route can be taken, and an encoder is there if asked for."""
        super().prepare(resources)
        self._usual = corpus_style(resources.corpus)
        if self.backtranslation is not None:
            self.backtranslation.check()
        if self.regeneration is not None:
            self.regeneration.prepare(resources)
        if self.encoder:
            Encoder.require()

    def rewrite_utterances(self, utterances: Sequence[Utterance]) -> list[Outcome]:
        """Translations of all utterances in one batch per step of each route; then the best candidate of each."""
        if self.backtranslation is None:
            translated: list[Outcome] = [None] * len(utterances)
        else:
            translated = self._translate(utterances, self.backtranslation)
        if self.strength == "mild":
            return translated
        generated = [[] for _ in utterances] if self.regeneration is None else self.regeneration.drafts(utterances)
        further = [
            [*drafts, other] if isinstance(other, str) else drafts
            for drafts, other in zip(generated, translated, strict=True)
        ]
        return [self._restate(one, drafts) for one, drafts in zip(utterances, further, strict=True)]

    def _restate(self, utterance: Utterance, further: Sequence[str]) -> Outcome:
        """The first of several drafts that is far enough from the user's words, or else the farthest."""
        if self._is_passed_over(utterance):
            return None
        best, farthest = "", NEAR
        for draft in self._drafts(utterance, further):
            differing, words = differing_words(utterance.text, draft)
            distance = differing / max(words, 1)
            if (
                not draft
                or distance < farthest
                or self.objection(utterance, Rewrite(draft))
                or not self._same(utterance, draft)
            ):
                continue
            if distance >= FAR:
                return draft
            best, farthest = draft, distance
        return best or SAME

    def _drafts(self, utterance: Utterance, further: Sequence[str]) -> Iterator[str]:
        kept = [*utterance.protected, *_references(utterance)]
        sentences = Sentences(utterance.text, kept, utterance.turn.system, self._usual)
        yield from (sentences.restate(utterance.random) for _ in range(DRAFTS))
        yield from further

    def _same(self, utterance: Utterance, draft: str) -> bool:
        """Whether an encoder, if it was asked for, finds that the draft means the same."""
        return not self.encoder or float(Encoder.require().cosines([(utterance.text, draft)])[0]) >= MEANING

    def _translate(self, utterances: Sequence[Utterance], backtranslation: Backtranslation) -> list[Outcome]:
        rough = backtranslation.translator.rough
        parts = [self._parts(utterance, rough) for utterance in utterances]
        pairs = list(zip(utterances, parts, strict=True))
        texts = [utterance.text[start:end] for utterance, spans in pairs for start, end in spans]
        translations = iter(backtranslation.translations(texts))
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
