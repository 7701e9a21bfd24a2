"""Which values of an utterance can be said otherwise, with what, and in which words. `values` stands on this."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from dstress.dialogue import DONTCARE, State
from dstress.text import inflection, mentions
from dstress.text.edits import apply
from dstress.text.letters import fold, words_of
from dstress.text.numbers import number_of, number_words, spell
from dstress.text.slot_kinds import kind_of
from dstress.text.slot_names import is_named_entity_slot
from dstress.text.times import (
    DAY_PART,
    HALF_OF_DAY,
    calendar_words,
    date_of,
    half_day_time,
    time_of,
    time_words,
)
from dstress.text.utterance import Utterance
from dstress.text.writing_style import copy_capitals, opens_sentence, write_title

_FLAGS = frozenset({"yes", "no", "true", "false", "free", "none", "", DONTCARE})
_HALF = re.compile(HALF_OF_DAY, re.IGNORECASE)
_LEAD = re.compile(rf"{DAY_PART}\s(?:at\s)?", re.IGNORECASE)
_BEFORE_DATE = re.compile(
    r"(?<!\w)(?:(?:this|the)\s+(?:coming|next|following)|this|next|coming|an?)\s+$", re.IGNORECASE
)
_ONE_OF = re.compile(r"\s+(?:of|other)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"(?<!\w)an?\s+$", re.IGNORECASE)
_NOUN = re.compile(
    r"\s+(?:place|attraction|venue|type|center|centre|spot|site|location|activit|event|facilit)", re.IGNORECASE
)
_OF = re.compile(r"\s+of\b", re.IGNORECASE)
_SAME = re.compile(r"(?<!\w)same(?!\w)", re.IGNORECASE)
_HINT = 4
_MARKS = "!?.,:;)]}*+'\""
_NOON = 12 * 60

Spot = tuple[int, int]


class Place(NamedTuple):
    """Where one value is said, and the slots that have it: those the words speak of first."""

    slots: tuple[str, ...]
    value: str
    spots: tuple[Spot, ...]

    @property
    def slot(self) -> str:
        """The slot that decides what can stand here."""
        return self.slots[0]


def places(utterance: Utterance) -> list[Place]:
    """The values that may be changed: said by the user, not by the system, in words that a new value can replace."""
    by_slot: dict[str, list[mentions.Mention]] = {}
    for mention in utterance.mentions:
        by_slot.setdefault(mention.slot, []).append(mention)
    if not by_slot:
        return []
    free = {slot: found for slot, found in by_slot.items() if _is_free(utterance, slot, found)}
    groups = _joined({slot: {_whole(utterance.text, one) for one in found} for slot, found in free.items()})
    taken = sorted({_whole(utterance.text, one) for one in utterance.mentions})
    found = []
    for slots, spots in groups:
        if any(_crosses(spot, taken) for spot in spots):
            continue
        forms = {fold(form) for slot in slots for form in utterance.turn.state[slot][:1]}
        if len(forms) == 1:
            found.append(Place(_all_slots(utterance, slots), free[slots[0]][0].value, tuple(sorted(spots))))
    return found


def _whole(text: str, mention: mentions.Mention) -> Spot:
    """The characters of a mention, with the marks at the end of a value such as `yes!`."""
    if mention.value[-1:].isalnum():
        return mention.start, mention.end
    tail = mention.value[len(mention.value.rstrip(_MARKS)) :]
    return mention.start, mention.end + (len(tail) if text.startswith(tail, mention.end) else 0)


def _is_free(utterance: Utterance, slot: str, found: Sequence[mentions.Mention]) -> bool:
    forms = utterance.turn.state[slot]
    if any(fold(form) in _FLAGS for form in forms) or any(one.slot == slot for one in utterance.turn.coreferences):
        return False
    is_name = is_named_entity_slot(slot, utterance.schema)
    if not all(_is_replaceable(utterance.text[one.start : one.end], one.value, is_name) for one in found):
        return False
    if _SAME.search(utterance.text) and any(held == forms for other, held in utterance.before.items() if other != slot):
        return False
    return not is_heard(utterance.turn.system, slot, forms)


def is_heard(system: str, slot: str, forms: tuple[str, ...]) -> bool:
    """Whether the system says the value. A look at its first letters or digits tells most away at little cost."""
    if not system:
        return False
    folded = fold(system)
    for form in forms:
        hints = _hints(form)
        if (hints is None and _numeric().search(folded)) or any(hint in folded for hint in hints or ()):
            return bool(mentions.find_value(system, slot, forms))
    return False


@cache
def _numeric() -> re.Pattern[str]:
    """What a text that says a number or a time has."""
    return re.compile(rf"\d|(?<!\w)(?:{'|'.join(time_words())})(?!\w)")


@lru_cache(maxsize=16_384)
def _hints(form: str) -> tuple[str, ...] | None:
    """First letters of which a text that says the form has some; None for a number or a time."""
    if time_of(form) is not None or number_of(form) is not None or date_of(form) is not None:
        return None
    words = [fold(form), *inflection.table()["alike"].get(fold(form), ())]
    return tuple(dict.fromkeys(word[:_HINT] for text in words for word in words_of(text) if len(word) > 2)) or (
        fold(form),
    )


def _is_replaceable(words: str, value: str, is_name: bool) -> bool:
    """Whether the words are of the value's own kind: a number for a number, a noun for a noun."""
    if time_of(value) is not None:
        return (
            any(map(str.isdigit, words))
            or any(word in number_words() for word in words_of(words))
            or time_of(words) is not None
        )
    if number_of(value) is not None:
        return number_of(words) is not None
    return is_name or date_of(value) is not None or fold(words) in _alike(value)


