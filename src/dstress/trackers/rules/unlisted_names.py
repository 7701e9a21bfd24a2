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

LeadSpan = tuple[str, int, int]
"""What leads up to it (`from`, `to`, `name`, `task`), the first word, and the one after the last."""

_LONGEST = 7
_CAPITALS = re.compile(r"(?:A )?[A-Z][\w'’]+(?:(?: (?:of|the|and|with|on|in|de|by|for|a|from the))* [A-Z][\w'’]+)*")


def find_names(words: Words, taken: Taken) -> Iterator[LeadSpan]:
    """What the user may name, with the word that leads up to it."""
    row, leads = words.words, _leads()
    free = 0
    for at in range(len(row) - 1):
        if row[at] not in leads or at + 1 < free:
            continue
        lead = _lead(words, at, leads[row[at]])
        if not lead:
            continue
        span = _task(words, at + 1, taken) if lead == "task" else _name(words, at + 1, taken)
        if span:
            free = span[1]
            yield lead, *span


@cache
def _leads() -> dict[str, str]:
    return {word: lead for lead in ("task", "name", "in", "to", "from") for word in word_set(f"{lead}_leads")}


def _lead(words: Words, at: int, lead: str) -> str:
    """What a word leads up to here: `to` may start a task (`remind me to`), `in` leads to names with capitals only."""
    if lead == "in":
        return lead if words.is_capital(at + 1) else ""
    if lead not in ("to", "task"):
        return lead
    before = [word for word in words.words[max(0, at - 2) : at] if word != "me"][-1:]
    is_task = bool(before) and before[0] in word_set("reminding")
    return "task" if is_task else lead if lead == "to" else ""


def _name(words: Words, first: int, taken: Taken) -> tuple[int, int] | None:
    row = words.words
    clause = words.clauses[first - 1]
    while first < len(row) and row[first] in word_set("determiners") and not words.is_capital(first):
        first += 1
    last = first
    while last < len(row) and last - first < _LONGEST and words.clauses[last] == clause:
        if _ends_name(words, first, last, taken):
            break
        last += 1
    alone = last - first == 1 and (row[first] in word_set("lonely") or taken.get(first) == "service")
    return None if last == first or row[first] in word_set("no_names") or alone else (first, last)


def _ends_name(words: Words, first: int, at: int, taken: Taken) -> bool:
    row = words.words
    kind = taken.get(at, "service")
    if kind in ("number", "listed") and at == first:
        return not _starts_name(words, at, taken)
    if kind != "service":
        return kind != "listed" or at == first
    if row[at] not in word_set("boundaries"):
        return False
    after = at + 2 if row[at + 1 : at + 2] == ["the"] else at + 1
    joins = row[at] in word_set("joiners") or (after == at + 2 and row[at] in word_set("joiners_with_the"))
    continued = (
        joins and after < len(row) and after not in taken and words.is_capital(first) and words.is_capital(after)
    )
    return not continued or at == first


def _starts_name(words: Words, at: int, taken: Taken) -> bool:
    """Whether a name starts with a word that is a value by itself: `5 Pond Close`, `bus station`."""
    row, after = words.words, at + 1
    if after == len(row) or taken.get(after, "service") != "service" or words.clauses[after] != words.clauses[at]:
        return False
    if taken[at] == "number":
        return row[after] not in word_set("boundaries") and row[after] not in word_set("counted")
    return words.is_capital(after) or key_of(row[after]) in word_set("generic")


def _task(words: Words, first: int, taken: Taken) -> tuple[int, int] | None:
    """A whole clause, up to a time or date, or what asks for something else."""
    row, clause = words.words, words.clauses[first]
    last = first
    while last < len(row) and words.clauses[last] == clause and taken.get(last) not in ("time", "date"):
        if row[last] in word_set("task_ends"):
            break
        last += 1
    while last > first and row[last - 1] in word_set("task_trailing"):
        last -= 1
    return (first, last) if last > first else None


def find_capitalised(words: Words, taken: Taken) -> Iterator[tuple[int, int]]:
    """The names in a system's utterance, by their capitals."""
    if words.text.islower():
        return
    row = words.words
    index = {start: at for at, start in enumerate(words.starts)}
    for match in _CAPITALS.finditer(words.text):
        first = index.get(match.start())
        if first is None:
            continue
        last = first
        while last < len(row) and words.ends[last] <= match.end():
            last += 1
        if first and row[first - 1].isdecimal():  # the street of an address
            continue
        begins = first == 0 or words.sentences[first - 1] != words.sentences[first]
        span = _trimmed(words, first, last, taken, begins)
        if span:
            yield span


def _trimmed(words: Words, first: int, last: int, taken: Taken, begins: bool) -> tuple[int, int] | None:
    row = words.words
    alone = last - first == 1 and row[last : last + 1] != ["is"]  # "Certainly." is no name, "Moonfish is cheap" has one
    if begins and (row[first] in word_set("openers") or alone or taken.get(first) == "service"):
        first += 1
    while first < last and not words.is_capital(first):
        first += 1
    stop = next((at for at in range(first, last) if taken.get(at, "service") not in ("service", "time", "name")), last)
    while stop > first and not words.is_capital(stop - 1):
        stop -= 1
    text = words.span_text(first, stop) if stop > first else ""
    if len(text) < 3 or text.isupper() or any(character.isdigit() for character in text):
        return None
    return first, stop


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
