"""From turns of a corpus, and from goals, to the examples that a network reads."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dstress.dialogue import DONTCARE, Schema, Slot, State, service_of
from dstress.generators.base import Request
from dstress.generators.goals import own_goal
from dstress.generators.network.linear_form import Example, Kind, Part, Wish, written
from dstress.resources import Material
from dstress.storage.atomic import replacing
from dstress.text import mentions as values
from dstress.text.letters import name_words
from dstress.text.utterance import Utterance

_FLAGS = {"yes": "yes", "true": "yes", "free": "yes", "no": "no", "false": "no", DONTCARE: DONTCARE}
_FIGURE = re.compile(r"(?<![\d:.])(?!1(?!\d))\d+")
"""A number that may be a value of some slot; corpora also write 1 for "one of them"."""

Placed = tuple[int, int, int]
"""From a character to another, and the number of the wish that is said there."""


def slot_in_words(slot: str) -> str:
    """`hotel-book day` -> `hotel book day`; `RentalCars_2-pickup_city` -> `rental cars pickup city`."""
    service = [word for word in name_words(service_of(slot)) if not word.isdigit()]
    return " ".join((*service, *name_words(slot)))


def example_of(asked: Request, slots: Mapping[str, Slot]) -> Example:
    """What is to be said, as a network reads it."""
    goal = asked.goal
    wanted = {**goal.spoken, **{slot: value for slot, value in goal.unspoken.items() if slot not in goal.spoken}}
    wishes = []
    for slot, value in wanted.items():
        kind = _kind(slots, slot, value)
        told = _FLAGS[value.casefold()] if kind == "flag" else value
        wishes.append(Wish(slot_in_words(slot), told, slot in goal.spoken, kind, "_".join(name_words(slot))))
    return Example(_system_parts(asked.system, wanted), tuple(wishes))


def examples_of(corpus: Material) -> Iterator[Example]:
    """An example for every turn that adds to the state."""
    for dialogue in corpus:
        updates = [*dialogue.updates(), {}]
        for number, turn in enumerate(dialogue.turns):
            if turn.user.strip() and any(updates[number].values()):
                example = _example(Utterance(dialogue, number, corpus.schema, ()), *updates[number : number + 2])
                if example.wishes:
                    yield example


def write(train: Material, dev: Material, path: Path, about: Mapping[str, Any]) -> dict[str, int]:
    """The examples of two corpora in one compressed file, for `training`; how many of each."""
    parts = {"train_examples": list(examples_of(train)), "dev_examples": list(examples_of(dev))}
    counts = {name: len(part) for name, part in parts.items()}
    with replacing(path) as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as stream:
        stream.write(json.dumps(dict(about) | counts).encode() + b"\n")
        for part in parts.values():
            stream.writelines(written(example).encode() + b"\n" for example in part)
    return counts


def _example(utterance: Utterance, update: State, after: State) -> Example:
    slots, goal = utterance.schema.slots, own_goal(utterance)
    example = example_of(Request(utterance.turn.system, goal), slots)
    numbers = {slot: number for number, slot in enumerate((*goal.spoken, *goal.unspoken))}
    placed = _apart(
        (mention.start, mention.end, numbers[mention.slot])
        for mention in utterance.mentions
        if mention.slot in numbers and mention.value.casefold() not in _FLAGS
    )
    # A value whose words another value has ("north" for two slots at once) is not there to be said by itself.
    named = {number for _, _, number in placed}
    wishes = tuple(
        wish._replace(said=wish.said and (wish.kind == "flag" or number in named))
        for number, wish in enumerate(example.wishes)
    )
    user = _parted(utterance.text, placed)
    return Example(example.system, wishes, user, _is_clean(utterance.before, update, after, user))


def _is_clean(before: State, update: State, after: State, user: Sequence[Part]) -> bool:
    """Whether the user says nothing beyond the goal, as far as labels and numbers tell.

    Users repeat what they said before, and say what the label only takes up a turn later (`after`) or never.
    """
    rest = " _ ".join(part.text for part in user if part.wish < 0)
    if not all(update.values()) or _FIGURE.search(rest):
        return False
    others = [*after.items(), *((slot, forms) for slot, forms in before.items() if slot not in update)]
    return not any(
        forms and forms[0].casefold() not in _FLAGS and values.find_value(rest, slot, forms) for slot, forms in others
    )


def _kind(slots: Mapping[str, Slot], slot: str, value: str) -> Kind:
    if value.casefold() in _FLAGS:
        return "flag"
    return "listed" if slot in slots and slots[slot].categorical else "open"


def _system_parts(system: str, wanted: Mapping[str, str]) -> tuple[Part, ...]:
    found = [
        (mention.start, mention.end, number)
        for number, (slot, value) in enumerate(wanted.items())
        if value.casefold() not in _FLAGS
        for mention in values.find_value(system, slot, (value,))
    ]
    return _parted(system, _apart(found))


def _apart(places: Iterable[Placed]) -> list[Placed]:
    """Places that do not overlap, in order; of two that start together the longer."""
    found: list[Placed] = []
    for place in sorted(places, key=lambda one: (one[0], -one[1])):
        if not found or place[0] >= found[-1][1]:
            found.append(place)
    return found


def _parted(text: str, places: Iterable[Placed]) -> tuple[Part, ...]:
    parts, at = [], 0
    for start, end, wish in places:
        parts += [Part(text[at:start])] if start > at else []
        parts.append(Part(text[start:end], wish))
        at = end
    return (*parts, *([Part(text[at:])] if at < len(text) else []))


def words_of_schema(schema: Schema) -> set[str]:
    """The slots of a schema as a network knows them."""
    return {slot_in_words(slot) for slot in schema.slots}
