"""What a slot classifier learns from and is measured on: the exchanges of a corpus and the slots that they speak about.

CoCo's label of a turn is its turn-level update (4.3): the slots whose value is new or changed. In MultiWOZ 2.1 labels
come a turn late, stand where nobody says them, and an offer that the user takes up is labelled or not as it happens.
CoCo used MultiWOZ 2.2's corrections. Here each new value of the state goes to the words that express it:

- To the turn that adds it, if the user's words say the value, or refer to it ("the same day"). `slots` has these.
- To `offers` of the turn that adds it, if only the system's words say it.
- Else to one of the two turns before, if the user's words there say it beside all that is labelled there, and the
  state has begun to speak of the service: the label came late.
- Else to nobody. The slot is `unsure` there: the label may be wrong, or the words say it as we cannot see.

`unsure` is also what the user's words say, but the labels do not add there: a value that the state has already, or one
that it gets within two turns by words of their own. An unsure slot is neither learnt from nor measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dstress.dialogue import DONTCARE, Dialogue, State, Turn, service_of, update
from dstress.errors import DstressError
from dstress.generators.classifiers.base import Exchange
from dstress.generators.flags import is_bare_answer, is_flag
from dstress.resources import Material
from dstress.text import coreference
from dstress.text.mentions import Mention, find_mentions, find_value

_LATE = 2
"""A label may come so many turns after the words."""
_MOST = 60_000
"""More turns teach little more, and take their time."""
_HELD_OUT = 25
"""Every so many dialogues one is held out of training."""
_FEW = 100
"""A corpus of fewer dialogues holds none out: all are learnt from, and the line is drawn on them."""


class Labelled(NamedTuple):
    """An exchange, the values that its turn adds by their slots, and where the user's words say values."""

    exchange: Exchange
    added: Mapping[str, str]
    mentions: tuple[Mention, ...] = ()
    slots: frozenset[str] = frozenset()
    """The slots that the user speaks about: what a classifier should find."""
    offers: frozenset[str] = frozenset()
    """The slots that are added, though only the system says their values."""
    unsure: frozenset[str] = frozenset()


class _Turn:
    """One turn and what is found out about it."""

    def __init__(self, turn: Turn, history: Sequence[str], before: State) -> None:
        self.turn, self.history, self.before = turn, tuple(history), before
        self.added = {slot: forms for slot, forms in update(before, turn.state).items() if forms}
        self.mentions = list(find_mentions(turn, before)) if self.added else []
        self.slots = {slot for slot, forms in self.added.items() if _speaks_of(turn.user, slot, forms)}
        if len(self.slots) < len(self.added):
            references = (*turn.coreferences, *coreference.find(turn, before, history))
            self.slots |= {reference.slot for reference in references}
            self.slots &= self.added.keys()
        rest = [slot for slot in self.added if slot not in self.slots]
        self.offers = {slot for slot in rest if _speaks_of(turn.system, slot, self.added[slot])}
        self.unsure = {slot for slot in rest if slot not in self.offers}

    def mentions_beside(self, slot: str, forms: tuple[str, ...]) -> list[Mention]:
        """Where the user's words say a value, but for the words that say what the turn adds."""
        if slot in self.added:
            return []
        text = self.turn.user
        telling = [mention for mention in find_value(text, slot, forms) if _is_telling(text, mention)]
        if not telling:
            return []
        known = [mention for other in sorted(self.slots) for mention in find_value(text, other, self.turn.state[other])]
        return [
            mention
            for mention in telling
            if not any(mention.start < other.end and other.start < mention.end for other in known)
        ]

    def labelled(self) -> Labelled:
        """As others see it."""
        return Labelled(
            Exchange(self.history, self.turn.system, self.turn.user),
            {slot: forms[0] for slot, forms in self.added.items()},
            tuple(sorted(self.mentions, key=lambda mention: mention[2:])),
            frozenset(self.slots),
            frozenset(self.offers),
            frozenset(self.unsure - self.slots),
        )


