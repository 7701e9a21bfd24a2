"""Values and their surface forms: `18:30` is also `6:30 pm` and `half past six in the evening`.

The state keeps the canonical form first; what a user says is chosen here, by the user's voice.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from benchmarks.reminder.specs import SlotSpec, names
from dstress.text.numbers import number_names, ordinal
from dstress.text.times import calendar_words, clock_time

MONTHS = ("march", "april", "may", "june", "september", "october")
"""The season in which people ask for dates."""
NOON = 12


class Voice(NamedTuple):
    """How one speaker talks; it stays the same over a dialogue, as a person's does."""

    length: str = "plain"
    lower: bool = False
    polite: bool = False
    clock: str = "24h"
    digits: bool = True
    final_stop: bool = True


SYSTEM_VOICE = Voice()


def draw_voice(rng: Random) -> Voice:
    """A user: terse, plain or chatty, careful about capitals or not, with habits for times and numbers."""
    length = _draw_weighted(rng, (("terse", 25), ("plain", 45), ("chatty", 30)))
    lower = rng.random() < (0.5 if length == "terse" else 0.2)
    return Voice(
        length=length,
        lower=lower,
        polite=rng.random() < 0.5,
        clock=_draw_weighted(rng, (("24h", 25), ("12h", 40), ("words", 35))),
        digits=rng.random() < 0.5,
        final_stop=not lower and (length != "terse" or rng.random() < 0.4),
    )


def _draw_weighted(rng: Random, options: tuple[tuple[str, int], ...]) -> str:
    ticket = rng.randrange(sum(weight for _, weight in options))
    for option, weight in options:
        if ticket < weight:
            return option
        ticket -= weight
    return options[-1][0]


def draw_value(slot: SlotSpec, split: str, rng: Random, avoid: tuple[str, ...] = ()) -> str:
    """A canonical value that a split may use, other than those to avoid."""
    for _ in range(50):
        if slot.kind == "weekday":
            value = rng.choice(calendar_words("weekdays"))
        elif slot.kind == "date":
            value = f"{rng.randrange(1, 29)} {rng.choice(MONTHS)}"
        else:
            value = rng.choice(names(slot.pool, split) if slot.pool else slot.values)
        if value not in avoid:
            return value
    raise LookupError(f"slot {slot.name} has no value left beside {avoid}")


def draw_surface(slot: SlotSpec, value: str, voice: Voice, rng: Random) -> str:
    """One way in which this voice says the value."""
    if slot.kind == "weekday":
        return value.capitalize()
    if slot.kind == "date":
        number, month = value.split()
        month, day = month.capitalize(), ordinal(int(number))
        if voice is SYSTEM_VOICE:
            return f"{number} {month}"
        return rng.choice((f"{number} {month}", f"{month} {day}", f"the {day} of {month}", f"{day} {month}"))
    if slot.kind == "time":
        return _draw_time_surface(value, voice, rng, evening=slot.evening)
    if slot.kind == "count":
        return value if voice.digits else number_names()[int(value)]
    forms = slot.surface_forms.get(value, (value,))
    return rng.choice(forms) if slot.kind == "choice" and voice is not SYSTEM_VOICE else forms[0]


def _draw_time_surface(value: str, voice: Voice, rng: Random, evening: bool) -> str:
    hour, minute = (int(part) for part in value.split(":"))
    if voice.clock == "24h":
        return value
    if value == "12:00":
        return "noon"
    if voice.clock == "12h":
        half = "am" if hour < NOON else "pm"
        shown = (hour - 1) % NOON + 1
        gap = " " if rng.random() < 0.6 else ""
        separator = ":" if rng.random() < 0.7 else "."
        return f"{shown}{gap}{half}" if minute == 0 else f"{shown}{separator}{minute:02d}{gap}{half}"
    name, next_name = number_names()[(hour - 1) % NOON + 1], number_names()[hour % NOON + 1]
    phrase = {0: name, 15: f"quarter past {name}", 30: f"half past {name}", 45: f"quarter to {next_name}"}[minute]
    if evening and rng.random() < 0.4:
        return phrase
    if hour < NOON:
        return f"{phrase} in the morning"
    if hour < 17 or (hour == 17 and minute < 30):
        return f"{phrase} in the afternoon"
    return f"{phrase} in the evening" if hour < 22 else f"{phrase} at night"


def add_minutes(time: str, minutes: int) -> str:
    """A time of day some minutes later, for what the desk can offer instead."""
    hour, minute = (int(part) for part in time.split(":"))
    return clock_time(hour * 60 + minute + minutes)


def next_weekday(day: str) -> str:
    """The day after."""
    days = calendar_words("weekdays")
    return days[(days.index(day) + 1) % len(days)]