@lru_cache(maxsize=4096)
def _alike(value: str) -> frozenset[str]:
    """Words that stand where the value can stand: itself, its plural, and close synonyms."""
    own = fold(value)
    forms = {own, own.removesuffix("s"), inflection.plural(own), *inflection.table()["alike"].get(own, ())}
    return frozenset(forms | {inflection.plural(form) for form in forms} | {form.replace(" ", "-") for form in forms})


def _joined(by_slot: Mapping[str, set[Spot]]) -> list[tuple[list[str], set[Spot]]]:
    """Slots that are said by the same words go together."""
    groups: list[tuple[list[str], set[Spot]]] = []
    for slot, spots in by_slot.items():
        group = next((group for group in groups if group[1] & spots), None)
        if group is None:
            groups.append(([slot], set(spots)))
        else:
            group[0].append(slot)
            group[1].update(spots)
    return groups


def _crosses(spot: Spot, taken: Iterable[Spot]) -> bool:
    """Whether another value's words overlap these without being the same."""
    start, end = spot
    return any((low, high) != spot and low < end and start < high for low, high in taken)


def _all_slots(utterance: Utterance, slots: Sequence[str]) -> tuple[str, ...]:
    """The slots that these words fill, names first; also those the turn fills with the same name without saying it."""
    told = sorted(slots, key=lambda slot: (not slot.endswith("-name"), slot)) if len(slots) > 1 else slots
    if not any(is_named_entity_slot(slot, utterance.schema) for slot in told):
        return tuple(told)
    state, before = utterance.turn.state, utterance.before
    same = [slot for slot, forms in state.items() if forms == state[told[0]] and before.get(slot) != forms]
    mentioned = {mention.slot for mention in utterance.mentions}
    return (*told, *(slot for slot in same if slot not in mentioned))


def candidates(utterance: Utterance, place: Place, pool: Sequence[str]) -> list[str]:
    """The values of a pool that mean something else here and fit the words around them."""
    state = utterance.turn.state
    known = {meaning(form) for slot in place.slots for form in (*state[slot], *utterance.before.get(slot, ()))}
    start, end = place.spots[0]
    words = utterance.text[start:end]
    found = [new for new in pool if meaning(new) not in known]
    if time_of(place.value) is not None:
        return _times(words, [new for new in found if time_of(new) is not None])
    if number_of(place.value) is not None:
        return _numbers(words, found, bool(_ONE_OF.match(utterance.text, end)))
    text = utterance.text.lower()
    found = [new for new in found if new.lower() not in text]
    if _is_kind(place.slot):
        if _is_mass(place.value) and _OF.match(utterance.text, end):  # the architecture of old buildings
            return []
        many = _is_plural(words, place.value)
        if many or _ARTICLE.search(utterance.text, max(0, start - 8), start):
            found = [new for new in found if not _is_mass(new)]
        # A plural must say the value so that it is found again, which "libraries" does not.
        return [new for new in found if not new.endswith("y")] if many or _is_mass(place.value) else found
    shape = _shape(state[place.slot][0])
    return [new for new in found if _shape(new) == shape] or found


def _numbers(words: str, found: list[str], shared: bool) -> list[str]:
    """Plain numbers for a plain number, amounts with their unit for one with a unit; "1 of us" is never said."""
    plain = words.isdecimal() or all(word in number_words() for word in words_of(words))
    found = [new for new in found if number_of(new) is not None and not (shared and number_of(new) == 1)]
    return [new for new in found if new.isdecimal() == plain]


@lru_cache(maxsize=16_384)
def _shape(value: str) -> str:
    """What stands in the same places of a sentence: a date, a day of the week, a proper name, anything else."""
    if date_of(value) is not None:
        return "date"
    folded = fold(value)
    if folded in calendar_words("weekdays"):
        return "weekday"
    return "plain" if folded == value else "proper"


@lru_cache(maxsize=16_384)
def meaning(value: str) -> str | int | float:
    """What two spellings of one value have in common: the minutes of a time, a number, the letters of a name."""
    minutes = time_of(value)
    if minutes is not None:
        return minutes
    number = number_of(value)
    return number if number is not None else "".join(words_of(value)) or value