def label_turns(dialogues: Iterable[Dialogue]) -> Iterator[Labelled]:
    """Every turn, in order. The history of a stressed turn is what later turns remember of it."""
    for dialogue in dialogues:
        turns: list[_Turn] = []
        history: list[str] = []
        before: State = {}
        for own in dialogue.turns:
            turns.append(_Turn(own, history, before))
            history += filter(None, (own.remembered.system, own.remembered.user))
            before = own.remembered.state
        repeats = [[slot for slot, forms in turn.before.items() if turn.mentions_beside(slot, forms)] for turn in turns]
        late = [move for at in range(len(turns)) for move in _late_labels(turns, at)]
        for turn, repeated in zip(turns, repeats, strict=True):
            turn.unsure |= {slot for slot in repeated if slot in turn.turn.state}
        for target, moved in late:
            target.slots.add(moved[0].slot)
            target.mentions += moved
        yield from (turn.labelled() for turn in turns)


def _late_labels(turns: Sequence[_Turn], at: int) -> Iterator[tuple[_Turn, list[Mention]]]:
    """The turns before that say what this one adds without words; where this one has words too, both may mean it."""
    turn = turns[at]
    for slot, forms in turn.added.items():
        for target in reversed(turns[max(0, at - _LATE) : at]):
            has_begun = slot not in target.turn.state and service_of(slot) in map(service_of, target.turn.state)
            beside = target.mentions_beside(slot, forms) if has_begun else []
            if not beside:
                continue
            if slot in turn.unsure:
                turn.unsure.discard(slot)
                yield target, beside
                break
            target.unsure.add(slot)


def _speaks_of(text: str, slot: str, forms: tuple[str, ...]) -> bool:
    """Whether words say a value. Words about a yes or a no speak of the slot, whichever of the two they mean."""
    return bool(find_value(text, slot, ("yes", "no") if is_flag(forms[0]) else forms))


def _is_telling(text: str, mention: Mention) -> bool:
    """Whether words say this value only, and not any other slot's as well."""
    words, value = text[mention.start : mention.end], mention.value
    return value != DONTCARE and not (is_flag(value) and is_bare_answer(words, value))


def training_examples(train: Material) -> list[Labelled]:
    """The turns of a training corpus, of which some must add a slot. Of a large one every second or third dialogue."""
    step = 1 + sum(len(dialogue.turns) for dialogue in train) // _MOST
    examples = list(label_turns(islice(train, 0, None, step)))
    if not any(example.slots for example in examples):
        raise DstressError(
            "the training corpus has no turn that adds a slot, so a slot classifier cannot learn from it",
            fix="name a labelled training split, as train=mwz21-trade:train",
        )
    return examples


def hold_out(examples: Sequence[Labelled]) -> tuple[list[Labelled], list[Labelled]]:
    """The exchanges to learn from, and those of dialogues to draw the line on."""
    dialogues: list[list[Labelled]] = []
    for example in examples:
        if not example.exchange.history or not dialogues:
            dialogues.append([])
        dialogues[-1].append(example)
    if len(dialogues) < _FEW:
        return list(examples), list(examples)
    learnt = [example for at, dialogue in enumerate(dialogues) if at % _HELD_OUT for example in dialogue]
    return learnt, [example for dialogue in dialogues[::_HELD_OUT] for example in dialogue]


def label_columns(example: Labelled, slots: Sequence[str]) -> tuple[list[int], list[int]]:
    """An example's label in a table with a column a slot, and then one for each as an offer; and the unsure ones."""
    places = {slot: place for place, slot in enumerate(slots)}
    spoken, offers, unsure = (
        [places[slot] for slot in sorted(part) if slot in places]
        for part in (example.slots, example.offers, example.unsure)
    )
    return spoken + [len(slots) + place for place in offers], unsure


def label_tables(examples: Sequence[Labelled], slots: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The targets of examples in such a table; and 0 where they are unsure, else 1."""
    targets = np.zeros((len(examples), 2 * len(slots)), np.float32)
    weights = np.ones_like(targets)
    for row, example in enumerate(examples):
        label, unsure = label_columns(example, slots)
        targets[row, label] = 1
        weights[row, unsure] = 0
    return targets, weights
