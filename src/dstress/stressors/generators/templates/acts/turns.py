"""Dialogue acts of turns, and delexicalised utterances: each value replaced by a placeholder such as `[city]`.

Acts, by SGD's names, say what the user does and what the system's turn wants; spans say where values are, so that
nothing is guessed. Capitals stay, since templates are said as training wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from dstress.dialogue import Dialogue, Frame, Service, Turn, slot_id
from dstress.stressors.generators.goals import flag_of
from dstress.stressors.generators.templates.tokens import element_for, has_word, slot_of, words
from dstress.text.letters import name_words
from dstress.text.numbers import number_of, number_words
from dstress.text.times import date_of, time_of

INFORM, SELECT, INFORM_INTENT, REQUEST = "INFORM", "SELECT", "INFORM_INTENT", "REQUEST"
_ACCEPTING_ACTS = frozenset({SELECT, "AFFIRM", "AFFIRM_INTENT"})
_CHECKED_DIALOGUES = 50

PLACEHOLDER = re.compile(r"\[([^\]]+)\]")
"""A bare slot name: a template is about one service."""
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z\[])")
_WORD = re.compile(r"\[[^\]]+\]|[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
"""A placeholder, and the word before it, at the end of a sentence."""
_WRITING_SLIP = re.compile(r"\bi\b|\s[.,?!]|\.\.|[.?!] [a-z]")
_LAST_VALUE = re.compile(r"(\w+) (?:only |just )?\[([^\]]+)\](?:,? please)?\W*$", re.IGNORECASE)
_WISHES = frozenset({"like", "want", "need", "prefer", "me"})
_BEFORE_COUNT = frozenset({"for", "of", "least", "with"})
_CLOCK = re.compile(r"[\d:]+(?: ?[ap]m)?", re.IGNORECASE)


class ActKey(NamedTuple):
    """What a user does in a turn; templates are filed by it."""

    service: str
    intent: str
    """The intent that the turn opens; empty if none."""
    acts: frozenset[str]
    """Further acts: all but those that open the intent, give a value or request a slot."""
    elements: frozenset[str]
    """What the turn gives: the ids of its slots, those of flags with their value."""


def has_acts(dialogues: Iterable[Dialogue]) -> bool:
    """Whether a corpus annotates users' acts as SGD does: in its first dialogues, users open and affirm intents."""
    first_dialogues = islice(iter(dialogues), _CHECKED_DIALOGUES)
    acts = {act for dialogue in first_dialogues for turn in dialogue.turns for act in acts_of(turn.frames)}
    return acts >= {INFORM_INTENT, "AFFIRM_INTENT"}


def acts_of(frames: Iterable[Frame]) -> frozenset[str]:
    """The names of all acts."""
    return frozenset(act.act for frame in frames for act in frame.acts)


def replied_to(turn: Turn) -> frozenset[str]:
    """The names of the system's acts; `REQUEST?` for one that proposes a value, and so wants a yes or a no."""
    acts = [act for frame in turn.system_frames for act in frame.acts]
    return frozenset(f"{act.act}?" if act.act == REQUEST and act.values else act.act for act in acts)


def requested_in(turn: Turn) -> frozenset[str]:
    """The slot ids that the system asks for."""
    return frozenset(
        slot_id(frame.service, act.slot) for frame in turn.system_frames for act in frame.acts if act.act == REQUEST
    )


def named_by_system(turn: Turn, slot: str) -> list[str]:
    """The values of a slot that the system's acts name."""
    service, _, bare = slot.partition("-")
    frames = (frame for frame in turn.system_frames if frame.service == service)
    return [value for frame in frames for act in frame.acts if act.slot == bare for value in act.values]


def takes_offer(turn: Turn, service: str) -> bool:
    """Whether the user takes up an offer of a service."""
    return any(frame.service == service and _ACCEPTING_ACTS & acts_of((frame,)) for frame in turn.frames)


def act_key_of(turn: Turn, service: str, elements: frozenset[str]) -> ActKey:
    """What the user of a turn does about a service, if the turn gives these elements."""
    acts = [(frame.service, act) for frame in turn.frames for act in frame.acts]
    intents = (act.values[0] for name, act in acts if name == service and act.act == INFORM_INTENT and act.values)
    # Who selects an offer by its name gives a value, as with INFORM.
    others = frozenset(act.act for _, act in acts if not (act.act == SELECT and act.slot))
    others -= {INFORM, INFORM_INTENT, REQUEST}
    return ActKey(service, next(intents, ""), others, elements)


