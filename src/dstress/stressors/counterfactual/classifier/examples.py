"""What a slot classifier learns from and is measured on: the exchanges of a corpus and the slots that they speak about.

CoCo's label of a turn is its turn-level update (4.3). MultiWOZ 2.1's labels come late or stand where nobody says them,
and CoCo used MultiWOZ 2.2's corrections. Here each new value goes to the words that express it, those of its own turn
or of one of the two before; `docs/stressors/generators.md` has the rule (What is right?) and how well it does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dstress.dialogue import DONTCARE, Dialogue, State, Turn, service_of, update
from dstress.errors import DstressError
from dstress.resources import Material
from dstress.stressors.generators.goals import is_bare_answer, is_flag
from dstress.stressors.generators.matching import overlap
from dstress.text import coreference
from dstress.text.letters import words_of
from dstress.text.mentions import Mention, find_mentions, find_value
from dstress.text.numbers import number_of, ordinal
from dstress.text.times import CLOCK, calendar_words, clock_time, half_day_time, time_of

_LATE = 2  # a label may come so many turns after the words
_MOST = 60_000  # more turns teach little more, and take their time
_HELD_OUT = 25  # every so many dialogues one is held out of training
_FEW = 100  # a corpus of fewer dialogues holds none out: all are learnt from, and the line is drawn on them


_OPEN = 10  # a slot with fewer different values has no others: an area, a price range
_COMMON = 300  # so many of the most frequent words make no names
_CLOCK = re.compile(CLOCK)


class Exchange(NamedTuple):
    """What a classifier sees: the words before the system's turn (the latest last), the system's turn, the answer."""

    history: tuple[str, ...]
    system: str
    user: str


class Labelled(NamedTuple):
    """An exchange, the values that its turn adds by their slots, and where the user's words say values."""

    exchange: Exchange
    added: Mapping[str, str]
    mentions: tuple[Mention, ...] = ()
    slots: frozenset[str] = frozenset()
    """The slots that the user speaks about: what a classifier should find."""
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
            self.slots |= {reference.slot for reference in references} & self.added.keys()
        rest = self.added.keys() - self.slots  # those that only the system says are offers, and not unsure
        self.unsure = {slot for slot in rest if not _speaks_of(turn.system, slot, self.added[slot])}

    def mentions_beside(self, slot: str, forms: tuple[str, ...]) -> list[Mention]:
        """Where the user's words say a value, but for the words that say what the turn adds."""
        text = self.turn.user
        telling = [
            mention
            for mention in (() if slot in self.added else find_value(text, slot, forms))
            # What says no preference, or a bare yes, says any other slot's as well.
            if mention.value != DONTCARE
            and not (is_flag(mention.value) and is_bare_answer(text[mention.start : mention.end], mention.value))
        ]
        own = sorted(self.slots) if telling else ()
        spoken = [each[2:] for other in own for each in find_value(text, other, self.turn.state[other])]
        return [mention for mention in telling if not overlap(mention[2:], spoken)]


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
        # A turn before that says what this one adds without words; where this one has words too, both may mean it.
        late: list[tuple[_Turn, list[Mention]]] = []
        for at, turn in enumerate(turns):
            for slot, forms in turn.added.items():
                for target in reversed(turns[max(0, at - _LATE) : at]):
                    has_begun = slot not in target.turn.state and service_of(slot) in map(service_of, target.turn.state)
                    beside = target.mentions_beside(slot, forms) if has_begun else []
                    if beside and slot in turn.unsure:
                        turn.unsure.discard(slot)
                        late.append((target, beside))
                        break
                    if beside:
                        target.unsure.add(slot)
        for turn, repeated in zip(turns, repeats, strict=True):
            turn.unsure |= {slot for slot in repeated if slot in turn.turn.state}
        for target, moved in late:
            target.slots.add(moved[0].slot)
            target.mentions += moved
        for turn in turns:
            yield Labelled(
                Exchange(turn.history, turn.turn.system, turn.turn.user),
                {slot: forms[0] for slot, forms in turn.added.items()},
                tuple(sorted(turn.mentions, key=lambda mention: mention[2:])),
                frozenset(turn.slots),
                frozenset(turn.unsure - turn.slots),
            )


