"""Values that are not said by name: yes and no by what they are about, `dontcare` by expressions of not caring."""

from __future__ import annotations

import re
from functools import cache, lru_cache, partial

from dstress.text.letters import LetteredText, Place, name_words
from dstress.text.tables import read_table, word_sets

_REACH = 45
"""Characters between a negation and what it denies, at most: "we do not need it to include parking"."""
_CLAUSE = re.compile(r"[.?!;,]|\b(?:but|with)\b|\band (?!\w*$|free \w*$)")
"""What ends the reach of a negation; "and" does not in "no wifi and parking"."""

_table = cache(partial(read_table, __package__, "data/value_forms.toml"))
_words = word_sets(__package__, "data/value_forms.toml")


def read_flag(slot: str, value: str) -> bool | None:
    """Whether a value of a slot is a yes or a no; None if neither. `free` is a yes only to a known yes-no slot."""
    value = value.strip().casefold()
    if value in _words("flags.loosely") and not is_listed(slot):
        return None
    return True if value in _words("flags.yes") else False if value in _words("flags.no") else None


def is_listed(slot: str) -> bool:
    """Whether the table knows words for a slot."""
    return not _words("flags.triggers").isdisjoint(name_words(slot))


@lru_cache(maxsize=1024)
def trigger_letters(slot: str) -> tuple[str, ...]:
    """The letters by which a user speaks of a yes-no slot."""
    triggers, name = _table()["flags"]["triggers"], name_words(slot)
    phrases = [phrase for word in name for phrase in triggers.get(word, ())]
    if not phrases:
        words = [word for word in name if word not in _words("flags.idle")] or list(name)
        phrases = [" ".join(name), " ".join(words), *(word for word in words if len(word) > 3)]
    return tuple(dict.fromkeys(phrase.replace(" ", "") for phrase in phrases if phrase))


def flag_answers(flag: bool) -> list[str]:
    """Letters that say yes or no by themselves."""
    answers: list[str] = _table()["flags"]["affirmed" if flag else "denied"]
    return answers


def find_flag(text: LetteredText, slot: str, flag: bool) -> list[Place]:
    """Where a text says yes or no to a slot: its trigger words, for `no` together with the negation.

    Without a trigger word, a plain yes or no may be the answer to the system's question.
    """
    triggers = [place for trigger in trigger_letters(slot) for place in text.places(trigger)]
    if not triggers:
        return [place for answer in flag_answers(flag) for place in text.places(answer, 1)]
    denials = [_find_denial(text.folded, *place) for place in triggers]
    if flag:
        return [place for place, denial in zip(triggers, denials, strict=True) if denial is None]
    return [denial for denial in denials if denial is not None]


def open_hints(slot: str) -> tuple[str, ...]:
    """Letters one of which a text must have to leave a slot open."""
    return (*_table()["dontcare"]["hints"], *(trigger_letters(slot) if is_listed(slot) else ()))


def find_open(text: LetteredText, slot: str) -> list[Place]:
    """Where a text leaves a slot open; a yes-no slot also by denying it: "it does n't need to include internet"."""
    if is_listed(slot):
        places = (place for trigger in trigger_letters(slot) for place in text.places(trigger))
        if denials := [denial for place in places if (denial := _find_denial(text.folded, *place))]:
            return denials
    if find_open not in text.results:
        text.results[find_open] = _find_open_phrases(text)
    return list(text.results[find_open])


@cache
def _negation() -> re.Pattern[str]:
    auxiliaries, negations = ("|".join(_table()["flags"][name]) for name in ("auxiliaries", "negations"))
    return re.compile(rf"(?<!\w)(?:{negations}|(?:{auxiliaries}) ?n ?' ?t|(?:{auxiliaries})n ?t)(?!\w)")


def _find_denial(folded: str, start: int, end: int) -> Place | None:
    """From the negation before the trigger, or to the one right after it, in the same clause."""
    negation = _negation()
    left = folded[max(0, start - _REACH) : start]
    cut = max((match.end() for match in _CLAUSE.finditer(left)), default=0)
    before = list(negation.finditer(left, cut))
    if before:
        return start - len(left) + before[-1].start(), end
    right = folded[end : end + _REACH // 3]
    stop = _CLAUSE.search(right)
    after = negation.search(right, 0, stop.start() if stop else len(right))
    return (start, end + after.end()) if after else None


@cache
def _open_phrases(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(_table()['dontcare'][name])})(?= )")


def _find_open_phrases(text: LetteredText) -> list[Place]:
    spans, openers = text.spans, _words("dontcare.starts")
    words = [text.folded[start:end] for start, end in spans]
    phrase = f"{' '.join(words)} "
    places, at, free = [], 0, 0
    for first, word in enumerate(words):
        if word in openers and first >= free and (match := _open_phrases("expressions").match(phrase, at)):
            last = first + match[0].count(" ")
            places.append((spans[first][0], spans[last][1]))
            free = last + 1
        at += len(word) + 1
    if not places and (answer := _open_phrases("answers").match(phrase)):
        places.append((spans[0][0], spans[answer[0].count(" ")][1]))
    return places
