"""CoCo: what if the user had said something else that fits the dialogue? (Li et al. 2021)

Per user turn with a turn-level goal: another goal (drop, change, add), utterances that say it, two filters. The first
utterance that says all of its goal and nothing beyond takes the user's place; the history stays as it was. Where none
passes, the turn stays, or with `fallback=values` its values are substituted: that is CoCo+.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from dstress.dialogue import Frame, Span, service_of
from dstress.errors import SpecError
from dstress.resources import Resources
from dstress.spec import ComponentSpec
from dstress.stressors.base import Effect, Outcome, Rewrite, TurnStressor, Unchanged
from dstress.stressors.counterfactual import combinations as combination_tables
from dstress.stressors.counterfactual.classifier.linear import Linear
from dstress.stressors.counterfactual.filters import CANDIDATES, Verdict, choose, judge
from dstress.stressors.counterfactual.fits import fit_once, training_corpus
from dstress.stressors.counterfactual.goals import CounterfactualGoal, Limits, draw_goal
from dstress.stressors.generators import Generator, Goal, Request, generators
from dstress.stressors.values.dictionary import BUILT
from dstress.stressors.values.stressor import Values
from dstress.text.mentions import find_value
from dstress.text.utterance import Utterance

GENERATED, SUBSTITUTED = "generated", "substituted"
_EXAMPLE = "counterfactual(train=mwz21-trade:train)"


class Counterfactual(TurnStressor):
    """The user says something else that fits: slots are dropped, changed and added, in words and state (CoCo).

    `values` is a slot-value dictionary as of the stressor `values`; without it the paper's O for MultiWOZ's slots, for
    others what their users say (`built`). `combinations` says which slots may be added: freq, neu, rare, built-freq
    ..., or a file. `train` is the corpus that generator and classifier learn from; without it the corpus's own training
    split. The last four are those of `Limits`; `classifier=none` and a limit of 0 are the rows of the paper's table 4.
    """

    languages = ("en",)
    effect: Effect = "directional"
    heavy: ClassVar[bool] = True

    def __init__(
        self,
        generator: str | ComponentSpec = "templates",
        values: str = "",
        combinations: str = "rare",
        fallback: Literal["values"] | None = None,
        train: str = "",
        classifier: Literal["linear"] | None = "linear",
        candidates: int = 10,
        drop: int = 1,
        add: int = 2,
        slots: int = 3,
        change: bool = True,
    ) -> None:
        self.limits = Limits(drop, add, slots, change)
        if candidates < 1:
            raise SpecError("counterfactual: candidates must be 1 or more")
        self.candidates = candidates
        self.values_source, self.combinations_source, self.train = values, combinations, train
        self.generator: Generator = generators.create(generator)
        self.classifier = Linear() if classifier else None
        self.substitution = Values(values, train) if fallback else None

    def reads(self, train: str) -> tuple[str, ...]:
        """The training corpus, and the one that values are taken from."""
        training = training_corpus(self.train, train, "counterfactual", _EXAMPLE)
        return tuple(name for name in dict.fromkeys((training, self.values_source)) if ":" in name)

    def files(self) -> tuple[Path, ...]:
        """Those of the generator."""
        return self.generator.files()

    def key(self) -> str:
        """The same for all arguments: ablations compare other words, filters and limits on goals that are alike."""
        return type(self).__name__

    def prepare(self, resources: Resources) -> None:
        """Read or derive the dictionaries; let generator and classifier learn."""
        super().prepare(resources)
        name = training_corpus(self.train, resources.train, "counterfactual", _EXAMPLE)
        train = resources.load(name)
        substitution = self.substitution or Values(self.values_source)
        substitution.train = name
        substitution.source = self.values_source or ("O" if combination_tables.is_multiwoz(resources.schema) else BUILT)
        substitution.prepare(resources)
        self.dictionary = substitution.dictionary
        self.combinations = combination_tables.choose(self.combinations_source, resources, train)
        if self.limits.add:
            self.combinations.check(self.dictionary)
        self.generator = fit_once(self.generator, resources, train)
        if self.classifier is not None:
            self.classifier = fit_once(self.classifier, resources, train)

    def rewrite_utterances(self, utterances: Sequence[Utterance]) -> Sequence[Outcome]:
        """Goals for all turns, candidates for all goals, and the first of each that passes."""
        drawn = [(utterance, self.goal(utterance)) for utterance in utterances]
        rewrites = self._rewrites([(each, goal) for each, goal in drawn if isinstance(goal, CounterfactualGoal)])
        outcomes: list[Outcome] = []
        for utterance, goal in drawn:
            outcome = next(rewrites) if isinstance(goal, CounterfactualGoal) else goal
            if isinstance(outcome, Unchanged) and self.substitution is not None:
                # CoCo+: where no other turn came out, the turn with other values.
                substituted = self.substitution.rewrite_utterance(utterance)
                if isinstance(substituted, Rewrite):
                    outcome = substituted._replace(tags=(SUBSTITUTED, *substituted.tags), counts=outcome.counts)
            outcomes.append(outcome)
        return outcomes

    def goal(self, utterance: Utterance) -> CounterfactualGoal | Unchanged | None:
        """Another goal for a turn."""
        return draw_goal(utterance, self.dictionary, self.combinations, self.limits)

    def judge(self, utterance: Utterance, goal: Goal) -> list[Verdict]:
        """Every candidate for a goal and what the filters say, to look at one turn at a time."""
        [candidates] = self.generator.generate_all([Request(utterance.turn.system, goal, utterance)], self.candidates)
        return judge((utterance, goal, candidates), self.classifier)

    def objection(self, utterance: Utterance, rewrite: Rewrite) -> str:
        """Every value that is new must be found in the words."""
        state = utterance.turn.state if rewrite.state is None else rewrite.state
        own, before = utterance.turn.state, utterance.before
        new = [slot for slot, forms in state.items() if forms not in (own.get(slot), before.get(slot))]
        return "" if all(find_value(rewrite.text, slot, state[slot]) for slot in new) else "a new value is not said"

    def _rewrites(self, drawn: Sequence[tuple[Utterance, CounterfactualGoal]]) -> Iterator[Outcome]:
        """For each goal the turn that says it in the first candidate's words that pass, or why there is none."""
        requests = [Request(utterance.turn.system, new.goal, utterance) for utterance, new in drawn]
        generated = self.generator.generate_all(requests, self.candidates)
        trials = [
            (utterance, new.goal, candidates) for (utterance, new), candidates in zip(drawn, generated, strict=True)
        ]
        for (utterance, new), (text, counts) in zip(drawn, choose(trials, self.classifier), strict=True):
            if text:
                tags = (GENERATED, new.tag) if new.tag else (GENERATED,)
                frames = frames_for(utterance, new.goal, text)
                yield Rewrite(text, new.state, tags=tags, frames=frames, counts=counts)
            else:
                reason = "no candidate passed the filters" if counts[CANDIDATES] else "no words for the goal"
                yield Unchanged(reason, counts)


def frames_for(utterance: Utterance, goal: Goal, text: str) -> tuple[Frame, ...]:
    """The services that the new words are about, with the places of their values; they ask for nothing."""
    intents = {frame.service: frame.intent for frame in utterance.turn.frames}
    spans = {service: list[Span]() for service in (*intents, *map(service_of, goal.spoken))}
    for slot, value in goal.spoken.items():
        for mention in find_value(text, slot, (value,))[:1]:
            service, _, bare = slot.partition("-")
            spans[service].append(Span(bare, mention.start, mention.end))
    return tuple(
        Frame(service, intents.get(service, ""), (), tuple(sorted(places, key=lambda span: span.start)))
        for service, places in spans.items()
    )
