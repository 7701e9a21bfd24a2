"""Times in another form: `17:15` as `5:15 pm` or `quarter past five in the afternoon`.

People do not speak on a clock of 24 hours, on which most labels are written: the speech-aware track of DSTC11 (Soltau
et al. 2022) gave MultiWOZ's times on one of 12. Only the form changes. Every new form is read back, and must give the
very minute of the label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dstress.errors import unknown
from dstress.resources import Resources
from dstress.stressors.base import Effect, Outcome, Rewrite, TurnStressor
from dstress.text.inflection import replace_with_articles
from dstress.text.letters import Place
from dstress.text.mentions import Mention
from dstress.text.numbers import spell
from dstress.text.slot_names import kind_of
from dstress.text.times import AM_PM, DAY_PART, HALF_OF_DAY, clock_time, half_day_time, time_of
from dstress.text.utterance import Utterance
from dstress.text.writing_style import capitalise, opens_sentence

KINDS = ("clock", "am_pm", "spoken")
_DAY_PART = re.compile(rf"(?<!\w)(?:{DAY_PART}s?|tonight|lunch|dinner|breakfast)(?!\w)", re.IGNORECASE)
_HALF = re.compile(rf"{HALF_OF_DAY}|noon|midday|midnight", re.IGNORECASE)
_AM_PM = re.compile(AM_PM, re.IGNORECASE)
_HOUR = re.compile(r"\d+")
_SPOKEN = re.compile(r"past|after|to|till|before|half|quarter", re.IGNORECASE)
_DETERMINER = re.compile(r"(?<!\w)(?:the|an?|that|this|my|our|your)\s+$", re.IGNORECASE)
_TIGHT = re.compile(r"[\w'’/-]")
_DAY, _NOON = 24 * 60, 12 * 60
_PARTS = ((_NOON, "in the morning"), (18 * 60, "in the afternoon"), (21 * 60, "in the evening"), (_DAY, "at night"))
"""What a part of the day is called, up to a minute."""


class TimeFormat(TurnStressor):
    """Times in another form, with am and pm or in words; the label stays the same minute.

    `kinds`: `am_pm` (5:15 pm), `spoken` (quarter past five in the afternoon), `clock` (17:15). Turns are tagged with
    the kinds they got.
    """

    languages = ("en",)
    effect: Effect = "directional"

    def __init__(self, kinds: tuple[str, ...] = ("am_pm", "spoken")) -> None:
        for kind in kinds:
            if kind not in KINDS:
                raise unknown("form of a time", kind, KINDS)
        self.kinds = kinds

    def prepare(self, resources: Resources) -> None:
        """See whether the corpus labels times on the clock, as they are said, or both ways."""
        super().prepare(resources)
        times = [
            (forms, minutes)
            for dialogue in resources.corpus
            for turn in dialogue.turns[-1:]
            for slot, forms in turn.state.items()
            if kind_of(slot) == "time" and (minutes := time_of(forms[0])) is not None
        ]
        self._as_spoken = sum(forms[0] != clock_time(minutes) for forms, minutes in times) > len(times) / 2
        self._both_ways = any(len(forms) > 1 for forms, _ in times)

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """The utterance with its new times in another form; where labels have forms as said, also this one."""
        shown: dict[Place, str] = {}
        by_slot: dict[str, str] = {}
        tags = set()
        for mention in utterance.mentions:
            place = mention.start, mention.end
            forms = _other_forms(utterance.text, mention, self.kinds)
            if forms and place not in shown:
                kind, form = utterance.random.choice(forms)
                opens = utterance.text[:1].isupper() and opens_sentence(utterance.text, mention.start)
                shown[place] = capitalise(form) if opens else form
                tags.add(kind)
            if forms is not None and place in shown:
                by_slot[mention.slot] = shown[place]
        if not shown:
            return None
        text = replace_with_articles(utterance.text, [(*place, form) for place, form in shown.items()])
        state = dict(utterance.turn.state)
        for slot, form in by_slot.items():
            # What is said is one of the label's forms, where the corpus has such.
            added = (form,) if self._as_spoken or self._both_ways else ()
            state[slot] = tuple(dict.fromkeys((*added, *state[slot]) if self._as_spoken else (*state[slot], *added)))
        return Rewrite(text, state, tags=tuple(sorted(tags)))


def _other_forms(text: str, mention: Mention, kinds: Sequence[str]) -> list[tuple[str, str]] | None:
    """Other forms, each after its kind, of the time that a mention says, which read as the same minute.

    None for other values, and where the words say something else, or more.
    """
    surface = text[mention.start : mention.end]
    minutes = time_of(mention.value) if kind_of(mention.slot) == "time" else None
    spoken_minutes = None if minutes is None else time_of(surface, hours=True)
    around = text[: mention.start] + "\n" + text[mention.end :]
    if minutes is None or spoken_minutes is None or _DAY_PART.match(surface) or _DAY_PART.search(around):
        return None
    if _TIGHT.match(text, mention.end) or _TIGHT.match(text[mention.start - 1 : mention.start]):
        return None
    hour, has_half = _HOUR.match(surface), bool(_HALF.search(surface))
    is_open = not has_half and (hour is None or len(hour[0]) == 1)  # it may be in either half of the day
    if spoken_minutes != minutes and not (is_open and (spoken_minutes - minutes) % _NOON == 0):
        return None
    is_spoken = hour is None or bool(_SPOKEN.search(surface))
    own = "spoken" if is_spoken else "am_pm" if _AM_PM.search(surface) else "" if has_half else "clock"
    is_attribute = bool(_DETERMINER.search(text[: mention.start]))  # "the 17:15 train"
    forms = []
    for kind in kinds:
        if kind == own or (is_open and kind != "spoken") or (is_attribute and kind == "spoken"):
            continue
        for form in _write(minutes, kind):
            bare = form.partition(" in the ")[0].partition(" at night")[0] if is_open else form
            if time_of(bare) == (minutes % _NOON if is_open else minutes):
                forms.append((kind, bare))
    return forms


def _write(minutes: int, kind: str) -> Iterator[str]:
    """A time of day in the forms of a kind."""
    if kind == "clock":
        yield clock_time(minutes)
        return
    if kind == "am_pm":
        shown = half_day_time(minutes)
        yield from (shown, shown.replace(" ", ""))
        if ":" in shown:
            yield shown.replace(":", ".")
        return
    hour, minute = divmod(minutes, 60)
    if minutes in (0, _NOON):
        yield "noon" if minutes else "midnight"
        return
    if not hour:
        return  # after midnight nobody agrees on the name of the part of the day
    part = next(name for end, name in _PARTS if minutes < end)
    this, following = (spell(number % 12 or 12) for number in (hour, hour + 1))
    if not minute:
        yield from (f"{this} {part}", f"{this} o'clock {part}")
        return
    yield f"{this} {'oh ' if minute < 10 else ''}{spell(minute)} {part}"
    if minute % 5 == 0:
        names = {15: "quarter", 30: "half"}
        past = minute <= 30
        count = minute if past else 60 - minute
        yield f"{names.get(count) or spell(count)} {'past' if past else 'to'} {this if past else following} {part}"
