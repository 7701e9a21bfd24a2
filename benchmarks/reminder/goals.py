"""What a simulated user sets out to do: one to three errands, each with wishes, changes of mind and questions.

An errand is drawn before the conversation and never looks at it; what the desk never let the user say is left out of
the goal that the dialogue records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from benchmarks.reminder.database import entities, find_entities
from benchmarks.reminder.specs import ServiceSpec, services
from benchmarks.reminder.values import draw_value
from dstress.dialogue import DONTCARE, slot_id

CHANGEABLE = ("weekday", "date", "time", "count", "place", "town", "task", "choice", "flag")


@dataclass
class Errand:
    """One service's part of a goal.

    `wishes` holds what the user will want in the end, in schema order; `first` what the user says at first of some
    of these slots; `references` the slots that the user takes over from an earlier errand.
    """

    service: ServiceSpec
    wishes: dict[str, str]
    first: dict[str, str] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    questions: tuple[str, ...] = ()
    swap: tuple[str, str] | None = None
    amendment: tuple[str, str] | None = None
    impossible: str = ""
    picky: bool = False
    cancelled: bool = False


def draw_errands(split: str, rng: Random) -> list[Errand]:
    """A whole goal."""
    ticket = rng.random()
    count = 1 if ticket < 0.3 else 2 if ticket < 0.78 else 3
    remaining = list(services())
    errands: list[Errand] = []
    for _ in range(count):
        service = services()[remaining.pop(rng.randrange(len(remaining)))]
        errands.append(_draw_errand(service, split, rng, errands))
    for errand in errands[:-1]:
        if rng.random() < 0.25 and not errand.cancelled and errand.service.amend_slot in errand.wishes:
            slot = errand.service.slot(errand.service.amend_slot)
            errand.amendment = (slot.name, draw_value(slot, split, rng, (errand.wishes[slot.name], "1")))
    return errands


def _draw_errand(service: ServiceSpec, split: str, rng: Random, earlier: list[Errand]) -> Errand:
    wishes = _draw_wishes(service, split, rng)
    errand = Errand(service, wishes)
    errand.references = _draw_references(service, wishes, earlier, rng)
    infos = [slot.name for slot in service.having("info")]
    errand.questions = tuple(name for name in infos if rng.random() < 0.2)
    errand.picky = rng.random() < 0.25
    errand.cancelled = len(earlier) > 0 and rng.random() < 0.04
    if "name" not in wishes and service.entities and rng.random() < 0.25:
        _make_impossible(errand, split, rng)
    if "destination" in wishes and "arrive_by" not in errand.references and rng.random() < 0.2:
        other = "arrive_by" if "leave_at" in wishes else "leave_at"
        errand.swap = (other, draw_value(service.slot(other), split, rng))
    elif rng.random() < 0.5:
        _plan_change(errand, split, rng)
    return errand


def _draw_wishes(service: ServiceSpec, split: str, rng: Random) -> dict[str, str]:
    named = bool(service.entities) and rng.random() < 0.35
    target = rng.choice(entities(service.name, split)) if service.entities else None
    by_arrival = rng.random() < 0.4
    wishes: dict[str, str] = {}
    for slot in service.slots:
        if slot.role == "search" and target and not named:
            wishes[slot.name] = DONTCARE if slot.any and rng.random() < 0.2 else target.attributes[slot.name]
        elif slot.role == "name" and target and named:
            wishes[slot.name] = target.name
        elif slot.role == "book" and not (slot.name == "leave_at" and by_arrival):
            taken = tuple(wishes[name] for name in ("origin", "departure") if name in wishes)
            wishes[slot.name] = draw_value(slot, split, rng, taken)
        elif slot.role == "alternative" and by_arrival:
            wishes[slot.name] = draw_value(slot, split, rng)
        elif slot.role == "extra" and rng.random() < 0.55:
            wishes[slot.name] = DONTCARE if slot.any and rng.random() < 0.2 else draw_value(slot, split, rng)
    if "mode" in wishes and rng.random() < 0.2:
        wishes["mode"] = DONTCARE
    return wishes


def _draw_references(
    service: ServiceSpec, wishes: dict[str, str], earlier: list[Errand], rng: Random
) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for name in wishes:
        sources = [
            slot_id(errand.service.name, other.name)
            for errand in earlier
            for other in errand.service.slots
            if not errand.cancelled and slot_id(errand.service.name, other.name) in service.slot(name).refer
        ]
        sources = [source for source in sources if source not in chosen.values()]
        if sources and rng.random() < 0.6:
            chosen[name] = rng.choice(sources)
    if chosen.get("arrive_by") and chosen.get("destination") != "tables-name":
        chosen.pop("arrive_by")
    return chosen


def _make_impossible(errand: Errand, split: str, rng: Random) -> None:
    """Ask at first for a value that nothing in town has, given the other wishes."""
    search = {slot.name: errand.wishes[slot.name] for slot in errand.service.having("search")}
    for slot in errand.service.having("search"):
        if search[slot.name] == DONTCARE:
            continue
        missing = [v for v in slot.values if not find_entities(errand.service.name, split, search | {slot.name: v})]
        if missing:
            errand.impossible = slot.name
            errand.wishes[slot.name] = rng.choice(missing)
            return


def _plan_change(errand: Errand, split: str, rng: Random) -> None:
    settled = (*errand.references, errand.impossible)
    open_slots = [
        name
        for name, wish in errand.wishes.items()
        if errand.service.slot(name).kind in CHANGEABLE and wish != DONTCARE and name not in settled
    ]
    if not open_slots:
        return
    name = rng.choice(open_slots)
    ends = tuple(errand.wishes[end] for end in ("origin", "departure", "destination") if end in errand.wishes)
    errand.first[name] = draw_value(errand.service.slot(name), split, rng, (errand.wishes[name], *ends))