def _speaks_of(text: str, slot: str, forms: tuple[str, ...]) -> bool:
    """Whether words say a value. Words about a yes or a no speak of the slot, whichever of the two they mean."""
    return bool(find_value(text, slot, ("yes", "no") if is_flag(forms[0]) else forms))


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


class UnseenValues:
    """Makes up values, from the words of a training corpus.

    Counterfactuals name hotels, dates and numbers that nobody has seen. A classifier that has learnt the names by heart
    does not see the slot then, or sees another. So it also learns from utterances in which values that the user says
    are made up: names of blended words, other numbers, times and dates. The label stays, as the slot is the same.
    """

    def __init__(self, examples: Sequence[Labelled]) -> None:
        words = Counter(word for example in examples for word in words_of(example.exchange.user) if word.isalpha())
        ranked = sorted(words, key=lambda word: (-words[word], word))
        self._words = [word for word in islice(ranked, _COMMON, None) if len(word) > 2] or ranked
        values: dict[str, set[str]] = {}
        for example in examples:
            for slot, value, _, _ in example.mentions:
                values.setdefault(slot, set()).add(value)
        self._open = {slot for slot, slot_values in values.items() if len(slot_values) >= _OPEN}

    def rewrite_utterance(self, example: Labelled, random: Random) -> str:
        """The user's words with other values; the same words where none can be made up."""
        text, end = example.exchange.user, len(example.exchange.user)
        for slot, value, start, stop in sorted(example.mentions, key=lambda mention: -mention.start):
            new = self._draw_value(slot, value, text[start:stop], random) if stop <= end else ""
            if new:
                text, end = text[:start] + new + text[stop:], start
        return text

    def _draw_value(self, slot: str, value: str, words: str, random: Random) -> str:
        """Another value of this kind; empty if the words must stay as they are."""
        if value == DONTCARE:
            return ""
        if _CLOCK.search(value) and time_of(value) is not None:
            minutes = 60 * random.randint(0, 23) + random.randint(0, 59)
            return clock_time(minutes) if random.random() < 0.5 else half_day_time(minutes, whole=True)
        if number_of(value) is not None:
            return str(random.randint(1, 60)) if number_of(words.casefold()) is not None else ""
        days = calendar_words("weekdays")
        if words.casefold() in days:
            return f"{random.choice(calendar_words('months'))} {ordinal(random.randint(1, 31))}"
        return self._draw_name(words, random) if slot in self._open and value.casefold() not in days else ""

    def _draw_name(self, old: str, random: Random) -> str:
        """One to three words; what a name ends in often says what it is, and may stay."""
        words = []
        for _ in range(random.choice((1, 1, 2, 2, 3))):
            # a word of the corpus, or two halves of its words.
            first, second = random.choice(self._words), random.choice(self._words)
            blend = first[: (len(first) + 1) // 2] + second[len(second) // 2 :]
            words.append(first if random.random() < 0.5 else blend)
        last = old.split()[-1:] if " " in old and random.random() < 0.5 else []
        return " ".join((*words, *last))


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


def label_tables(examples: Sequence[Labelled], slots: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Which slots each example speaks about, a column for each; and 0 where that is unsure, else 1."""
    shape = len(examples), len(slots)
    spoken = np.array([[slot in example.slots for slot in slots] for example in examples], np.float32)
    unsure = np.array([[slot in example.unsure for slot in slots] for example in examples], np.float32)
    return spoken.reshape(shape), 1 - unsure.reshape(shape)


def break_even(logits: NDArray[np.float32], targets: NDArray[np.float32], weights: NDArray[np.float32]) -> float:
    """Where to draw the line between the slots that are spoken about and the others.

    It is the logit from which as many pairs are found as are labelled: precision and recall are then the same.
    """
    ranked = np.sort(logits[weights > 0], axis=None)[::-1]
    count = int((targets * weights).sum())
    return float(ranked[min(max(count, 1), ranked.size) - 1]) if ranked.size else 0.0
