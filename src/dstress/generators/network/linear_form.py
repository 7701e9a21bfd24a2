"""A system turn and a goal as one sequence of words, as CoCo gives them to its encoder (Li et al. 2021, figure 2).

A value is given in one of two ways. A placeholder, `<value:book_day>`, stands for the whole value in the system's turn,
the goal and the user's words, and the value is put back afterwards: so one that was never seen comes out whole. Slots
that were seldom seen share anonymous placeholders, `<value_1>`. Values of a listed slot that training texts often have
may also be given in words, for people say them in many ways: `moderate` as "moderately priced".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from random import Random
from typing import Literal, NamedTuple

from dstress.generators.network.vocabulary import (
    CLEAN,
    IS,
    LOOSE,
    MOST_VALUES,
    SPOKEN,
    SYSTEM,
    UNSPOKEN,
    VALUES,
    slot_placeholder,
    words_in,
)

Kind = Literal["open", "listed", "flag"]
"""Any words; one of a list; or yes, no and the like, which no words name."""

Pair = tuple[str, str]
"""A slot in words, and a value."""

LONGEST = 100
"""Words of a system turn, and of what a user says; CoCo's code has the same limit for tokens."""
_OFTEN = 20
_ANONYMOUS = 0.1
"""How often a known slot is anonymous in training, so that networks learn what that means."""


class Part(NamedTuple):
    """A stretch of a text; `wish` is the number of the wish whose value it says, or -1."""

    text: str
    wish: int = -1


class Wish(NamedTuple):
    """One slot of a goal, in words (`hotel book day`), and its bare `name` (`book_day`).

    `is_spoken`: the user's words must say it.
    """

    slot: str
    value: str
    is_spoken: bool = True
    kind: Kind = "open"
    name: str = ""


class Example(NamedTuple):
    """What the system said, what the user wants, and, in training, what the user said.

    `clean`: as far as can be seen the user says nothing beyond the goal. `name` is where it comes from, for messages.
    """

    system: tuple[Part, ...]
    wishes: tuple[Wish, ...]
    user: tuple[Part, ...] = ()
    clean: bool = True
    name: str = ""


class Known(NamedTuple):
    """What training texts often have: values to be said in words, and slots with a placeholder of their own."""

    worded: Collection[Pair] = ()
    typed: Collection[str] = ()


class Sequences(NamedTuple):
    """An example as words. `wishes` are the numbers of those behind placeholders, by the placeholders."""

    source: list[str]
    target: list[str]
    wishes: dict[str, int]


def linearize(example: Example, known: Known, random: Random | None = None) -> Sequences:
    """The words of an example. With `random`, as in training: slots in any order, worded values in either way."""
    order = list(range(len(example.wishes)))
    if random is not None:
        random.shuffle(order)
    order.sort(key=lambda number: not example.wishes[number].is_spoken)  # stable: the spoken ones first
    hidden = [number for number in order if _gets_placeholder(example.wishes[number], known, random)][:MOST_VALUES]
    wishes: dict[str, int] = {}
    for place, number in enumerate(hidden):
        name = example.wishes[number].name
        own = slot_placeholder(name)
        is_anonymous = name not in known.typed or own in wishes
        is_anonymous = is_anonymous or (random is not None and random.random() < _ANONYMOUS)
        wishes[VALUES[place] if is_anonymous else own] = number
    names = {number: word for word, number in wishes.items()}
    source = [CLEAN if example.clean else LOOSE, SYSTEM, *_words(example.system, names)[-LONGEST:]]
    for number in order:
        wish = example.wishes[number]
        source += [SPOKEN if wish.is_spoken else UNSPOKEN, *words_in(wish.slot), IS]
        source += [names[number]] if number in names else words_in(wish.value)
    return Sequences(source, _words(example.user, names)[:LONGEST], wishes)


def in_plain_words(example: Example, random: Random | None = None) -> tuple[str, str]:
    """The example for a network with word pieces of its own: "system: ... state: hotel area west , ..."."""
    wishes = list(example.wishes)
    if random is not None:
        random.shuffle(wishes)
    system, user = ("".join(part.text for part in parts) for parts in (example.system, example.user))
    return f"system: {system} state: {' , '.join(f'{wish.slot} {wish.value}' for wish in wishes)}", user


def known_from(examples: Iterable[Example]) -> Known:
    """The values of listed slots, and the slots, that are there often enough to learn how they are said."""
    wishes = [wish for example in examples for wish in example.wishes if wish.kind != "flag"]
    values = Counter(
        (wish.slot, wish.value) for wish in wishes if wish.kind == "listed" and wish.value.replace(" ", "").isalpha()
    )
    names = Counter(wish.name for wish in wishes if wish.name)
    return Known(
        frozenset(pair for pair, count in values.items() if count >= _OFTEN),
        frozenset(name for name, count in names.items() if count >= _OFTEN),
    )


def _gets_placeholder(wish: Wish, known: Known, random: Random | None) -> bool:
    if wish.kind == "flag":
        return False
    if (wish.slot, wish.value) not in known.worded:
        return True
    return random is not None and random.random() < 0.5


def _words(parts: Sequence[Part], names: dict[int, str]) -> list[str]:
    return [word for part in parts for word in ([names[part.wish]] if part.wish in names else _split(part.text))]


@lru_cache(maxsize=1 << 17)  # training reads the same texts in every epoch
def _split(text: str) -> tuple[str, ...]:
    return tuple(words_in(text))
