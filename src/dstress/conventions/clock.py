"""Times of day as mwzeval reads them, misreadings included.

This repeats the official script expression for expression; what people mean by a time, `dstress.text.times` reads.
"""

from __future__ import annotations

_MORNING, _AFTERNOON = ("am", "a.m."), ("pm", "p.m.")
_LONGEST = 4_000
"""Python turns no more digits than 4,300 into a number; where they are more, the script stops with an error."""


def on_the_clock(time: str) -> str:
    """A time in lower case as HH:MM, as far as the script gets: `by 5:15 pm` -> `17:15`, `9` -> `09:00`.

    Noon becomes 24:00. Where a p.m. hour is no number the script stops with an error; here the text stays.
    """
    time = time[3:] if time.startswith("by") else time
    for word in ("after", "afer"):
        time = time[len(word) :].strip() if time.startswith(word) else time
    time = _without_ending(time, _MORNING)
    if time.endswith(_AFTERNOON):
        time = _without_ending(time, _AFTERNOON)
        hour, colon, minutes = time.partition(":")
        if ":" not in minutes and hour.strip().isdecimal() and len(hour) <= _LONGEST:
            return f"{int(hour) + 12}:{minutes if colon else '00'}"
    return _padded(time)


def _without_ending(time: str, endings: tuple[str, ...]) -> str:
    for ending in endings:
        time = time.removesuffix(ending).strip() if time.endswith(ending) else time
    return time


def _padded(time: str) -> str:
    if not time:
        return "00:00"
    time = time[:-1] if time[-1] in ".,?" else time
    if time.isdigit():
        return f"{time[:2]}:{time[2:]}" if len(time) == 4 else f"{time.zfill(2)}:00"
    if ":" in time:
        time = "".join(time.split(" "))
    if len(time) == 4 and time[1] == ":":
        hour, minutes = time.split(":")[:2]
        return f"{hour.zfill(2)}:{minutes}"
    return time
