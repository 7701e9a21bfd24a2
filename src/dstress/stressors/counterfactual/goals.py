"""Counterfactual goals: what else could the user have wanted here? (CoCo, section 4.2)

The turn-level goal of a user turn is changed by three operations, in this order: *drop* a slot, *change* the values of
those that are left, *add* slots that go with them. Only what the user alone brought up is dropped or changed. A value
that the system named and the user repeats stays, and is to be said again: it is a choice among offers. So does, unsaid,
what the system offers and the user takes up: then only what belongs to a booking is added. What else no words of the
user's say goes: a value that the user only refers to ("on the same day") and one that no words express. Turns that take
a value back have no other goal, nor have those that would leave the system's question unanswered.

Every choice has random numbers of its own, by operation and slot: goals that are drawn with other limits or other
dictionaries differ only where those decide.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from dstress.dialogue import DONTCARE, State, service_of, slot_id
from dstress.errors import SpecError
from dstress.stressors.base import Unchanged
from dstress.stressors.counterfactual.combinations import Combinations
from dstress.stressors.generators.base import Goal
from dstress.stressors.generators.goals import additions, as_yes_or_no, is_flag, own_goal, state_with
from dstress.stressors.generators.matching import takes_up
from dstress.stressors.generators.templates.acts.turns import acts_of, named_by_system, requested_in, takes_offer
from dstress.stressors.generators.templates.library import points_back
from dstress.stressors.generators.templates.system_acts import asked_in, is_offer, wants_value
from dstress.stressors.generators.templates.tokens import has_bookings, has_word, is_booking, sentences_of, tokens_of
from dstress.stressors.values.dictionary import Dictionary
from dstress.stressors.values.substitution import are_plausible, meaning_of
from dstress.text.letters import words_of
from dstress.text.mentions import find_value
from dstress.text.slot_names import is_named_entity_slot, kind_of
from dstress.text.times import date_of
from dstress.text.utterance import Utterance
from dstress.trackers.rules.slot_profiles import concepts
from dstress.trackers.rules.words import keys_of

_TURNING_AWAY = frozenset({"NEGATE_INTENT", "REQUEST_ALTS"})
"""Who only says no to a confirmation stays with what is chosen."""
_TRIES = 4  # draws of one value, before all that fit are listed


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a goal may go from the user's own; the defaults are those that the paper's code works with.

    At most `drop` slots are dropped, at most `add` are added, none to a goal that has `slots` slots already. A limit of
    0 turns its operation off, `change=False` leaves the values of the other slots (the ablations of table 4).
    """

    drop: int = 1
    add: int = 2
    slots: int = 3
    change: bool = True

    def __post_init__(self) -> None:
        for name, limit, least in (("drop", self.drop, 0), ("add", self.add, 0), ("slots", self.slots, 1)):
            if limit < least:
                raise SpecError(f"{name}={limit} is too small", fix=f"{name} is {least} or more")
        if not (self.drop or self.add or self.change):
            problem = "without drop, change and add every goal stays as it is"
            raise SpecError(problem, fix="leave one of the three switched on")


class CounterfactualGoal(NamedTuple):
    """Another goal for a turn, the dialogue's state after it, and the slots that each operation touched.

    `tag` is `seen` if the training data have every new value, `unseen` if not all, empty if no value is new.
    """

    goal: Goal
    state: State
    dropped: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    tag: str = ""


PAPER = Limits()


