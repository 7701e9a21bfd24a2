"""The desk: a small rule-based system policy. It sees only the dialogue state, never the user's goal."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from benchmarks.reminder.database import Entity, find_entities, is_full, look_up, make_reference
from benchmarks.reminder.specs import ServiceSpec
from benchmarks.reminder.values import add_minutes, draw_value, next_weekday
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

    def values_of(self, state: State) -> dict[str, str]:
        """The canonical values of this service's slots, in schema order."""
        ids = {slot.name: slot_id(self.service.name, slot.name) for slot in self.service.slots}
        return {name: state[key][0] for name, key in ids.items() if key in state}

    def next_move(self, state: State) -> Move:
        """Ask, offer, confirm, and book, in this order."""
        values = self.values_of(state)
        if self.service.entities and "name" not in values:
            return self._search(values)
        # Whoever says when to arrive need not say when to leave.
        settled = {*values, "leave_at"} if "arrive_by" in values else set(values)
        missing = [slot for slot in self.service.having("book") if slot.name not in settled]
        if missing:
            count = 2 if len(missing) > 1 and self.rng.random() < 0.45 else 1
            return Move("request", tuple(slot.name for slot in missing[:count]))
        for slot in self.service.having("extra"):
            if slot.name not in values and slot.name not in self.requested:
                self.requested.append(slot.name)
                if self.rng.random() < 0.25:
                    return Move("request", (slot.name,))
        if not self.confirmed and self.rng.random() < 0.65:
            return self._confirm(values)
        limited = self.service.limited
        if limited in values and not self.checked and is_full(*values.values()):
            self.checked = True
            return Move("full", (limited,), values | {"alternative": self._alternative(limited, values)})
        return Move("booked", (), values | {"reference": make_reference(*values.values())})

    def _search(self, values: dict[str, str]) -> Move:
        search = self.service.having("search")
        missing = [slot.name for slot in search if slot.name not in values and slot.name not in self.requested]
        if missing and len(self.requested) < 2 and (len(values) < 2 or self.rng.random() < 0.6):
            self.requested.append(missing[0])
            return Move("request", (missing[0],))
        constraints = {slot.name: values[slot.name] for slot in search if slot.name in values}
        matching = self._matching(constraints)
        if matching:
            fresh = [entity for entity in matching if entity.name not in self.offered]
            entity = (fresh or matching)[0]
            self.offered.append(entity.name)
            return Move("offer", () if fresh else ("again",), {"name": entity.name} | entity.attributes)
        for name in constraints:
            others = {key: value for key, value in constraints.items() if key != name}
            matching = self._matching(others)
            if matching and self.service.slot(name).denied:
                return Move("denied", (name,), {name: matching[0].attributes[name]})
        return Move("nothing")

    def _matching(self, constraints: dict[str, str]) -> list[Entity]:
        entities = find_entities(self.service.name, self.split, constraints)
        return [entity for entity in entities if entity.name not in self.refused]

    def _confirm(self, settled: dict[str, str]) -> Move:
        self.confirmed = True
        slots = self.service.having("name", "book", "alternative", "extra")
        values = {slot.name: settled[slot.name] for slot in slots if settled.get(slot.name, DONTCARE) != DONTCARE}
        kinds = ("weekday", "time", "count", "date")
        risky = [name for name in values if self.service.slot(name).kind in kinds]
        wrong = ""
        if risky and self.rng.random() < MISHEARD:
            wrong = self.rng.choice(risky)
            values[wrong] = draw_value(self.service.slot(wrong), self.split, self.rng, (values[wrong],))
        return Move("confirm", tuple(values), values, wrong)

    def _alternative(self, name: str, values: dict[str, str]) -> str:
        if self.service.slot(name).kind == "weekday":
            return next_weekday(values[name])
        times = [add_minutes(values[name], gap) for gap in ALTERNATIVE_GAPS]
        free = [time for time in times if not is_full(*(values | {name: time}).values())]
        return (free or times)[0]

    def answer(self, questions: tuple[str, ...], state: State) -> Move:
        """The facts that the user asked for."""
        values = self.values_of(state)
        about = values.get("name") or (self.offered[-1] if self.offered else "|".join(values.values()))
        return Move("answer", questions, {name: look_up(self.service.slot(name), about) for name in questions})