class Delexicalised(NamedTuple):
    """An utterance with placeholders in place of its values, what it does, and the shape of each value (`shape_of`)."""

    key: ActKey
    text: str
    shapes: dict[str, str]


def delexicalise(turn: Turn, services: Mapping[str, Service]) -> Delexicalised | None:
    """The user's utterance of a turn, delexicalised.

    None where no template can be made of it: it is about no service or several, requests a slot, or has a value that is
    not said exactly once.
    """
    giving = [(frame, act) for frame in turn.frames for act in frame.acts if act.slot and act.act in (INFORM, SELECT)]
    about = {frame.service for frame, _ in giving}
    about |= {frame.service for frame in turn.frames if INFORM_INTENT in acts_of((frame,))}
    if len(about) != 1 or REQUEST in acts_of(turn.frames):
        return None
    [service] = about
    places: list[tuple[int, int, str]] = []
    elements = set[str]()
    for frame, act in giving:
        if len(act.values) != 1:
            return None
        [value] = act.values
        elements.add(element_for(slot_id(service, act.slot), value))
        if flag_of(value):
            continue
        spans = [(span.start, span.end) for span in frame.spans if span.slot == act.slot]
        spans = spans or _find_value_words(turn.user, value)
        if len(spans) != 1:
            return None
        places.append((*spans[0], act.slot))
    text, done, shapes = "", 0, dict[str, str]()
    for start, end, slot in sorted(places):
        if start < done or slot in shapes:
            return None
        text, done = f"{text}{turn.user[done:start]}[{slot}]", end
        shapes[slot] = shape_of(turn.user[start:end])
    text = end_sentence((text + turn.user[done:]).strip())
    return Delexicalised(act_key_of(turn, service, frozenset(elements)), text, shapes) if service in services else None


def _find_value_words(text: str, value: str) -> list[tuple[int, int]]:
    """Where a text has a value word for word; a number may also be written as a word."""
    number = number_of(value)
    forms = {value, *(word for word, meaning in number_words().items() if meaning == number)}
    pattern = "|".join(re.escape(form) for form in sorted(forms, key=lambda form: (-len(form), form)))
    matches = re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE)
    return [match.span() for match in matches]


def shape_of(value: str) -> str:
    """What kind of words a value is: any other value of that shape fits into the same sentence."""
    number = number_of(value)
    if number is not None and time_of(value) is None:
        return "one" if number == 1 else "number"
    if any(map(str.isdigit, value)):
        if time_of(value) is not None:
            return "clock" if _CLOCK.fullmatch(value) else "time"
        if date_of(value) is not None:  # "on the March 4th", "on the the 4th"
            return "day" if value.startswith("the ") else "day of month" if value[0].isdigit() else "month and day"
    folded = value.lower()
    return "near day" if folded in words("acts.near_days") or folded.startswith("next ") else "name"


def words_in(text: str) -> list[str]:
    """The words of a text in small letters, without placeholders."""
    return [word.lower().replace("’", "'") for word in _WORD.findall(text) if word[0] != "["]


def split_sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return _SENTENCE.split(text)


def end_sentence(text: str) -> str:
    """A text with a mark at its end."""
    if text[-1:] in ".?!":
        return text
    is_question = has_word(words_in(split_sentences(text)[-1])[:1], "acts.asking")
    return f"{text}{'?' if is_question else '.'}"


def is_written_well(text: str) -> bool:
    """Whether a text begins with a capital (or a value) and has no slip in its capitals and punctuation."""
    return (text[:1].isupper() or text[:1] == "[") and not _WRITING_SLIP.search(text)


def is_fragment(text: str) -> bool:
    """Whether a text has no verb, and so only answers a question: "York, please"."""
    return not has_word(words_in(text), "acts.verbs")


def is_bare_wish(text: str, shapes: Mapping[str, str]) -> bool:
    """Whether a sentence gives a value without saying of what, so that only its question tells: "I want Leeds", "Get 3,
    please"; not "for 3". `shapes` are those of its values."""
    ends = filter(None, map(_LAST_VALUE.search, split_sentences(text)))
    bare = [(end[1].lower(), shapes[end[2]]) for end in ends if end[1].lower() not in _BEFORE_COUNT]
    return any(before in _WISHES or shape in ("one", "number") for before, shape in bare)


def flag_words(element: str) -> frozenset[str]:
    """The words by which an utterance speaks of a flag, a slot that is answered with yes or no."""
    return frozenset(name_words(slot_of(element))) - words("acts.idle")
