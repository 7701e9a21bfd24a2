"""CoCo: what if the user had said something else that fits the dialogue? (Li et al. 2021)

Per user turn with a turn-level goal: another goal (drop, change, add), utterances that say it, two filters. The first
utterance that says all of its goal and nothing beyond takes the user's place; the history stays as it was. Where none
passes, the turn stays, or with `fallback=values` its values are substituted: that is CoCo+.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from dstress.dialogue import Frame, Span, service_of
from dstress.errors import CorpusError, SpecError, unknown
from dstress.generators import Generator, Goal, Request, generators
from dstress.generators.classifiers import SlotClassifier, classifiers
from dstress.generators.goals import own_goal, state_with
from dstress.resources import Resources
from dstress.spec import ComponentSpec, parse
from dstress.stressors.base import Effect, Outcome, Rewrite, TurnStressor, Unchanged
from dstress.stressors.counterfactual import combination_builder
from dstress.stressors.counterfactual.filters import CANDIDATES, Filters, Verdict, Wanted
from dstress.stressors.counterfactual.fits import fitted
from dstress.stressors.counterfactual.goals import Counterfactual as Other
from dstress.stressors.counterfactual.goals import Limits, counterfactual
from dstress.stressors.values.stressor import Values
from dstress.text.mentions import find_value
from dstress.text.utterance import Utterance

GENERATED, SUBSTITUTED = "generated", "substituted"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What seldom changes. The limits are those of `Limits`; `classifier=none` and a limit of 0 are table 4's rows."""

    classifier: str | ComponentSpec | None = "linear"
    candidates: int = 10
    goals: Literal["other", "own"] = "other"
    """`own` says the user's own goal in other words, CoCo(ori)."""
    drop: int = 1
    add: int = 2
    slots: int = 3
    change: bool = True
    offers: bool = False

    @property
    def limits(self) -> Limits:
        """How far a goal may go from the user's own."""
        return Limits(self.drop, self.add, self.slots, self.change, self.offers)


