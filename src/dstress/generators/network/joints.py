"""Two examples as one, so that a network sees slots together that people seldom say together.

CoCo's rare combinations are rare in training data too: a network then forces a price into a booking, "for 3 people in
the cheap". Two sentences say it well, and that is what joined examples teach: "for 3 people . i need something cheap ."
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from dstress.generators.network.linear_form import Example, Part, Wish
from dstress.generators.network.vocabulary import words_in

_MOST_WISHES = 4
_MOST_WORDS = 16
_TRIES = 8
_ENDS = (".", "?", "!")
# What only makes sense as the first words after the system's.
_ANSWERS = frozenset(
    {"yes", "no", "yeah", "yep", "nope", "ok", "okay", "sure", "that", "thanks", "thank", "great", "it"}
)


class Joiner:
    """Finds a second example that goes with a first: about the same service, with other slots."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self._seconds: dict[str, list[Example]] = {}
        for example in examples:
            if _can_follow(example):
                self._seconds.setdefault(_service(example.wishes[0]), []).append(example)

    def join(self, example: Example, random: Random) -> Example:
        """The example with another after it; as it was if there is none that fits."""
        if not (example.clean and example.wishes and example.user):
            return example
        seconds = self._seconds.get(_service(example.wishes[0]), ())
        slots = {wish.slot for wish in example.wishes}
        for _ in range(_TRIES if seconds else 0):
            second = random.choice(seconds)
            fits = len(slots) + len(second.wishes) <= _MOST_WISHES
            if fits and slots.isdisjoint(wish.slot for wish in second.wishes):
                return _join(example, second)
        return example


def _can_follow(example: Example) -> bool:
    if not (example.clean and example.wishes and all(wish.is_spoken for wish in example.wishes)):
        return False
    words = words_in("".join(part.text for part in example.user))
    same = len({_service(wish) for wish in example.wishes}) == 1
    return same and 0 < len(words) <= _MOST_WORDS and words[0] not in _ANSWERS


def _service(wish: Wish) -> str:
    return wish.slot.removesuffix(wish.name.replace("_", " ")).strip()


def _join(first: Example, second: Example) -> Example:
    size = len(first.wishes)
    ended = first.user[-1].text.rstrip().endswith(_ENDS)
    moved = [Part(part.text, part.wish + size if part.wish >= 0 else -1) for part in second.user]
    user = (*first.user, Part(" " if ended else " . "), *moved)
    return first._replace(wishes=(*first.wishes, *second.wishes), user=user)