def draw_goal(
    utterance: Utterance, dictionary: Dictionary, combinations: Combinations, limits: Limits = PAPER
) -> CounterfactualGoal | Unchanged | None:
    """Another goal for a user turn, or why there is none; None where the turn adds nothing to the state."""
    added = additions(utterance)
    if not added:
        return None
    retracted = utterance.before.keys() - utterance.turn.state.keys()
    if not set(map(service_of, retracted)).isdisjoint(map(service_of, added)):
        return Unchanged("the user takes a value back")
    turn = utterance.turn
    own = _with_answers(own_goal(utterance), turn.system)
    # What the system names is an offer. Its question whether wifi is needed, or which area, offers no value.
    offered = {
        slot
        for slot, forms in added.items()
        if DONTCARE not in forms and not any(map(is_flag, forms)) and find_value(turn.system, slot, forms)
    }
    if not own.spoken:
        return Unchanged("the user says no value of the turn")
    free = frozenset(own.spoken.keys() - offered)
    taken = _taken_up(utterance, own, free)
    services = set(map(service_of, own.spoken))
    open_offers = [slot for slot in own.unspoken if _is_name_slot(slot) and slot in offered and slot not in taken]
    if not _offers_choice(turn.system) and not services.isdisjoint(map(service_of, open_offers)):
        return Unchanged("it is open whether the user takes the offer")
    draft = _Draft(utterance, Goal(own.spoken, taken), dictionary, limits, free)
    draft.drop()
    if limits.change:
        draft.change()
    if limits.add:
        draft.add(combinations)
    operations = (tuple(draft.dropped), tuple(draft.changed), tuple(draft.added))
    if not any(operations):
        return Unchanged("no other value or slot fits")
    goal = Goal(draft.spoken, taken, may_decline=True)
    requested = _asked_slots(utterance, set(map(service_of, goal.spoken)))
    if requested and requested.isdisjoint(goal.slots):
        return Unchanged("the system's question would go unanswered")
    seen = {dictionary.is_seen(slot, draft.spoken[slot]) for slot in (*draft.changed, *draft.added)}
    tag = "unseen" if False in seen else "seen" if seen else ""
    return CounterfactualGoal(goal, state_with(utterance, goal), *operations, tag)


def _with_answers(own: Goal, system: str) -> Goal:
    """A goal in which a slot that the system asks for and that is left open is said: some words leave it open
    ("wherever you like") that nobody lists."""
    answers = {slot: value for slot, value in own.unspoken.items() if value == DONTCARE and _is_asked_for(system, slot)}
    return Goal({**own.spoken, **answers}, {slot: value for slot, value in own.unspoken.items() if slot not in answers})


def _asked_slots(utterance: Utterance, services: Collection[str]) -> frozenset[str]:
    """What answers the system's question: slots that it names and the label tells, or that are of these services.

    Who is asked for one time may give another.
    """
    system, added = utterance.turn.system, additions(utterance)
    spoken_of = [slot for slot in utterance.schema.slots if service_of(slot) in services]
    requested = requested_in(utterance.turn).intersection((*added, *spoken_of))
    if not requested:
        slots = {*added, *(spoken_of if wants_value(system) else ())}
        requested = frozenset(slot for slot in slots if _is_asked_for(system, slot))
    if any(kind_of(slot) == "time" for slot in requested):
        requested = requested.union(slot for slot in spoken_of if kind_of(slot) == "time")
    return requested


def _takes_offer(utterance: Utterance, own: Goal) -> bool:
    """Whether the user says yes to what the system offers, or only books."""
    return is_offer(utterance.turn.system) and (takes_up(utterance.text) or all(map(is_booking, own.spoken)))


def _offers_choice(system: str) -> bool:
    """Whether the system asks which of several it is to be."""
    return has_word(asked_in(system).split(), "system.choice")


def _taken_up(utterance: Utterance, own: Goal, free: frozenset[str]) -> dict[str, str]:
    """What the user takes up without saying it: a name that the system gives, or else what it asks to be said yes to.

    One who describes something else takes up nothing, unless the words go on from it ("yes , and does it have
    parking ?"), nor does one who has a choice of several names.
    """
    turn = utterance.turn
    services = set(map(service_of, own.spoken))
    goes_on = takes_up(utterance.text) or any(map(points_back, sentences_of(tuple(tokens_of(utterance.text)))))
    if has_bookings(utterance.schema.slots) and not goes_on:
        services -= {service_of(slot) for slot in free if not is_booking(slot)}
    by_acts = {slot: value for slot, value in own.unspoken.items() if takes_offer(turn, service_of(slot))}
    if by_acts or _offers_choice(turn.system):
        return by_acts
    # A yes to "would that work ?" is one to the train that the sentences before it tell of.
    offer = turn.system if _takes_offer(utterance, own) else asked_in(turn.system, polar=True)
    heard: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for slot, value in own.unspoken.items():
        is_name = is_named_entity_slot(slot, utterance.schema)
        if service_of(slot) in services and find_value(turn.system if is_name else offer, slot, turn.state[slot]):
            heard[is_name][slot] = value
    return heard[True] or heard[False]


