"""Values that are not said by name: yes and no by what they are about, `dontcare` by expressions of not caring."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from dstress.text.letters import LetteredText, Place, name_words

_REACH = 45
"""Characters between a negation and what it denies, at most: "we do not need it to include parking"."""
_CLAUSE = re.compile(r"[.?!;,]|\b(?:but|with)\b|\band (?!\w*$|free \w*$)")
"""What ends the reach of a negation; "and" does not in "no wifi and parking"."""


class Flags:
    """The table of yes and no, ready to use."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.values = {value: wanted for wanted, name in ((True, "yes"), (False, "no")) for value in table[name]}
        self.loosely = frozenset(table["loosely"])
        self.answers = {True: tuple(table["affirmed"]), False: tuple(table["denied"])}
        auxiliaries = "|".join(table["auxiliaries"])
        self.negation = re.compile(
            rf"(?<!\w)(?:{'|'.join(table['negations'])}|(?:{auxiliaries}) ?n ?' ?t|(?:{auxiliaries})n ?t)(?!\w)"
        )
        self.triggers: dict[str, list[str]] = table["triggers"]
        self.idle = frozenset(table["idle"])

    @lru_cache(maxsize=1024)  # noqa: B019 - the table lives as long as the program
    def trigger_letters(self, slot: str) -> tuple[str, ...]:
        """The letters by which a user speaks of a yes-no slot."""
        name = name_words(slot)
        phrases = [phrase for word in name for phrase in self.triggers.get(word, ())]
        if not phrases:
            words = [word for word in name if word not in self.idle] or list(name)
            phrases = [" ".join(name), " ".join(words), *(word for word in words if len(word) > 3)]
        return tuple(dict.fromkeys(phrase.replace(" ", "") for phrase in phrases if phrase))

    def meaning(self, slot: str, value: str) -> bool | None:
        """Whether a value is a yes or a no; None if neither. `free` is a yes only to a known yes-no slot."""
        value = value.strip().casefold()
        return None if value in self.loosely and not self.is_listed(slot) else self.values.get(value)

    def is_listed(self, slot: str) -> bool:
        """Whether the table knows words for a slot."""
        return any(word in self.triggers for word in name_words(slot))

    def hints(self, slot: str, wanted: bool) -> tuple[str, ...]:
        """Letters one of which a text must have to say yes or no to a slot."""
        return (*self.trigger_letters(slot), *self.answers[wanted])


def find_flag(text: LetteredText, slot: str, wanted: bool, flags: Flags) -> list[Place]:
    """Where a text says yes or no to a slot: its trigger words, for `no` together with the negation.

    Without a trigger word, a plain yes or no may be the answer to the system's question.
    """
    triggers = [place for trigger in flags.trigger_letters(slot) for place in text.places(trigger)]
    if not triggers:
        return [place for answer in flags.answers[wanted] for place in text.places(answer, 1)]
    denials = [_find_denial(text.folded, start, end, flags.negation) for start, end in triggers]
    if wanted:
        return [place for place, denial in zip(triggers, denials, strict=True) if denial is None]
    return [denial for denial in denials if denial is not None]


def find_unneeded(text: LetteredText, slot: str, flags: Flags) -> list[Place]:
    """Where a text leaves a yes-no slot open by denying it: "it does n't need to include internet"."""
    triggers = (place for trigger in flags.trigger_letters(slot) for place in text.places(trigger))
    return [denial for place in triggers if (denial := _find_denial(text.folded, *place, flags.negation))]


def _find_denial(folded: str, start: int, end: int, negation: re.Pattern[str]) -> Place | None:
    """From the negation before the trigger, or to the one right after it, in the same clause."""
    left = folded[max(0, start - _REACH) : start]
    cut = max((match.end() for match in _CLAUSE.finditer(left)), default=0)
    before = list(negation.finditer(left, cut))
    if before:
        return start - len(left) + before[-1].start(), end
    right = folded[end : end + _REACH // 3]
    stop = _CLAUSE.search(right)
    after = negation.search(right, 0, stop.start() if stop else len(right))
    return (start, end + after.end()) if after else None


class Openness:
    """The expressions of not caring, compiled."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.hints = tuple(table["hints"])
        self.starts = frozenset(table["starts"])
        self.pattern = re.compile(rf"(?:{'|'.join(table['expressions'])})(?= )")
        self.answer = re.compile(rf"(?:{'|'.join(table['answers'])})(?= )")


def find_dontcare(text: LetteredText, openness: Openness) -> list[Place]:
    """Where a text leaves something open."""
    if openness not in text.known:
        text.known[openness] = _find_open_phrases(text, openness)
    return list(text.known[openness])


def _find_open_phrases(text: LetteredText, openness: Openness) -> list[Place]:
    folded, spans = text.folded, text.spans
    words = [folded[start:end] for start, end in spans]
    phrase = f"{' '.join(words)} "
    places, at, free = [], 0, 0
    for first, word in enumerate(words):
        if word in openness.starts and first >= free and (match := openness.pattern.match(phrase, at)):
            last = first + match[0].count(" ")
            places.append((spans[first][0], spans[last][1]))
            free = last + 1
        at += len(word) + 1
    if not places and (answer := openness.answer.match(phrase)):
        places.append((spans[0][0], spans[answer[0].count(" ")][1]))
    return places
