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

from dstress.alignment.cells import Alignment
from dstress.alignment.columns import gather
from dstress.conventions import conventions
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError
from dstress.metrics import metrics as known_metrics
from dstress.metrics.base import Floats
from dstress.metrics.measures import require_metric
from dstress.predictions.base import Prediction
from dstress.scoring.resampling import evaluate
from dstress.scoring.tally import Tally

METRICS = ("jga", "fga", "rsa", "aga", "sa", "slot-f1", "gca")
"""Those that are studied unless others are named."""
CASES = 400
_SLOTS, _MORE_SLOTS = 30, 60
_NEVER = 99
_TIE = 1e-12
_NOTHING: Mapping[str, int] = MappingProxyType({})


class Story(NamedTuple):
    """A dialogue and its answers: which slots the user names in each turn, and what the tracker does wrong.

    `missed` and `wrong` have the turn in which the mistake is mended, `extra` that from which on a slot is predicted
    that nobody named, `forgotten` the one turn in which a right value is not there.
    """

    named: tuple[tuple[str, ...], ...]
    missed: Mapping[str, int] = _NOTHING
    wrong: Mapping[str, int] = _NOTHING
    extra: Mapping[str, int] = _NOTHING
    forgotten: Mapping[str, int] = _NOTHING
    wrong_value: str = "quite another"
    slots: int = _SLOTS
    """How many slots the schema has."""

    @property
    def states(self) -> list[tuple[dict[str, str], dict[str, str]]]:
        """Gold and prediction after every turn."""
        found, gold = [], dict[str, str]()
        for turn, slots in enumerate(self.named):
            gold = gold | {slot: f"value of {slot}" for slot in slots}
            said = {slot: value for slot, value in gold.items() if self.missed.get(slot, turn) <= turn}
            said |= {slot: self.wrong_value for slot in said if self.wrong.get(slot, turn) > turn}
            said |= {slot: "never said" for slot, start in self.extra.items() if start <= turn}
            found.append((gold, {slot: value for slot, value in said.items() if self.forgotten.get(slot) != turn}))
        return found


class Law(NamedTuple):
    """One change: what it is called, which of the paper's weaknesses it shows (or ``), and a story before and after."""

    name: str
    weakness: str
    change: Callable[[Story, Random], tuple[Story, Story]]


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
        if {1, -1} <= self.ways:
            return "either"
        moved = "up" if self.up else "down" if self.down else ""
        return f"{moved} or same" if moved and self.same else moved or "same"


def make_story(random: Random) -> Story:
    """A dialogue of a few turns, some of which name nothing, with one lasting mistake or none.

    A turn that names anything names three slots or more, so that two of them are right in any case.
    """
    sizes = [random.choice((0, 3, 3, 4)) for _ in range(random.randint(1, 4))] + [3, 4]
    random.shuffle(sizes)
    slots = iter(_slot_ids(_SLOTS))
    named = tuple(tuple(next(slots) for _ in range(size)) for size in sizes)
    other = random.choice([slot for turn in named for slot in turn])
    return Story(named, {other: _NEVER} if random.random() < 0.5 else {})


def _slot_ids(count: int) -> list[str]:
    return [f"made-{number:02}" for number in range(count)]


def _open(story: Story) -> list[list[str]]:
    """The slots that are right, turn by turn, of the turns that name any."""
    return [[slot for slot in turn if slot not in story.missed] for turn in story.named if turn]


def _miss(story: Story, *slots: str, until: int = _NEVER) -> Story:
    return story._replace(missed={**story.missed, **dict.fromkeys(slots, until)})


def _earlier(story: Story, random: Random) -> tuple[Story, Story]:
    first, second = sorted(random.sample(_open(story), 2))
    return _miss(story, second[0]), _miss(story, first[0])


def _goes_on(story: Story, random: Random) -> tuple[Story, Story]:
    story = _miss(story, random.choice(_open(story))[0])
    return story, story._replace(named=(*story.named, *[()] * random.randint(1, 3)))


def _goes_on_right(story: Story, random: Random) -> tuple[Story, Story]:
    mended = len(story.named)
    story = story._replace(named=(*story.named, ()), missed={random.choice(_open(story))[0]: mended})
    return story, story._replace(named=(*story.named, *[()] * random.randint(1, 3)))


def _begins_later(story: Story, random: Random) -> tuple[Story, Story]:
    story = _miss(story, random.choice(_open(story))[0])
    return story, story._replace(named=(*[()] * random.randint(1, 3), *story.named))


def _second_mistake(story: Story, random: Random) -> tuple[Story, Story]:
    first, second, *_ = random.choice(_open(story))
    return _miss(story, first), _miss(story, first, second)