class _Draft:
    """A goal in the making. Each operation leaves it consistent."""

    def __init__(
        self, utterance: Utterance, own: Goal, dictionary: Dictionary, limits: Limits, free: frozenset[str]
    ) -> None:
        self.utterance, self.own, self.dictionary, self.limits = utterance, own, dictionary, limits
        self.free = [slot for slot in own.spoken if slot in free]
        self.spoken, self.state = dict(own.spoken), state_with(utterance, own)
        self.dropped, self.changed, self.added = list[str](), list[str](), list[str]()

    def drop(self) -> None:
        """Drop as many slots as allowed, if more are said: something must be left to say, and who is asked answers."""
        if len(self.spoken) <= self.limits.drop:
            return
        turn, requested = self.utterance.turn, requested_in(self.utterance.turn)
        droppable = [slot for slot in self.free if slot not in requested and not _is_asked_for(turn.system, slot)]
        self.dropped = self._shuffled("drop", droppable)[: self.limits.drop]
        for slot in self.dropped:
            del self.spoken[slot], self.state[slot]
            if slot in self.utterance.before:
                self.state[slot] = self.utterance.before[slot]

    def change(self) -> None:
        """Another value for every slot that is left and has one.

        First for all at once. If the first draws leave a later slot nothing (no arrival after such a late departure),
        one by one: then each new value goes with the old ones, and what finds none stays.
        """
        before = dict(self.spoken), dict(self.state)
        slots = [slot for slot in self.free if slot in self.spoken and self._new_values(slot)]
        for slot in slots:
            del self.spoken[slot], self.state[slot]
        if not all(self._draw(slot) for slot in slots):
            self.spoken, self.state = before
            slots = [slot for slot in slots if self._draw(slot)]
        self.spoken = {slot: self.spoken[slot] for slot in before[0]}
        self.changed = slots

    def add(self, combinations: Combinations) -> None:
        """Add slots of the services that the user speaks of. If none fits, what was dropped returns (paper's code)."""
        for slot in self._addable(combinations):
            if len(self.added) == self.limits.add or len(self.spoken) + len(self.own.unspoken) >= self.limits.slots:
                break
            if self._draw(slot):
                self.added.append(slot)
        for slot in () if self.added else self.dropped:
            if self.limits.change and self._draw(slot):
                self.changed.append(slot)
            elif not self.limits.change:
                self.spoken[slot], self.state[slot] = self.own.spoken[slot], (self.own.spoken[slot],)
        self.dropped = [slot for slot in self.dropped if slot not in self.spoken]

    def _addable(self, combinations: Combinations) -> list[str]:
        """What may be added, in random order: by service, the slots that go with all its active ones; and first what
        the system asks for, if nothing of it is said yet."""
        utterance, turn, active = self.utterance, self.utterance.turn, [*self.spoken, *self.own.unspoken]
        services = dict.fromkeys(map(service_of, self.spoken))
        requested = _asked_slots(utterance, services)
        listed = [
            slot
            for service in services
            for slot in combinations.addable(other for other in active if service_of(other) == service)
        ]
        if requested.isdisjoint(active):
            listed += [slot for slot in utterance.schema.slots if slot in requested and slot not in listed]
        # Where slots tell what belongs to a booking, and it is settled what is to be booked (the place has its name, or
        # the user says yes to an offer), who then describes something would turn away from it.
        chosen: Collection[str] = ()
        if has_bookings(utterance.schema.slots):
            is_taken = self.own.unspoken or _takes_offer(utterance, self.own)
            settled = utterance.schema.slots if is_taken else [slot for slot in utterance.before if _is_name_slot(slot)]
            chosen = set(map(service_of, settled))
        has_choice = _offers_choice(turn.system)
        # What the system's acts have told of its offer is no wish: the song that is chosen has its singer.
        acts_of_system = () if _TURNING_AWAY & acts_of(turn.frames) else (*utterance.history, turn)
        addable = [
            slot
            for slot in listed
            if slot not in utterance.before
            and slot not in turn.state
            and service_of(slot) in services
            and (is_booking(slot) or service_of(slot) not in chosen)
            and not (has_choice and _is_name_slot(slot))
            and self._is_of_intent(slot)
            and not any(named_by_system(each, slot) for each in acts_of_system)
        ]
        return sorted(self._shuffled("add", addable), key=lambda slot: slot not in requested)

    def _shuffled(self, operation: str, slots: Iterable[str]) -> list[str]:
        """Slots in an order that is random; of any two always the same, whatever the others are."""
        return sorted(slots, key=lambda slot: self.utterance.random_of(operation, slot).random())

    def _is_of_intent(self, slot: str) -> bool:
        """Whether the intent that the user pursues has a slot, where the schema tells: who looks for a salon does not
        name the hour of the appointment."""
        service = service_of(slot)
        names = {frame.intent for frame in self.utterance.turn.frames if frame.service == service}
        entry = self.utterance.schema.by_name.get(service)
        intents = [intent for intent in (entry.intents if entry else ()) if intent.name in names]
        return not intents or any(
            slot == slot_id(service, own) for intent in intents for own in (*intent.required, *intent.optional)
        )

    def _draw(self, slot: str) -> bool:
        """Give a slot a new value that goes with the others; False if there is none."""
        new_values = self._new_values(slot)
        if not new_values:
            return False
        # "fish" is not heard beside "lure fish house", nor 30 people beside 30 nights, if there is a choice.
        others = [words for other, value in self.spoken.items() if other != slot and (words := _words(value))]

        def is_distinct(value: str) -> bool:
            words = _words(value)
            return not words or not any(words in other or other in words for other in others)

        def is_plausible(value: str) -> bool:
            """Whether the state makes sense with it: nobody arrives before leaving."""
            return are_plausible(self.utterance.turn.state, self.state | {slot: (value,)}, (slot,))

        random = self.utterance.random_of("value", slot)
        tries = (random.choice(new_values) for _ in range(_TRIES))  # to look at all of a pool takes longer
        new = next((value for value in tries if is_distinct(value) and is_plausible(value)), "")
        if not new:
            fitting = [value for value in new_values if is_plausible(value)]
            fitting = [value for value in fitting if is_distinct(value)] or fitting
            if not fitting:
                return False
            new = random.choice(fitting)
        self.spoken[slot], self.state[slot] = new, (new,)
        return True

    def _new_values(self, slot: str) -> list[str]:
        """The values of the pool, without those that mean what the slot has or had."""
        turn, before = self.utterance.turn, self.utterance.before
        named = named_by_system(turn, slot)  # who says no to a value does not ask for it
        excluded = {DONTCARE, *map(_meaning, (*turn.state.get(slot, ()), *before.get(slot, ()), *named))}
        return [new for new in self.dictionary.pool(slot) if _meaning(new) not in excluded]


def _is_name_slot(slot: str) -> bool:
    return slot.endswith("-name")


def _is_asked_for(system: str, slot: str) -> bool:
    """Whether the system asks for a slot's value."""
    name = slot.partition("-")[2].lower().replace(" ", "").replace("_", "")
    concept = next((concept for concept in concepts() if concept.slots.fullmatch(name)), None)
    question = f" {' '.join(keys_of(asked_in(system)))} "
    return concept is not None and any(f" {' '.join(phrase)} " in question for phrase in concept.asked)


@lru_cache(maxsize=16_384)
def _meaning(value: str) -> str | int | float:
    """What a value means: `yes`, `true` and `free` are one, and so are "March 11th" and "11th of this month"."""
    date = date_of(value)
    return as_yes_or_no(value) or (f"day {date[1]}" if date else meaning_of(value))


@lru_cache(maxsize=16_384)
def _words(value: str) -> str:
    """A value's words, so that one is found in another only as whole words; none of a yes, a no or a dontcare."""
    return "" if is_flag(value) or value == DONTCARE else f" {' '.join(words_of(value))} "