def _times(words: str, found: list[str]) -> list[str]:
    """Times in the form that the user speaks in, as far as there are any; none that contradict "morning at"."""
    lead = _LEAD.match(words)
    if lead:
        morning = fold(lead.group()).startswith("morning")
        found = [new for new in found if ((time_of(new) or 0) < _NOON) == morning]
        words = words[lead.end() :]
    halved = bool(_HALF.search(words))
    return [new for new in found if bool(_HALF.search(new)) == halved] or found


def _is_kind(slot: str) -> bool:
    return fold(slot).endswith(("type", "kind", "category"))


def _is_plural(words: str, value: str) -> bool:
    said, own = fold(words), fold(value)
    return said.endswith("s") and not own.endswith("s")


def _is_mass(value: str) -> bool:
    return fold(value).rpartition(" ")[2] in inflection.table()["uncountable"]


def are_plausible(before: State, after: State, slots: Iterable[str]) -> bool:
    """Whether nobody travels from a place to itself or arrives before leaving, unless the original has it so."""
    pairs = [pair for slot in slots for pair in _pairs(slot)]
    for first, second, ordered in pairs:
        if first not in after or second not in after:
            continue
        if not ordered and after[first] == after[second] and before.get(first, ()) != before.get(second):
            return False
        if ordered and _in_order(after, first, second) is False and _in_order(before, first, second) is not False:
            return False
    return True


@lru_cache(maxsize=4096)
def _pairs(slot: str) -> tuple[tuple[str, str, bool], ...]:
    """The pairs of slots that a slot is one of, and whether they are in order."""
    service, _, bare = slot.partition("-")
    table = inflection.table()["pairs"]
    return tuple(
        (f"{service}-{one}", f"{service}-{other}", kind == "order")
        for kind in ("apart", "order")
        for one, other in table[kind]
        if bare in (one, other)
    )


def _in_order(state: State, first: str, second: str) -> bool | None:
    """Whether the first time comes before the second; None where one is not there."""
    times = [time_of(state[slot][0]) if slot in state else None for slot in (first, second)]
    return None if times[0] is None or times[1] is None else times[0] < times[1]


class Wording(NamedTuple):
    """Characters `start` to `end` become `words`, in which `value` is the new value as it is shown."""

    start: int
    end: int
    words: str
    value: str


def reworded(utterance: Utterance, chosen: Mapping[Place, str]) -> str:
    """The utterance with new values in the form that the old ones had."""
    changes = [worded(utterance, place, spot, new)[:3] for place, new in chosen.items() for spot in place.spots]
    return apply(utterance.text, inflection.edits_with_articles(utterance.text, changes))


def accepted(utterance: Utterance, place: Place, new: str) -> tuple[str, ...]:
    """The new gold. Where the corpus accepts a value also as it was said, the new one too."""
    if all(len(utterance.turn.state[slot]) == 1 for slot in place.slots):
        return (new,)
    return tuple(dict.fromkeys((new, worded(utterance, place, place.spots[0], new).value)))


def worded(utterance: Utterance, place: Place, spot: Spot, new: str) -> Wording:
    """A new value for the words at a spot."""
    text, (start, end) = utterance.text, spot
    words = text[start:end]
    minutes = time_of(new)
    if minutes is not None and time_of(place.value) is not None:
        lead = _LEAD.match(words)
        start += lead.end() if lead else 0
        shown = half_day_time(minutes) if _HALF.search(text[start:end]) and not _HALF.search(new) else new
        return Wording(start, end, shown, shown)
    old_number, number = number_of(place.value), number_of(new)
    if old_number is not None and number is not None:
        in_letters = new.isdecimal() and not any(map(str.isdigit, words))
        shown = copy_capitals(words, spell(int(number)), name=False) if in_letters else new
        end, noun = inflection.count_noun(text, end, int(old_number), int(number))
        return Wording(start, end, shown + noun, shown)
    return _named(utterance, place, spot, new)


def _named(utterance: Utterance, place: Place, spot: Spot, new: str) -> Wording:
    """A name, a day or a kind, as the words around it ask for it."""
    text, (start, end) = utterance.text, spot
    words = text[start:end]
    if date_of(new) is not None and (match := _BEFORE_DATE.search(text, max(0, start - 24), start)):
        start = match.start()
    is_name = is_named_entity_slot(place.slot, utterance.schema)
    inflected = _inflected(text, end, words, place, new)
    shown = copy_capitals(words, inflected, opens=opens_sentence(text, start), name=is_name)
    if date_of(new) is not None and text != text.lower() and (words != words.lower() or date_of(words) is not None):
        shown = write_title(shown)  # "the 16th of September" starts with a small letter
    if not is_name:
        return Wording(start, end, shown, shown)
    return Wording(*inflection.place_name(text, start, end, shown, town=kind_of(place.slot) == "town"), shown)


def _inflected(text: str, end: int, words: str, place: Place, new: str) -> str:
    if not _is_kind(place.slot):
        return new
    shown = str(inflection.table()["written"].get(new, new))
    as_many = _is_plural(words, place.value) or (_is_mass(place.value) and not _NOUN.match(text, end))
    return inflection.plural(shown) if as_many and not _is_mass(new) else shown
