"""Small dialogues of ours with SGD's acts: tables and rooms that are known from training, and huts that are not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dstress.corpora import load
from dstress.dialogue import Act, Dialogue, Frame, Intent, Schema, Service, Slot, Span, State, Turn, slot_id
from dstress.resources import Resources
from dstress.stressors.generators.base import Goal, Request
from dstress.stressors.generators.templates.generator import Templates
from dstress.text.utterance import Utterance
from tests.stressors.samples import in_memory

_VALUE = re.compile(r"\[(\w+):([^\]]*)\]")
FLAG = ("True", "False")


def service(name: str, *slots: Slot, intent: str) -> Service:
    return Service(name, slots=slots, intents=(Intent(intent, required=tuple(slot.name for slot in slots)),))


TABLES = service(
    "Tables_1",
    Slot("city"),
    Slot("date"),
    Slot("guests", categorical=True, values=("1", "2", "3", "4")),
    Slot("terrace", categorical=True, values=FLAG),
    intent="BookTable",
)
ROOMS = service("Rooms_1", Slot("city"), Slot("nights"), intent="BookRoom")
HUTS = service("Huts_1", Slot("city"), Slot("peak"), intent="BookHut")
TRAINING, AT_HAND = Schema((TABLES, ROOMS)), Schema((TABLES, HUTS))


def frame(name: str, *acts: str, text: str = "") -> tuple[str, Frame]:
    """The words and the frame of "For [guests:2] people."; an act is written "INFORM_INTENT intent=BookTable"."""
    words, done, made, spans = "", 0, [], []
    for match in _VALUE.finditer(text):
        words += text[done : match.start()]
        made.append(Act("INFORM", match[1], (match[2],)))
        if match[2] not in FLAG:  # a yes or no has no words of its own
            spans.append(Span(match[1], len(words), len(words) + len(match[2])))
            words += match[2]
        done = match.end()
    for act in acts:
        kind, _, given = act.partition(" ")
        slot, _, value = given.partition("=")
        made.append(Act(kind, slot, (value,) if value else ()))
    return words + text[done:], Frame(name, "", (), tuple(spans), tuple(made))


def turn(user: str, *acts: str, system: str = "", wants: Sequence[str] = (), name: str = "Tables_1") -> Turn:
    """A turn; `wants` are the system's acts."""
    words, own = frame(name, *acts, text=user)
    _, asking = frame(name, *wants)
    state: State = {
        slot_id(name, act.slot): act.values for act in own.acts if act.act in ("INFORM", "SELECT") and act.slot
    }
    return Turn(words, system, state, (own,), (asking,) if wants else ())


def dialogues(*turns: Turn, times: int = 6, name: str = "train") -> list[Dialogue]:
    """Each turn in so many dialogues of its own."""
    return [Dialogue(f"{name}-{at}-{time}", (one,)) for time in range(times) for at, one in enumerate(turns)]


ASKED = {"system": "In which city?", "wants": ("REQUEST city",)}
OFFERED = {"system": "Shall I book a table?", "wants": ("OFFER_INTENT intent=BookTable",)}
USUAL = (
    turn("I need a table for [guests:2] people on [date:March 3rd].", "INFORM_INTENT intent=BookTable"),
    turn("I need a table for [guests:1] person.", "INFORM_INTENT intent=BookTable"),
    turn("I want it in [city:Leeds].", **ASKED),
    turn("[city:Leeds], please.", **ASKED),
    turn("I want it for [date:March 5th].", system="When?", wants=("REQUEST date",)),
    turn("Yes, for [guests:2] people.", "AFFIRM_INTENT", **OFFERED),
    turn("I want a table on the terrace.[terrace:True]", **ASKED),
    turn("That sounds good.", "SELECT", system="How about Olive Press?", wants=("OFFER name=Olive Press",)),
    turn("I want it in [city:Leeds].", system="In which city?", wants=("REQUEST city",), name="Rooms_1"),
)


def generator(train: Sequence[Dialogue], corpus: Sequence[Dialogue] = ()) -> Templates:
    """Templates that are learned from these dialogues, for the other ones."""
    made = Templates()
    resources = Resources(AT_HAND, in_memory(corpus, AT_HAND), load, Path())
    made.prepare(resources, in_memory(train, TRAINING))
    return made


def said(
    made: Templates, spoken: dict[str, str], at: Turn, unspoken: dict[str, str] | None = None, dialogue: str = "d"
) -> list[str]:
    """The candidates for a goal in the place of a turn."""
    utterance = Utterance(Dialogue(dialogue, (at,)), 0, AT_HAND, (1,))
    [candidates] = made.generate_all([Request(at.system, Goal(spoken, unspoken or {}), utterance)], 10)
    return [candidate.text for candidate in candidates]
