"""Which values of an utterance can be said otherwise, with what, and in which words. `values` stands on this."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from dstress.dialogue import DONTCARE, State
from dstress.text import inflection
from dstress.text.letters import Place, fold, words_of
from dstress.text.manners import dates_like, days_between, times_like, write_time_like
from dstress.text.mentions import Mention, find_value
from dstress.text.numbers import number_of, number_words, spell
from dstress.text.slot_names import is_named_entity_slot, kind_of
from dstress.text.times import DAY_PART, HALF_OF_DAY, calendar_words, date_of, half_day_time, time_of
from dstress.text.utterance import Utterance
from dstress.text.writing_style import copy_capitals, opens_sentence, write_title

_FLAGS = frozenset({"yes", "no", "true", "false", "free", "none", "", DONTCARE})
_HALF = re.compile(rf"{HALF_OF_DAY}|^{DAY_PART}", re.IGNORECASE)
_BEFORE_DATE = re.compile(
    r"(?<!\w)(?:(?:this|the)\s+(?:coming|next|following)|this|next|coming|an?)\s+$", re.IGNORECASE
)
_ONE_OF = re.compile(r"\s+(?:of|other)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"(?<!\w)an?\s+$", re.IGNORECASE)
_NOUN = re.compile(
    r"\s+(?:place|attraction|venue|type|center|centre|spot|site|location|activit|event|facilit)", re.IGNORECASE
)
_PRICED = re.compile(r"[a-z]+(?:\s-)?ly\s-?\s?priced\b", re.IGNORECASE)
_ADVERB = re.compile(r"\s-ly\b", re.IGNORECASE)
_OF = re.compile(r"\s+of\b", re.IGNORECASE)
_SAME = re.compile(r"(?<!\w)same(?!\w)", re.IGNORECASE)
_MARKS = "!?.,:;)]}*+'\""
_LONGEST_STAY = 28
"""Days between two dates of which one is new."""


class ReplaceableValue(NamedTuple):
    """A value that the user says, the slots that have it (those the words speak of first), and where it is said."""

    slots: tuple[str, ...]
    value: str
    places: tuple[Place, ...]

    @property
    def slot(self) -> str:
        """The slot that decides what can stand here."""
        return self.slots[0]


def find_replaceable(utterance: Utterance) -> list[ReplaceableValue]:
    """The values that may be changed: said by the user, not by the system, in words that a new value can replace."""
    text, state = utterance.text, utterance.turn.state
    by_slot: dict[str, list[Mention]] = {}
    for mention in utterance.mentions:
        by_slot.setdefault(mention.slot, []).append(mention)
    # Slots that are said by the same words go together.
    groups: list[tuple[list[str], set[Place]]] = []
    for slot, mentions in by_slot.items():
        if _may_change(utterance, slot, mentions):
            places = {_place_with_marks(text, mention) for mention in mentions}
            group = next((group for group in groups if group[1] & places), None)
            if group is None:
                groups.append(([slot], places))
            else:
                group[0].append(slot)
                group[1].update(places)
    taken = {_place_with_marks(text, mention) for mention in utterance.mentions}
    replaceable = []
    for slots, places in groups:
        # Another value's words must not overlap these without being the same.
        if any(place != other and other[0] < place[1] and place[0] < other[1] for place in places for other in taken):
            continue
        if len({fold(form) for slot in slots for form in state[slot][:1]}) != 1:
            continue
        value = by_slot[slots[0]][0].value
        slots.sort(key=lambda slot: (not slot.endswith("-name"), slot))
        if any(is_named_entity_slot(slot, utterance.schema) for slot in slots):
            # Also the slots that the turn fills with the same name without saying it.
            name, before = state[slots[0]], utterance.before
            same = [slot for slot, forms in state.items() if forms == name and before.get(slot) != forms]
            slots += [slot for slot in same if slot not in by_slot]
        replaceable.append(ReplaceableValue(tuple(slots), value, tuple(sorted(places))))
    return replaceable


def _place_with_marks(text: str, mention: Mention) -> Place:
    """The characters of a mention, with the marks at the end of `yes!`, and with all of "moderately priced"."""
    if mention.value[-1:].isalnum():
        priced = _PRICED.match(text, mention.start)
        return mention.start, priced.end() if priced else mention.end
    tail = mention.value[len(mention.value.rstrip(_MARKS)) :]
    return mention.start, mention.end + (len(tail) if text.startswith(tail, mention.end) else 0)


def _may_change(utterance: Utterance, slot: str, mentions: Sequence[Mention]) -> bool:
    """Whether a slot's value is the user's own, said in words of its kind, and not by way of another slot."""
    turn, text, forms = utterance.turn, utterance.text, utterance.turn.state[slot]
    if any(fold(form) in _FLAGS for form in forms) or any(link.slot == slot for link in turn.coreferences):
        return False
    is_name = is_named_entity_slot(slot, utterance.schema)
    for mention in mentions:
        words, value = text[mention.start : mention.end], mention.value
        if _PRICED.match(text, mention.start):
            words = value  # the whole of it is replaced
        elif _ADVERB.match(text, mention.end):
            return False
        # A number must stand for a number, a noun for a noun.
        if time_of(value) is not None:
            has_number = any(map(str.isdigit, words)) or any(word in number_words() for word in words_of(words))
            if not has_number and time_of(words) is None:
                return False
        elif number_of(value) is not None:
            if number_of(words) is None:
                return False
        elif not is_name and date_of(value) is None and fold(words) not in _interchangeable(value):
            return False
    if _SAME.search(text) and any(before == forms for other, before in utterance.before.items() if other != slot):
        return False
    return not find_value(turn.system, slot, forms)


@lru_cache(maxsize=4096)
def _interchangeable(value: str) -> frozenset[str]:
    """Words that stand where the value can stand: itself, its plural, and close synonyms."""
    own = fold(value)
    forms = {own, own.removesuffix("s"), inflection.plural(own), *inflection.table()["alike"].get(own, ())}
    return frozenset(forms | {inflection.plural(form) for form in forms} | {form.replace(" ", "-") for form in forms})


def find_candidates(
    utterance: Utterance, target: ReplaceableValue, pool: Sequence[str], *, by_kind: bool = False, made: bool = False
) -> Sequence[str]:
    """The values of a pool that mean something else here and fit the words around them.

    Times and dates are made in the manner of the old ones where the pool is only of the slot's kind (`by_kind`); with
    `made` so are times where the pool has none that can be said in the manner of the words.
    """
    state = utterance.turn.state
    own_meanings = {
        meaning_of(form) for slot in target.slots for form in (*state[slot], *utterance.before.get(slot, ()))
    }
    start, end = target.places[0]
    words = utterance.text[start:end]
    if by_kind and kind_of(target.slot) == "date":
        return _fit_dates(utterance, target)
    others = [new for new in pool if meaning_of(new) not in own_meanings]
    own = time_of(target.value)
    if own is not None:
        times = [] if by_kind else [new for new in others if time_of(new) is not None]
        fit = [new for new in times if write_time_like(words, own, time_of(new) or 0)]
        if not fit and (made or by_kind):
            sayable = times_like(words, own)
            made_times = [new for minutes, new in times_like(target.value, own).items() if minutes in sayable]
            fit = [new for new in made_times if meaning_of(new) not in own_meanings]
        fit = fit or times
        halved = bool(_HALF.search(words))
        return [new for new in fit if bool(_HALF.search(new)) == halved] or fit
    if number_of(target.value) is not None:
        # Plain numbers for a plain number, amounts with their unit for one with a unit; "1 of us" is never said.
        plain = words.isdecimal() or all(word in number_words() for word in words_of(words))
        unfit = {None, 1} if _ONE_OF.match(utterance.text, end) else {None}
        return [new for new in others if number_of(new) not in unfit and new.isdecimal() == plain]
    text = utterance.text.lower()
    others = [new for new in others if new.lower() not in text]
    if not _is_kind_slot(target.slot):
        shape = _shape_of(state[target.slot][0])
        return [new for new in others if _shape_of(new) == shape] or others
    # Only kinds of things that can be counted, where the words count them.
    is_mass = _is_mass(target.value)
    if is_mass and _OF.match(utterance.text, end):  # the architecture of old buildings
        return []
    many = _is_plural(words, target.value)
    if many or _ARTICLE.search(utterance.text, max(0, start - 8), start):
        others = [new for new in others if not _is_mass(new)]
    # A plural must say the value so that it is found again, which "libraries" does not.
    return [new for new in others if not new.endswith("y")] if many or is_mass else others


def _fit_dates(utterance: Utterance, target: ReplaceableValue) -> Sequence[str]:
    """Dates in the manner of the value, which come before or after a date of the other end that stays as it is."""
    dates = dates_like(target.value)
    words = {utterance.text[start:end] for start, end in target.places}
    if not dates or not all(len(dates_like(shown)) == len(dates) for shown in words):
        return ()
    state, mentioned = utterance.turn.state, {mention.slot for mention in utterance.mentions}
    for first, second, ordered in _slot_pairs(target.slot):
        other = second if first == target.slot else first
        if not ordered or other not in state:
            continue
        end = state[other][0]
        if days_between(target.value, end) is None:
            return ()  # nobody can tell which of "next Monday" and "the 8th" comes first
        if any(read and not read[0] for read in map(date_of, (target.value, end))):  # "from March 8th till the 12th"
            dates = tuple(new for new in dates if abs(days_between(target.value, new) or 0) < _LONGEST_STAY // 2)
        if other not in mentioned:
            sign = 1 if first == other else -1
            dates = tuple(new for new in dates if 0 < sign * (days_between(end, new) or 0) < _LONGEST_STAY)
    return dates


@lru_cache(maxsize=16_384)
def _shape_of(value: str) -> str:
    """What stands in the same places of a sentence: a date, a day of the week, a proper name, anything else."""
    if date_of(value) is not None:
        return "date"
    folded = fold(value)
    if folded in calendar_words("weekdays"):
        return "weekday"
    return "plain" if folded == value else "proper"


@lru_cache(maxsize=16_384)
def meaning_of(value: str) -> str | int | float:
    """What two spellings of one value have in common: the minutes of a time, a number, the letters of a name."""
    minutes = time_of(value)
    if minutes is not None:
        return minutes
    number = number_of(value)
    return number if number is not None else "".join(words_of(value)) or value


def _is_kind_slot(slot: str) -> bool:
    return fold(slot).endswith(("type", "kind", "category"))


def _is_plural(words: str, value: str) -> bool:
    return fold(words).endswith("s") and not fold(value).endswith("s")


def _is_mass(value: str) -> bool:
    return fold(value).rpartition(" ")[2] in inflection.table()["uncountable"]


def are_plausible(before: State, after: State, slots: Iterable[str]) -> bool:
    """Whether nobody travels from a place to itself or arrives before leaving, unless the original has it so."""
    for first, second, ordered in (pair for slot in slots for pair in _slot_pairs(slot)):
        if first not in after or second not in after:
            continue
        if not ordered and after[first] == after[second] and before.get(first, ()) != before.get(second):
            return False
        if ordered and _is_ordered(after, first, second) is False and _is_ordered(before, first, second) is not False:
            return False
    return True


@lru_cache(maxsize=4096)
def _slot_pairs(slot: str) -> tuple[tuple[str, str, bool], ...]:
    """The pairs of slots that a slot is one of, and whether they are in order."""
    service, _, name = slot.partition("-")
    table = inflection.table()["pairs"]
    return tuple(
        (f"{service}-{first}", f"{service}-{second}", kind == "order")
        for kind in ("apart", "order")
        for first, second in table[kind]
        if name in (first, second)
    )


def _is_ordered(state: State, first: str, second: str) -> bool | None:
    """Whether the first time or date comes before the second; None where one is not there or they do not compare."""
    values = [state[slot][0] for slot in (first, second) if state.get(slot)]
    if len(values) < 2:
        return None
    earlier, later = map(time_of, values)
    if earlier is not None and later is not None:
        return earlier < later
    days = days_between(*values)
    return None if days is None else days > 0


class Replacement(NamedTuple):
    """Characters `start` to `end` become `words`, in which `value` is the new value as it is shown."""

    start: int
    end: int
    words: str
    value: str


def replace_values(utterance: Utterance, chosen: Mapping[ReplaceableValue, str]) -> str:
    """The utterance with new values in the form that the old ones had."""
    changes = [_replace(utterance, target, place, new)[:3] for target, new in chosen.items() for place in target.places]
    return inflection.replace_with_articles(utterance.text, changes)


def accepted_forms(utterance: Utterance, target: ReplaceableValue, new: str) -> tuple[str, ...]:
    """The new gold in the capitals of the old. Where the corpus accepts a value as it was said, the new one too."""
    forms = [utterance.turn.state[slot] for slot in target.slots]
    value = new
    if is_named_entity_slot(target.slot, utterance.schema):
        value = copy_capitals(forms[0][0], new)
    if all(len(accepted) == 1 for accepted in forms):
        return (value,)
    return tuple(dict.fromkeys((value, _replace(utterance, target, target.places[0], new).value)))


def _replace(utterance: Utterance, target: ReplaceableValue, place: Place, new: str) -> Replacement:
    """A new value for the words at a place, as the words around it ask for it."""
    text, (start, end) = utterance.text, place
    words = text[start:end]
    minutes, own = time_of(new, hours=True), time_of(target.value)
    if minutes is not None and own is not None:
        halved = _HALF.search(words) and not _HALF.search(new)
        shown = write_time_like(words, own, minutes) or (half_day_time(minutes) if halved else new)
        return Replacement(start, end, shown, shown)
    if new in (dates := dates_like(target.value)) and len(dates) == len(dates_like(words)):
        shown = dates_like(words)[dates.index(new)]
        return Replacement(start, end, shown, shown)
    old_number, number = number_of(target.value), number_of(new)
    if old_number is not None and number is not None:
        in_letters = new.isdecimal() and not any(map(str.isdigit, words))
        shown = copy_capitals(words, spell(int(number)), name=False) if in_letters else new
        end, noun = inflection.count_noun(text, end, int(old_number), int(number))
        return Replacement(start, end, shown + noun, shown)
    is_date, is_name = date_of(new) is not None, is_named_entity_slot(target.slot, utterance.schema)
    if is_date and (match := _BEFORE_DATE.search(text, max(0, start - 24), start)):
        start = match.start()
    shown = new
    if _is_kind_slot(target.slot):
        shown = str(inflection.table()["written"].get(new, new))
        as_many = _is_plural(words, target.value) or (_is_mass(target.value) and not _NOUN.match(text, end))
        shown = inflection.plural(shown) if as_many and not _is_mass(new) else shown
    shown = copy_capitals(words, shown, opens=opens_sentence(text, start), name=is_name)
    if is_date and text != text.lower() and (words != words.lower() or date_of(words) is not None):
        shown = write_title(shown)  # "the 16th of September" starts with a small letter
    if not is_name:
        return Replacement(start, end, shown, shown)
    return Replacement(*inflection.place_name(text, start, end, shown, town=kind_of(target.slot) == "town"), shown)
