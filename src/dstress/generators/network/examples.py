"""From turns of a corpus, and from goals, to the examples that a network reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dstress.dialogue import DONTCARE, Slot, State, service_of
from dstress.generators.base import Request
from dstress.generators.goals import own_goal
from dstress.generators.network.linear_form import Example, Kind, Part, Wish
from dstress.resources import Material
from dstress.text import mentions
from dstress.text.letters import name_words
from dstress.text.utterance import Utterance

_FLAGS = {"yes": "yes", "true": "yes", "free": "yes", "no": "no", "false": "no", DONTCARE: DONTCARE}
_FIGURE = re.compile(r"(?<![\d:.])(?!1(?!\d))\d+")
"""A number that may be a value of some slot; corpora also write 1 for "one of them"."""

WishSpan = tuple[int, int, int]
"""From a character to another, and the number of the wish that is said there."""


def slot_in_words(slot: str) -> str:
    """`hotel-book day` -> `hotel book day`; `RentalCars_2-pickup_city` -> `rental cars pickup city`."""
    service = [word for word in name_words(service_of(slot)) if not word.isdigit()]
    return " ".join((*service, *name_words(slot)))


def example_of(request: Request, slots: Mapping[str, Slot]) -> Example:
    """What is to be said, as a network reads it."""
    system, goal, _ = request
    values = {**goal.spoken, **{slot: value for slot, value in goal.unspoken.items() if slot not in goal.spoken}}
    wishes, spans = [], list[WishSpan]()
    for number, (slot, value) in enumerate(values.items()):
        kind: Kind = "listed" if slot in slots and slots[slot].categorical else "open"
        if value.casefold() in _FLAGS:
            kind, value = "flag", _FLAGS[value.casefold()]
        else:
            spans += [(mention.start, mention.end, number) for mention in mentions.find_value(system, slot, (value,))]
        wishes.append(Wish(slot_in_words(slot), value, slot in goal.spoken, kind, "_".join(name_words(slot))))
    return Example(_split(system, _without_overlaps(spans)), tuple(wishes))


def examples_of(corpus: Material) -> Iterator[Example]:
    """An example for every turn that adds to the state."""
    for dialogue in corpus:
        updates = [*dialogue.updates(), {}]
        for number, turn in enumerate(dialogue.turns):
            if turn.user.strip() and any(updates[number].values()):
                example = _example(Utterance(dialogue, number, corpus.schema, ()), *updates[number : number + 2])
                if example.wishes:
                    yield example._replace(name=f"dialogue {dialogue.id}, turn {number}")


def _example(utterance: Utterance, update: State, after: State) -> Example:
    slots, goal = utterance.schema.slots, own_goal(utterance)
    example = example_of(Request(utterance.turn.system, goal), slots)
    numbers = {slot: number for number, slot in enumerate((*goal.spoken, *goal.unspoken))}
    spans = _without_overlaps(
        (mention.start, mention.end, numbers[mention.slot])
        for mention in utterance.mentions
        if mention.slot in numbers and mention.value.casefold() not in _FLAGS
    )
    # A value whose words another value has ("north" for two slots at once) is not there to be said by itself.
    named = {number for _, _, number in spans}
    wishes = tuple(
        wish._replace(is_spoken=wish.is_spoken and (wish.kind == "flag" or number in named))
        for number, wish in enumerate(example.wishes)
    )
    user = _split(utterance.text, spans)
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
        forms and forms[0].casefold() not in _FLAGS and mentions.find_value(rest, slot, forms) for slot, forms in others
    )


def _without_overlaps(spans: Iterable[WishSpan]) -> list[WishSpan]:
    """Spans that do not overlap, in order; of two that start together the longer."""
    kept: list[WishSpan] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _split(text: str, spans: Iterable[WishSpan]) -> tuple[Part, ...]:
    parts, at = [], 0
    for start, end, wish in spans:
        parts += [Part(text[at:start])] if start > at else []
        parts.append(Part(text[start:end], wish))
        at = end
    return (*parts, *([Part(text[at:])] if at < len(text) else []))
