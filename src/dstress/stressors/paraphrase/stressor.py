"""The same said in other words (CheckDST's PI; RADDLE), or only back-translated (CoCo, Li et al. 2021, section 4.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, groupby
from pathlib import Path
from random import Random
from typing import ClassVar, Literal

import msgspec

from dstress.errors import SpecError
from dstress.resources import Resources
from dstress.spec import ComponentSpec, parse
from dstress.stressors.base import Outcome, Rewrite, TurnStressor, Unchanged
from dstress.stressors.counterfactual.fits import fit_once, training_corpus
from dstress.stressors.generators import Generator, Request, generators
from dstress.stressors.generators.goals import own_goal, state_with
from dstress.stressors.generators.matching import find_oversaid, find_unsaid, overlap
from dstress.stressors.paraphrase import candidates
from dstress.stressors.paraphrase.phrase_table import Change, PhraseTable, apply_changes, everyday_phrases
from dstress.stressors.paraphrase.sentence_frames import Sentences
from dstress.stressors.translators import Translation
from dstress.stressors.translators.round_trip import Backtranslation
from dstress.text.edits import differing_words
from dstress.text.similarity import Encoder
from dstress.text.utterance import Ranges, Utterance
from dstress.text.writing_style import corpus_style

LONGEST = 250
"""Words in a sentence, or in an utterance for a translator of whole utterances; longer ones are not translated."""
DRAFTS = 8
FAR, NEAR = 0.5, 0.2
"""Shares of words that differ: enough for a strong paraphrase, and too few for one."""
MEANING = 0.6
"""The cosine below which an encoder says that a draft means something else."""
_SENTENCE = re.compile(r"\S.*?(?:[.?!]+(?=\s|$)|(?=[\r\n])|$)", re.DOTALL)
_Answers = Sequence[list[list[Translation]]]  # for each stretch that was translated, the candidates of each route

SILENT = Unchanged("the translator gave no answer")
SAME = Unchanged("nothing came back in other words")
LONG = Unchanged("too long to translate")

_CANDIDATES = 10


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
            problem = "paraphrase: a mild paraphrase has no candidates for an encoder"
            raise SpecError(problem, fix="take strength=strong")
        self.strength, self.encoder, self.only_updates = strength, encoder, only_updates
        # A strong paraphrase needs no translator: it has one where a spec says so.
        translates = strength == "mild" or translator is not None or pivots
        self.backtranslation = Backtranslation(translator or "apertium", pivots) if translates else None
        self.regeneration = None if generator is None else Regeneration(generator, train)
        self.phrase_table = PhraseTable(everyday_phrases())

    def key(self) -> str:
        """Without the strength if mild: those are the words that `paraphrase` had before there was another one."""
        spec = parse(super().key())
        arguments = {name: value for name, value in spec.arguments.items() if (name, value) != ("strength", "mild")}
        if self.regeneration is not None and self.regeneration.generator.keeps:
            # Without the folder of its weights, which is another on every machine.
            arguments["generator"] = parse(str(arguments["generator"])).name
        return str(msgspec.structs.replace(spec, arguments=arguments))

    def files(self) -> tuple[Path, ...]:
        """Those of the generator."""
        return () if self.regeneration is None else self.regeneration.generator.files()

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
        """The utterances in other words; those that say nothing, or need not change, are passed over."""
        changing = [
            bool(each.text.strip()) and not (self.only_updates and each.turn.state == each.before)
            for each in utterances
        ]
        rewritten = iter(self._rewrite(list(compress(utterances, changing))))
        return [next(rewritten) if is_changing else None for is_changing in changing]

    def _rewrite(self, utterances: Sequence[Utterance]) -> Iterable[Outcome]:
        """Translations of all utterances in one batch per step of each route; then the best candidate of each."""
        translated: list[Outcome] = [None] * len(utterances)
        if self.backtranslation is not None:
            translated = self._translate(utterances, self.backtranslation)
        if self.strength == "mild":
            return translated
        generated = [[] for _ in utterances] if self.regeneration is None else self.regeneration.drafts(utterances)
        return [
            self._restate(utterance, [*drafts, other] if isinstance(other, str) else drafts)
            for utterance, drafts, other in zip(utterances, generated, translated, strict=True)
        ]

    def _restate(self, utterance: Utterance, further: Sequence[str]) -> Outcome:
        """The first of several drafts that is far enough from the user's words, or else the farthest."""
        kept = [*utterance.protected, *_references(utterance)]
        sentences = Sentences(utterance.text, kept, utterance.turn.system, self._usual)
        best, farthest = "", NEAR
        frames = (sentences.restate(utterance.random) for _ in range(DRAFTS))
        first = self.regeneration is not None and self.regeneration.generator.keeps
        for draft in chain(further, frames) if first else chain(frames, further):
            differing, words = differing_words(utterance.text, draft)
            distance = differing / max(words, 1)
            if not draft or distance < farthest or self.objection(utterance, Rewrite(draft)):
                continue
            if self.encoder and float(Encoder.require().cosines([(utterance.text, draft)])[0]) < MEANING:
                continue
            if distance >= (NEAR if first and draft in further else FAR):
                return draft
            best, farthest = draft, distance
        return best or SAME

    def _translate(self, utterances: Sequence[Utterance], backtranslation: Backtranslation) -> list[Outcome]:
        """The best back-translation of each: changes that a rough translator offers, else a whole candidate."""
        rough = backtranslation.translator.rough
        pairs = [(utterance, self._stretches(utterance.text, rough)) for utterance in utterances]
        texts = [utterance.text[start:end] for utterance, spans in pairs for start, end in spans]
        translations = iter(backtranslation.translations(texts))
        choose = self._choose_changes if rough else self._choose_whole
        return [
            choose(utterance, spans, [next(translations) for _ in spans])
            if spans
            else (LONG if len(utterance.text.split()) > LONGEST else SAME)
            for utterance, spans in pairs
        ]

    def _stretches(self, text: str, rough: bool) -> list[tuple[int, int]]:
        """The stretches to translate: sentences that can change for a rough translator, else the whole."""
        spans = [match.span() for match in _SENTENCE.finditer(text)] if rough else [(0, len(text))]
        short = [(start, end) for start, end in spans if len(text[start:end].split()) <= LONGEST]
        # a sentence without any phrase that may change cannot change, whatever comes back.
        return [(start, end) for start, end in short if not rough or self.phrase_table.offers(text[start:end])]

    def _choose_changes(self, utterance: Utterance, spans: Ranges, answers: _Answers) -> Outcome:
        """All changes that some route offers and that leave values alone; where routes differ, one at random."""
        if not any(route for routes in answers for route in routes):
            return SILENT
        kept = [*utterance.protected, *_references(utterance)]
        offered = {
            change._replace(start=begin + change.start, end=begin + change.end)
            for (begin, stop), routes in zip(spans, answers, strict=True)
            for candidate in chain.from_iterable(routes)
            for change in self.phrase_table.find_changes(utterance.text[begin:stop], candidate.text)
        }
        changes = list(_draw((change for change in offered if not overlap(change[:2], kept)), utterance.random))
        return SAME if all(change.slight for change in changes) else apply_changes(utterance.text, changes)

    def _choose_whole(self, utterance: Utterance, spans: Ranges, answers: _Answers) -> Outcome:
        """The candidate with the highest round-trip confidence that is a paraphrase and says every value."""
        first = ""
        for candidate in sorted(chain.from_iterable(answers[0]), key=lambda candidate: -candidate.score):
            text = candidates.match_style(candidate.text, utterance.text)
            problem = candidates.find_problem(utterance.text, text) or self.objection(utterance, Rewrite(text))
            if not problem:
                return text
            first = first or problem
        return Unchanged(first) if first else SILENT


