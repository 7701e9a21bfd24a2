"""What each metric rewards and what it ignores: laws, which change one thing of an answer and look which way it goes.

The GCA paper names three weaknesses of the field's metrics in words and by one figure (sections 1 and 4): they score a
turn with 0 or 1, they average over turns whatever happens in them, and they count an old mistake, or an old success,
again in every turn. Here each is a change to made-up dialogues, and what it does to a metric is measured, not claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import numpy as np

from dstress.conventions import conventions
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError
from dstress.predictions.base import Prediction
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import gather
from dstress.scoring.metrics import metrics as known_metrics
from dstress.scoring.metrics.base import Floats
from dstress.scoring.metrics.measures import require_metric
from dstress.scoring.resampling import evaluate
from dstress.scoring.tally import Tally

METRICS = ("jga", "fga", "rsa", "aga", "sa", "slot-f1", "gca")
"""Those that are studied unless others are named."""
CASES = 400
_NEVER = 99
_TIE = 1e-12
_SLOTS = tuple(f"made-{number:02}" for number in range(30))
_NOTHING: Mapping[str, int] = MappingProxyType({})


class Story(NamedTuple):
    """A dialogue and its answers: which slots the user names in each turn, and what the tracker does wrong.

    `missed` and `wrong` have the turn in which the mistake is fixed, `extra` that from which on a slot is predicted
    that nobody named, `forgotten` the one turn in which a right value is not there.
    """

    named: tuple[tuple[str, ...], ...]
    missed: Mapping[str, int] = _NOTHING
    wrong: Mapping[str, int] = _NOTHING
    extra: Mapping[str, int] = _NOTHING
    forgotten: Mapping[str, int] = _NOTHING
    wrong_value: str = "quite another"
    slots: int = len(_SLOTS)
    """How many slots the schema has."""

    @property
    def states(self) -> list[tuple[dict[str, str], dict[str, str]]]:
        """Gold and prediction after every turn."""
        states, gold = [], dict[str, str]()
        for turn, slots in enumerate(self.named):
            gold = gold | {slot: f"value of {slot}" for slot in slots}
            predicted = {slot: value for slot, value in gold.items() if self.missed.get(slot, turn) <= turn}
            predicted |= {slot: self.wrong_value for slot in predicted if self.wrong.get(slot, turn) > turn}
            predicted |= {slot: "never said" for slot, start in self.extra.items() if start <= turn}
            kept = {slot: value for slot, value in predicted.items() if self.forgotten.get(slot) != turn}
            states.append((gold, kept))
        return states

    @property
    def right(self) -> list[list[str]]:
        """The slots that are right, turn by turn, of the turns that name any."""
        return [[slot for slot in turn if slot not in self.missed] for turn in self.named if turn]

    def missing(self, *slots: str, until: int = _NEVER) -> Story:
        """The same with these slots missed, too."""
        return self._replace(missed={**self.missed, **dict.fromkeys(slots, until)})

    def going_on(self, turns: int) -> Story:
        """The same with more turns, in which nothing is said."""
        return self._replace(named=(*self.named, *[()] * turns))

    def turn_of(self, slot: str) -> int:
        """The turn that names a slot."""
        return next(number for number, slots in enumerate(self.named) if slot in slots)


Change = Callable[[Story, Random], tuple[Story, Story]]
"""From a story to that story before and after something in it is changed."""


class Law(NamedTuple):
    """One change: what it is called, and which of the paper's weaknesses it shows, if any."""

    name: str
    weakness: str
    change: Change


LAWS: list[Law] = []


def _law(name: str, weakness: str = "") -> Callable[[Change], None]:
    """Add a change to the laws."""
    return lambda change: LAWS.append(Law(name, weakness, change))


class Verdict(msgspec.Struct, frozen=True):
    """What a change does to a metric, over made-up dialogues: how many go up, stay and go down, and by how much."""

    law: str
    metric: str
    up: int
    same: int
    down: int
    change: float
    example: tuple[float, float]
    """Before and after in the first dialogue that shows the most frequent way."""

    @property
    def ways(self) -> frozenset[int]:
        """Which ways occur, as signs."""
        return frozenset(sign for sign, seen in ((1, self.up), (0, self.same), (-1, self.down)) if seen)

    @property
    def word(self) -> str:
        """`same`, `up`, `down`, `up or same`, `down or same`, or `either`."""
        if self.up and self.down:
            return "either"
        return " or ".join(word for word in ("up", "down", "same") if getattr(self, word))