def _split(story: Story, random: Random) -> tuple[Story, Story]:
    turn, later = sorted(random.sample(_open(story), 2))
    return _miss(story, *turn[:2]), _miss(story, turn[0], later[0])


def _spurious(story: Story, random: Random) -> tuple[Story, Story]:
    return story, story._replace(extra={_slot_ids(_SLOTS)[-1]: len(story.named) - 1})


def _wrong_for_missed(story: Story, random: Random) -> tuple[Story, Story]:
    slot = random.choice(_open(story))[0]
    return _miss(story, slot), story._replace(wrong={slot: _NEVER})


def _mended_late(story: Story, random: Random) -> tuple[Story, Story]:
    slot = random.choice(_open(story)[:-1])[0]
    turn = next(number for number, slots in enumerate(story.named) if slot in slots)
    return _miss(story, slot), _miss(story, slot, until=turn + 1)


def _nearer(story: Story, random: Random) -> tuple[Story, Story]:
    slot = random.choice(_open(story))[0]
    story = story._replace(wrong={slot: _NEVER})
    return story, story._replace(wrong_value=f"values of {slot}")


def _forgotten(story: Story, random: Random) -> tuple[Story, Story]:
    slot = random.choice(_open(story)[:-1])[0]
    turn = next(number for number, slots in enumerate(story.named) if slot in slots)
    story = story._replace(named=(*story.named, (), ()))
    return story, story._replace(forgotten={slot: random.randint(turn + 1, len(story.named) - 2)})


def _larger_schema(story: Story, random: Random) -> tuple[Story, Story]:
    story = _miss(story, random.choice(_open(story))[0])
    return story, story._replace(slots=_MORE_SLOTS)


LAWS = (
    Law("a mistake is made in an earlier turn", "double counting", _earlier),
    Law("more turns follow, in which nothing is said and a mistake stands", "double counting", _goes_on),
    Law("more turns follow, in which nothing is said and all is right", "double counting", _goes_on_right),
    Law("more turns come first, in which nothing is said", "turn-centric scores", _begins_later),
    Law("a turn that is wrong makes a second mistake", "0/1 scores", _second_mistake),
    Law("of two mistakes of a turn, one is made in a later turn", "0/1 scores", _split),
    Law("the last turn has a slot that nobody named", "", _spurious),
    Law("a value is wrong in place of missed", "", _wrong_for_missed),
    Law("a missed value comes one turn late in place of never", "", _mended_late),
    Law("a right value is missing for one turn", "", _forgotten),
    Law("a wrong value is nearly right", "", _nearer),
    Law("the schema has more slots, of which nobody speaks", "", _larger_schema),
)


def judge_laws(metrics: Sequence[str] = METRICS, cases: int = CASES, seed: int = 1) -> list[Verdict]:
    """Every law under every metric, over so many dialogues each."""
    found = []
    for law in LAWS:
        random = Random(f"{law.name} {seed}")
        pairs = [law.change(make_story(random), random) for _ in range(cases)]
        before, after = (score_stories(stories, metrics) for stories in zip(*pairs, strict=True))
        found += [_verdict(law, name, before[name], after[name]) for name in metrics]
    return found


def _verdict(law: Law, metric: str, before: Floats, after: Floats) -> Verdict:
    signs = np.sign(np.where(np.abs(after - before) <= _TIE, 0.0, after - before))
    counts = {way: int((signs == way).sum()) for way in (1, 0, -1)}
    shown = int(np.argmax(signs == max(counts, key=counts.__getitem__)))
    example = float(before[shown]), float(after[shown])
    return Verdict(law.name, metric, counts[1], counts[0], counts[-1], float((after - before).mean()), example)


def score_stories(stories: Iterable[Story], metrics: Sequence[str]) -> dict[str, Floats]:
    """What metrics say of each story by itself. All of them have a schema of one size."""
    told = list(stories)
    schema = Schema((Service("made", "", tuple(Slot(slot[5:]) for slot in _slot_ids(told[0].slots))),))
    pairs = []
    for number, states in enumerate(story.states for story in told):
        turns = tuple(Turn("", "", {slot: (value,) for slot, value in gold.items()}) for gold, _ in states)
        predictions = [Prediction(str(number), turn, said) for turn, (_, said) in enumerate(states)]
        pairs.append((Dialogue(str(number), turns), predictions))
    for name in metrics:
        require_metric(name, of_one_file=True)
    tally = Tally({name: known_metrics.create(name) for name in metrics}, (), 0, 1)
    tally.add(Alignment(gather(schema, pairs), conventions.create("exact")))
    for name, reason in tally.missing.items():
        raise DstressError(f"{name} has no laws of states: {reason}", fix="name metrics of states, such as jga or gca")
    return {name: evaluate(metric.value, tally.totals(name)) for name, metric in tally.metrics.items()}