class Counterfactual(TurnStressor):
    """The user says something else that fits: slots are dropped, changed and added, in words and state (CoCo).

    `values` is a slot-value dictionary as of the stressor `values`, `combinations` says which slots may be added: freq,
    neu, rare, built-freq ..., or a file. `train` is the corpus that generator and classifier learn from; without it the
    corpus's own training split. `options` are the fields of `Options`.
    """

    effect: Effect = "directional"
    heavy: ClassVar[bool] = True

    def __init__(
        self,
        generator: str | ComponentSpec = "templates",
        values: str = "O",
        combinations: str = "rare",
        fallback: Literal["values"] | None = None,
        train: str = "",
        **options: Any,
    ) -> None:
        self.options = _options(options)
        self.limits = self.options.limits
        if self.options.candidates < 1:
            raise SpecError("counterfactual: candidates must be 1 or more")
        self.source, self.combining, self.train = values, combinations, train
        self.generator: Generator = generators.create(generator)
        self.filters = Filters(_classifier(self.options.classifier))
        self.substitution = Values(values, train) if fallback else None

    def reads(self, train: str) -> tuple[str, ...]:
        """The training corpus, and the one that values are taken from."""
        return tuple(name for name in dict.fromkeys((self._training(train), self.source)) if ":" in name)

    def key(self) -> str:
        """Without the fall-back: CoCo+ draws the goals of CoCo, so that the two differ only where CoCo has nothing."""
        spec = parse(self.spec or type(self).__name__)
        arguments = {name: value for name, value in spec.arguments.items() if name != "fallback"}
        return str(msgspec.structs.replace(spec, arguments=arguments))

    def prepare(self, resources: Resources) -> None:
        """Read or derive the dictionaries; let generator and classifier learn."""
        super().prepare(resources)
        name = self._training(resources.train)
        train = resources.load(name)
        substitution = self.substitution or Values(self.source)
        substitution.train = name
        substitution.prepare(resources)
        self.dictionary = substitution.dictionary
        self.combinations = combination_builder.choose(self.combining, resources, train)
        if self.limits.add:
            self.combinations.check(self.dictionary)
        self.generator = fitted(self.generator, resources, train)
        classifier = self.filters.classifier
        self.filters = Filters(None if classifier is None else fitted(classifier, resources, train))

    def _training(self, own: str) -> str:
        """The training corpus: the one that was named, or the stressed corpus's own split."""
        if not (self.train or own):
            raise CorpusError(
                "counterfactual learns what users say from training data, and this corpus has no training split",
                fix="take a corpus with one, or name one of the same services: counterfactual(train=mwz21-trade:train)",
            )
        return self.train or own

    def rewrite_utterances(self, utterances: Sequence[Utterance]) -> Sequence[Outcome]:
        """Goals for all turns, candidates for all goals, and the first of each that passes."""
        goals = [self.goal(utterance) for utterance in utterances]
        wanted = [
            (utterance, goal) for utterance, goal in zip(utterances, goals, strict=True) if isinstance(goal, Other)
        ]
        made = self._said(wanted)
        outcomes: list[Outcome] = []
        for utterance, goal in zip(utterances, goals, strict=True):
            outcome = next(made) if isinstance(goal, Other) else goal
            outcomes.append(self._substituted(utterance, outcome) if isinstance(outcome, Unchanged) else outcome)
        return outcomes

    def goal(self, utterance: Utterance) -> Other | Unchanged | None:
        """Another goal for a turn; with `goals=own` the one that it has."""
        if self.options.goals == "other":
            return counterfactual(utterance, self.dictionary, self.combinations, self.limits)
        own = own_goal(utterance)
        if state_with(utterance, own) != utterance.turn.state:
            return Unchanged("the user only refers to a value")
        return Other(own, utterance.turn.state) if own.spoken else None

    def judged(self, utterance: Utterance, goal: Goal) -> list[Verdict]:
        """Every candidate for a goal and what the filters say, to look at one turn at a time."""
        return self.filters.judged(
            utterance, goal, self.generator.generate(utterance.turn.system, goal, self.options.candidates)
        )

    def objection(self, utterance: Utterance, restated: Rewrite) -> str:
        """Every value that is new must be found in the words."""
        state = utterance.turn.state if restated.state is None else restated.state
        own, before = utterance.turn.state, utterance.before
        new = [slot for slot, forms in state.items() if forms not in (own.get(slot), before.get(slot))]
        return "" if all(find_value(restated.text, slot, state[slot]) for slot in new) else "a new value is not said"

    def _said(self, wanted: Sequence[tuple[Utterance, Other]]) -> Iterator[Outcome]:
        asked = [Request(utterance.turn.system, other.goal) for utterance, other in wanted]
        found = self.generator.generate_all(asked, self.options.candidates)
        judged = [
            Wanted(utterance, other.goal, candidates, Counter())
            for (utterance, other), candidates in zip(wanted, found, strict=True)
        ]
        for (utterance, other), text, one in zip(wanted, self.filters.first(judged), judged, strict=True):
            yield _restated(utterance, other, text, one.counts) if text else Unchanged(_why(one.counts), one.counts)

    def _substituted(self, utterance: Utterance, outcome: Unchanged) -> Outcome:
        """CoCo+: where no other turn came out, the turn with other values."""
        if self.substitution is None:
            return outcome
        instead = self.substitution.rewrite_utterance(utterance)
        if isinstance(instead, Rewrite):
            return instead._replace(tags=(SUBSTITUTED, *instead.tags), counts=outcome.counts)
        return outcome


def _options(given: dict[str, Any]) -> Options:
    known = Options.__struct_fields__
    if wrong := next((name for name in given if name not in known), None):
        raise unknown("argument of counterfactual", wrong, (*_ARGUMENTS, *known))
    try:
        return msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise SpecError(f"counterfactual: {error}") from None


_ARGUMENTS = ("generator", "values", "combinations", "fallback", "train")


def _classifier(spec: str | ComponentSpec | None) -> SlotClassifier | None:
    return None if spec is None else classifiers.create(spec)


def _why(counts: Counter[str]) -> str:
    return "no candidate passed the filters" if counts[CANDIDATES] else "no words for the goal"


def _restated(utterance: Utterance, other: Other, text: str, counts: Counter[str]) -> Rewrite:
    tags = (GENERATED, other.tag) if other.tag else (GENERATED,)
    return Rewrite(text, other.state, tags=tags, frames=_frames(utterance, other.goal, text), counts=counts)


def _frames(utterance: Utterance, goal: Goal, text: str) -> tuple[Frame, ...]:
    """The services that the new words are about, with the places of their values; they ask for nothing."""
    services = dict.fromkeys((*(frame.service for frame in utterance.turn.frames), *map(service_of, goal.spoken)))
    intents = {frame.service: frame.intent for frame in utterance.turn.frames}
    spans: dict[str, list[Span]] = {service: [] for service in services}
    for slot, value in goal.spoken.items():
        for mention in find_value(text, slot, (value,))[:1]:
            service, _, bare = slot.partition("-")
            spans[service].append(Span(bare, mention.start, mention.end))
    return tuple(
        Frame(service, intents.get(service, ""), (), tuple(sorted(spans[service], key=lambda span: span.start)))
        for service in services
    )
