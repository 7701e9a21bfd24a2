"""Names that no list has: what stands between a word that leads up to a name and one that ends it.

`a table at Juniper Room for Friday` names Juniper Room, in capitals or not. What a system offers is found by its
capitals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from dstress.trackers.rules.slot_profiles import Profile
from dstress.trackers.rules.words import Words, key_of, word_set

Taken = Mapping[int, str]
"""The words that say something already, by their index: `value`, `time`, `number` ... and `service` for its nouns."""

_LONGEST = 7
_CAPITALS = re.compile(r"(?:A )?[A-Z][\w'’]+(?:(?: (?:of|the|and|with|on|in|de|by|for|a|from the))* [A-Z][\w'’]+)*")


def slots_by_lead(slots: Mapping[str, Profile]) -> dict[str, list[str]]:
    """The slots that each lead can fill."""
    names = [profile for profile in slots.values() if profile.kind == "name"]
    return {
        "from": [profile.slot for profile in names if profile.role == "from"],
        "to": [profile.slot for profile in names if profile.role == "to"],
        "name": [profile.slot for profile in sorted(names, key=lambda profile: bool(profile.role))],
        "in": [profile.slot for profile in names if profile.concept == "city"],
        "task": [profile.slot for profile in slots.values() if profile.concept == "task"],
    }


@cache
def _leads() -> dict[str, str]:
    return {word: lead for lead in ("task", "name", "in", "to", "from") for word in word_set(f"{lead}_leads")}


def find_names(words: Words, taken: Taken) -> Iterator[tuple[str, int, int]]:
    """What the user may name: what leads up to it (a key of `slots_by_lead`), its first word, the one after its last.

    `in` leads to names with capitals only. After `remind me`, `to` and `about` lead to a task.
    """
    row = words.words
    free = 0
    for at in range(len(row) - 1):
        lead = _leads().get(row[at], "")
        if not lead or at + 1 < free or (lead == "in" and not words.is_capital(at + 1)):
            continue
        if lead in ("to", "task"):
            before = [word for word in row[max(0, at - 2) : at] if word != "me"][-1:]
            if before and before[0] in word_set("reminding"):
                lead = "task"
            elif lead == "task":
                continue
        first, last = _task(words, at + 1, taken) if lead == "task" else _name(words, at + 1, taken)
        if last > first:
            free = last
            yield lead, first, last


def _task(words: Words, first: int, taken: Taken) -> tuple[int, int]:
    """A whole clause, up to a time or date, or what asks for something else."""
    row, clause = words.words, words.clauses[first]
    last = first
    while last < len(row) and words.clauses[last] == clause and taken.get(last) not in ("time", "date"):
        if row[last] in word_set("task_ends"):
            break
        last += 1
    while last > first and row[last - 1] in word_set("task_trailing"):
        last -= 1
    return first, last


def _name(words: Words, first: int, taken: Taken) -> tuple[int, int]:
    """The words up to what ends a name; none where they can be no name."""
    row, clause = words.words, words.clauses[first - 1]
    while first < len(row) and row[first] in word_set("determiners") and not words.is_capital(first):
        first += 1
    last = first
    while last < len(row) and last - first < _LONGEST and words.clauses[last] == clause:
        if _ends_name(words, first, last, taken):
            break
        last += 1
    alone = last - first == 1 and (row[first] in word_set("lonely") or taken.get(first) == "service")
    is_none = last == first or row[first] in word_set("no_names") or alone
    return (first, first) if is_none else (first, last)


def _ends_name(words: Words, first: int, at: int, taken: Taken) -> bool:
    row, kind, boundaries = words.words, taken.get(at, "service"), word_set("boundaries")
    after = at + 1
    if kind in ("number", "listed") and at == first:
        # A name may start with a word that is a value by itself: `5 Pond Close`, `bus station`.
        if after == len(row) or taken.get(after, "service") != "service" or words.clauses[after] != words.clauses[at]:
            return True
        if kind == "number":
            return row[after] in boundaries or row[after] in word_set("counted")
        return not words.is_capital(after) and key_of(row[after]) not in word_set("generic")
    if kind != "service":
        return kind != "listed"
    if row[at] not in boundaries:
        return False
    # `the Museum of Clocks`, `the Hall from the North`: between two capitals such a word is part of the name.
    with_the = row[after : after + 1] == ["the"]
    after += with_the
    joins = row[at] in word_set("joiners") or (with_the and row[at] in word_set("joiners_with_the"))
    is_within = joins and after < len(row) and after not in taken and at != first
    return not (is_within and words.is_capital(first) and words.is_capital(after))


def find_capitalised(words: Words, taken: Taken) -> Iterator[tuple[int, int]]:
    """The names in a system's utterance, by their capitals."""
    if words.text.islower():
        return
    row = words.words
    index = {start: at for at, start in enumerate(words.starts)}
    for match in _CAPITALS.finditer(words.text):
        first = index.get(match.start())
        if first is None or (first and row[first - 1].isdecimal()):  # the street of an address
            continue
        last = first
        while last < len(row) and words.ends[last] <= match.end():
            last += 1
        begins = first == 0 or words.sentences[first - 1] != words.sentences[first]
        alone = last - first == 1 and row[last : last + 1] != ["is"]  # "Certainly." is no name, "Moonfish is cheap" has
        if begins and (row[first] in word_set("openers") or alone or taken.get(first) == "service"):
            first += 1
        while first < last and not words.is_capital(first):
            first += 1
        free = ("service", "time", "name")
        last = next((at for at in range(first, last) if taken.get(at, "service") not in free), last)
        while last > first and not words.is_capital(last - 1):
            last -= 1
        text = words.span_text(first, last) if last > first else ""
        if len(text) >= 3 and not text.isupper() and not any(character.isdigit() for character in text):
            yield first, last