def make_story(random: Random) -> Story:
    """A dialogue of a few turns, some of which name nothing, with one lasting mistake or none.

    A turn that names anything names three slots or more, so that two of them are right in any case.
    """
    sizes = [random.choice((0, 3, 3, 4)) for _ in range(random.randint(1, 4))] + [3, 4]
    random.shuffle(sizes)
    slots = iter(_SLOTS)
    named = tuple(tuple(next(slots) for _ in range(size)) for size in sizes)
    other = random.choice([slot for turn in named for slot in turn])
    return Story(named, {other: _NEVER} if random.random() < 0.5 else {})


@_law("a mistake is made in an earlier turn", "double counting")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    first, second = sorted(random.sample(story.right, 2))
    return story.missing(second[0]), story.missing(first[0])


@_law("more turns follow, in which nothing is said and a mistake stands", "double counting")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    story = story.missing(random.choice(story.right)[0])
    return story, story.going_on(random.randint(1, 3))


@_law("more turns follow, in which nothing is said and all is right", "double counting")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    fixed = {random.choice(story.right)[0]: len(story.named)}
    story = story.going_on(1)._replace(missed=fixed)
    return story, story.going_on(random.randint(1, 3))


@_law("more turns come first, in which nothing is said", "turn-centric scores")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    story = story.missing(random.choice(story.right)[0])
    return story, story._replace(named=(*[()] * random.randint(1, 3), *story.named))


@_law("a turn that is wrong makes a second mistake", "0/1 scores")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    first, second, *_ = random.choice(story.right)
    return story.missing(first), story.missing(first, second)


@_law("of two mistakes of a turn, one is made in a later turn", "0/1 scores")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    turn, later = sorted(random.sample(story.right, 2))
    return story.missing(*turn[:2]), story.missing(turn[0], later[0])


@_law("the last turn has a slot that nobody named")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    return story, story._replace(extra={_SLOTS[-1]: len(story.named) - 1})


@_law("a value is wrong in place of missed")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    slot = random.choice(story.right)[0]
    return story.missing(slot), story._replace(wrong={slot: _NEVER})


@_law("a missed value comes one turn late in place of never")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    slot = random.choice(story.right[:-1])[0]
    return story.missing(slot), story.missing(slot, until=story.turn_of(slot) + 1)


@_law("a right value is missing for one turn")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    slot, story = random.choice(story.right[:-1])[0], story.going_on(2)
    return story, story._replace(forgotten={slot: random.randint(story.turn_of(slot) + 1, len(story.named) - 2)})


@_law("a wrong value is nearly right")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    slot = random.choice(story.right)[0]
    story = story._replace(wrong={slot: _NEVER})
    return story, story._replace(wrong_value=f"values of {slot}")


@_law("the schema has more slots, of which nobody speaks")
def _(story: Story, random: Random) -> tuple[Story, Story]:
    story = story.missing(random.choice(story.right)[0])
    return story, story._replace(slots=2 * story.slots)


def judge_laws(metrics: Sequence[str] = METRICS, cases: int = CASES, seed: int = 1) -> list[Verdict]:
    """Every law under every metric, over so many dialogues each."""
    verdicts = []
    for law in LAWS:
        random = Random(f"{law.name} {seed}")
        pairs = [law.change(make_story(random), random) for _ in range(cases)]
        before, after = (score_stories(stories, metrics) for stories in zip(*pairs, strict=True))
        for metric in metrics:
            change = after[metric] - before[metric]
            signs = np.sign(np.where(np.abs(change) <= _TIE, 0.0, change))
            counts = {way: int((signs == way).sum()) for way in (1, 0, -1)}
            shown = int(np.argmax(signs == max(counts, key=counts.__getitem__)))
            example = float(before[metric][shown]), float(after[metric][shown])
            numbers = counts[1], counts[0], counts[-1], float(change.mean())
            verdicts.append(Verdict(law.name, metric, *numbers, example))
    return verdicts


def score_stories(stories: Iterable[Story], metrics: Sequence[str]) -> dict[str, Floats]:
    """What metrics say of each story by itself. All of them have a schema of one size."""
    pairs, slots = [], 0
    for number, story in enumerate(stories):
        turns = tuple(Turn("", "", {slot: (value,) for slot, value in gold.items()}) for gold, _ in story.states)
        answers = [Prediction(str(number), turn, predicted) for turn, (_, predicted) in enumerate(story.states)]
        pairs.append((Dialogue(str(number), turns), answers))
        slots = story.slots
    schema = Schema((Service("made", "", tuple(Slot(f"{number:02}") for number in range(slots))),))
    for name in metrics:
        require_metric(name, of_one_file=True)
    tally = Tally({name: known_metrics.create(name) for name in metrics}, (), 0, 1)
    tally.add(Alignment(gather(schema, pairs), conventions.create("exact")))
    for name, reason in tally.missing.items():
        raise DstressError(f"{name} has no laws of states: {reason}", fix="name metrics of states, such as jga or gca")
    return {name: evaluate(metric.value, tally.totals(name)) for name, metric in tally.metrics.items()}
