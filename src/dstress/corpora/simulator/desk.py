"""The desk: a small rule-based system policy. It sees only the dialogue state, never the user's goal."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from dstress.corpora.simulator.database import Entity, find_entities, is_full, look_up, make_reference
from dstress.corpora.simulator.specs import ServiceSpec, SlotSpec
from dstress.corpora.simulator.values import add_minutes, draw_value, next_weekday
from dstress.dialogue import DONTCARE, State, slot_id

MISHEARD = 0.1
ALTERNATIVE_GAPS = (30, 60, 90, -30)


@dataclass(frozen=True)
class Move:
    """What the desk does next: an act, the slots it is about, and the values it names."""

    kind: str
    slots: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)
    wrong: str = ""


@dataclass
class Desk:
    """The desk's memory of one errand."""

    service: ServiceSpec
    split: str
    rng: Random
    offered: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    confirmed: bool = False
    checked: bool = False

    def known(self, state: State) -> dict[str, str]:
        """The canonical values of this service's slots, in schema order."""
        ids = {slot.name: slot_id(self.service.name, slot.name) for slot in self.service.slots}
        return {name: state[key][0] for name, key in ids.items() if key in state}

    def next_move(self, state: State) -> Move:
        """Ask, offer, confirm, and book, in this order."""
        known = self.known(state)
        if self.service.entities and "name" not in known:
            return self._search(known)
        # Whoever says when to arrive need not say when to leave.
        settled = {*known, "leave_at"} if "arrive_by" in known else set(known)
        missing = [slot for slot in self.service.having("book") if slot.name not in settled]
        if missing:
            count = 2 if len(missing) > 1 and self.rng.random() < 0.45 else 1
            return Move("request", tuple(slot.name for slot in missing[:count]))
        extra = self._extra_to_ask(known)
        if extra:
            return Move("request", (extra,))
        if not self.confirmed and self.rng.random() < 0.65:
            return self._confirm(known)
        return self._book(known)

    def _search(self, known: dict[str, str]) -> Move:
        search = self.service.having("search")
        missing = [slot.name for slot in search if slot.name not in known and slot.name not in self.requested]
        if missing and len(self.requested) < 2 and (len(known) < 2 or self.rng.random() < 0.6):
            self.requested.append(missing[0])
            return Move("request", (missing[0],))
        wanted = {slot.name: known[slot.name] for slot in search if slot.name in known}
        matching = self._matching(wanted)
        if not matching:
            return self._relax(wanted)
        fresh = [entity for entity in matching if entity.name not in self.offered]
        entity = (fresh or matching)[0]
        self.offered.append(entity.name)
        return Move("offer", () if fresh else ("again",), {"name": entity.name} | entity.attributes)

    def _matching(self, wanted: dict[str, str]) -> list[Entity]:
        everything = find_entities(self.service.name, self.split, wanted)
        return [entity for entity in everything if entity.name not in self.refused]

    def _relax(self, wanted: dict[str, str]) -> Move:
        for name in wanted:
            slot = self.service.slot(name)
            others = {key: value for key, value in wanted.items() if key != name}
            matching = self._matching(others)
            if matching and slot.denied:
                return Move("denied", (name,), {name: matching[0].attributes[name]})
        return Move("nothing")

    def _extra_to_ask(self, known: dict[str, str]) -> str:
        for slot in self.service.having("extra"):
            if slot.name not in known and slot.name not in self.requested:
                self.requested.append(slot.name)
                if self.rng.random() < 0.25:
                    return slot.name
        return ""

    def _confirm(self, known: dict[str, str]) -> Move:
        self.confirmed = True
        roles = ("name", "book", "alternative", "extra")
        values = {slot.name: known[slot.name] for slot in self.service.having(*roles) if slot.name in known}
        values = {name: value for name, value in values.items() if value != DONTCARE}
        kinds = ("weekday", "time", "count", "date")
        risky = [name for name in values if self.service.slot(name).kind in kinds]
        if risky and self.rng.random() < MISHEARD:
            wrong = self.rng.choice(risky)
            values[wrong] = draw_value(self.service.slot(wrong), self.split, self.rng, (values[wrong],))
            return Move("confirm", tuple(values), values, wrong)
        return Move("confirm", tuple(values), values)

    def _book(self, known: dict[str, str]) -> Move:
        limited = self.service.limited
        if limited in known and not self.checked and is_full(*known.values()):
            self.checked = True
            slot = self.service.slot(limited)
            return Move("full", (limited,), known | {"alternative": self._alternative(slot, known)})
        return Move("booked", (), known | {"reference": make_reference(*known.values())})

    def _alternative(self, slot: SlotSpec, known: dict[str, str]) -> str:
        if slot.kind == "weekday":
            return next_weekday(known[slot.name])
        times = [add_minutes(known[slot.name], gap) for gap in ALTERNATIVE_GAPS]
        free = [time for time in times if not is_full(*(known | {slot.name: time}).values())]
        return (free or times)[0]

    def answer(self, questions: tuple[str, ...], state: State) -> Move:
        """The facts that the user asked for."""
        known = self.known(state)
        about = known.get("name") or (self.offered[-1] if self.offered else "|".join(known.values()))
        return Move("answer", questions, {name: look_up(self.service.slot(name), about) for name in questions})