def _draw(offered: Iterable[Change], random: Random) -> Iterator[Change]:
    """One change for each place; of two that overlap, the longer, which comes first."""
    at = 0
    ordered = sorted(offered, key=lambda change: (change.start, -change.end, change.text, change.slight))
    for (start, end), same_place in groupby(ordered, key=lambda change: change[:2]):
        if start >= at:
            choices, at = list(same_place), end
            yield choices[int(random.random() * len(choices))]


def _references(utterance: Utterance) -> Iterator[tuple[int, int]]:
    """Where the utterance refers to a value given before: those words carry the label."""
    for reference in utterance.turn.coreferences:
        at = utterance.text.lower().find(reference.expression.lower())
        if reference.expression and at >= 0:
            yield at, at + len(reference.expression)


class Regeneration:
    """A turn said anew by a generator from its own goal, where the goal is all that the user said.

    Most generators know values and no more: what the user asks for, agrees to or names beside them would be lost. So a
    draft must have every telling word of the turn, and no other. One that `keeps` those by itself may say any turn. It
    learns from `train`, by default the corpus's own training split.
    """

    def __init__(self, generator: str | ComponentSpec, train: str) -> None:
        self.generator: Generator = generators.create(generator)
        self.train = train

    def training(self, own: str) -> str:
        """The corpus that the generator learns from."""
        example = "paraphrase(generator=templates, train=mwz21-trade:train)"
        return training_corpus(self.train, own, "a generator", example)

    def prepare(self, resources: Resources) -> None:
        """Let the generator learn."""
        self.generator = fit_once(self.generator, resources, resources.load(self.training(resources.train)))

    def drafts(self, utterances: Sequence[Utterance]) -> list[list[str]]:
        """For each utterance the drafts that say all of it, the best first."""
        requests: dict[int, Request] = {}
        for place, utterance in enumerate(utterances):
            goal = own_goal(utterance)
            is_whole = state_with(utterance, goal) == utterance.turn.state
            if is_whole and (self.generator.keeps or (goal.spoken and not goal.unspoken)):
                requests[place] = Request(utterance.turn.system, goal, utterance, keeps=True)
        drafts: list[list[str]] = [[] for _ in utterances]
        generated = self.generator.generate_all(list(requests.values()), _CANDIDATES)
        for (place, request), made in zip(requests.items(), generated, strict=True):
            original = utterances[place].text
            if self.generator.keeps:  # it has compared them with the turn itself
                drafts[place] = [candidates.match_style(draft.text, original) for draft in made]
                continue
            telling = candidates.telling_words(original)
            drafts[place] = [
                text
                for text, _ in made
                if not find_unsaid(text, request.goal)
                and not find_oversaid(text, request.goal)
                and candidates.telling_words(text) == telling
                and not candidates.find_problem(original, text)
            ]
        return drafts
