"""Which values of an utterance can be said otherwise, with what, and in which words. `values` stands on this."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from dstress.dialogue import DONTCARE, State
from dstress.text import inflection
from dstress.text.edits import apply
from dstress.text.letters import Place, fold, words_of
from dstress.text.mentions import Mention, find_value
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
_HINT_LETTERS = 4
_MARKS = "!?.,:;)]}*+'\""
_NOON = 12 * 60


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
    by_slot: dict[str, list[Mention]] = {}
    for mention in utterance.mentions:
        by_slot.setdefault(mention.slot, []).append(mention)
    if not by_slot:
        return []
    free = {slot: mentions for slot, mentions in by_slot.items() if _may_change(utterance, slot, mentions)}
    groups = _group_slots(
        {slot: {_place_with_marks(utterance.text, mention) for mention in mentions} for slot, mentions in free.items()}
    )
    taken = {_place_with_marks(utterance.text, mention) for mention in utterance.mentions}
    values = []
    for slots, places in groups:
        # Another value's words must not overlap these without being the same.
        if any(place != other and other[0] < place[1] and place[0] < other[1] for place in places for other in taken):
            continue
        forms = {fold(form) for slot in slots for form in utterance.turn.state[slot][:1]}
        if len(forms) == 1:
            value = free[slots[0]][0].value
            values.append(ReplaceableValue(_collect_slots(utterance, slots), value, tuple(sorted(places))))
    return values


def _place_with_marks(text: str, mention: Mention) -> Place:
    """The characters of a mention, with the marks at the end of a value such as `yes!`."""
    if mention.value[-1:].isalnum():
        return mention.start, mention.end
    tail = mention.value[len(mention.value.rstrip(_MARKS)) :]
    return mention.start, mention.end + (len(tail) if text.startswith(tail, mention.end) else 0)


def _may_change(utterance: Utterance, slot: str, mentions: Sequence[Mention]) -> bool:
    """Whether a slot's value is the user's own, said in words of its kind, and not by way of another slot."""
    turn, text, forms = utterance.turn, utterance.text, utterance.turn.state[slot]
    if any(fold(form) in _FLAGS for form in forms) or any(link.slot == slot for link in turn.coreferences):
        return False
    is_name = is_named_entity_slot(slot, utterance.schema)
    if not all(_is_replaceable(text[mention.start : mention.end], mention.value, is_name) for mention in mentions):
        return False
    if _SAME.search(text) and any(known == forms for other, known in utterance.before.items() if other != slot):
        return False
    return not is_heard(turn.system, slot, forms)


def is_heard(system: str, slot: str, forms: tuple[str, ...]) -> bool:
    """Whether the system says the value. A look at its first letters or digits tells most away at little cost."""
    if not system:
        return False
    folded = fold(system)
    for form in forms:
        hints = _first_letters(form)
        if (hints is None and _numeric_pattern().search(folded)) or any(hint in folded for hint in hints or ()):
            return bool(find_value(system, slot, forms))
    return False


@cache
def _numeric_pattern() -> re.Pattern[str]:
    """What a text that says a number or a time has."""
    return re.compile(rf"\d|(?<!\w)(?:{'|'.join(time_words())})(?!\w)")


@lru_cache(maxsize=16_384)
def _first_letters(form: str) -> tuple[str, ...] | None:
    """First letters of which a text that says the form has some; None for a number or a time."""
    if time_of(form) is not None or number_of(form) is not None or date_of(form) is not None:
        return None
    folded = fold(form)
    phrases = (folded, *inflection.table()["alike"].get(folded, ()))
    starts = [word[:_HINT_LETTERS] for phrase in phrases for word in words_of(phrase) if len(word) > 2]
    return tuple(dict.fromkeys(starts)) or (folded,)


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
    return is_name or date_of(value) is not None or fold(words) in _interchangeable(value)


@lru_cache(maxsize=4096)
def _interchangeable(value: str) -> frozenset[str]:
    """Words that stand where the value can stand: itself, its plural, and close synonyms."""
    own = fold(value)
    forms = {own, own.removesuffix("s"), inflection.plural(own), *inflection.table()["alike"].get(own, ())}
    return frozenset(forms | {inflection.plural(form) for form in forms} | {form.replace(" ", "-") for form in forms})


def _group_slots(by_slot: Mapping[str, set[Place]]) -> list[tuple[list[str], set[Place]]]:
    """Slots that are said by the same words go together."""
    groups: list[tuple[list[str], set[Place]]] = []
    for slot, places in by_slot.items():
        group = next((group for group in groups if group[1] & places), None)
        if group is None:
            groups.append(([slot], set(places)))
        else:
            group[0].append(slot)
            group[1].update(places)
    return groups


def _collect_slots(utterance: Utterance, slots: Sequence[str]) -> tuple[str, ...]:
    """The slots that these words fill, names first; also those the turn fills with the same name without saying it."""
    spoken = sorted(slots, key=lambda slot: (not slot.endswith("-name"), slot))
    if not any(is_named_entity_slot(slot, utterance.schema) for slot in spoken):
        return tuple(spoken)
    state, before = utterance.turn.state, utterance.before
    same = [slot for slot, forms in state.items() if forms == state[spoken[0]] and before.get(slot) != forms]
    mentioned = {mention.slot for mention in utterance.mentions}
    return (*spoken, *(slot for slot in same if slot not in mentioned))


def find_candidates(utterance: Utterance, target: ReplaceableValue, pool: Sequence[str]) -> list[str]:
    """The values of a pool that mean something else here and fit the words around them."""
    state = utterance.turn.state
    known = {meaning_of(form) for slot in target.slots for form in (*state[slot], *utterance.before.get(slot, ()))}
    start, end = target.places[0]
    words = utterance.text[start:end]
    others = [new for new in pool if meaning_of(new) not in known]
    if time_of(target.value) is not None:
        return _fit_times(words, [new for new in others if time_of(new) is not None])
    if number_of(target.value) is not None:
        # Plain numbers for a plain number, amounts with their unit for one with a unit; "1 of us" is never said.
        plain = words.isdecimal() or all(word in number_words() for word in words_of(words))
        unfit = {None, 1} if _ONE_OF.match(utterance.text, end) else {None}
        return [new for new in others if number_of(new) not in unfit and new.isdecimal() == plain]
    text = utterance.text.lower()
    others = [new for new in others if new.lower() not in text]
    if _is_kind_slot(target.slot):
        return _fit_kinds(utterance, target, others)
    shape = _shape_of(state[target.slot][0])
    return [new for new in others if _shape_of(new) == shape] or others


def _fit_times(words: str, times: list[str]) -> list[str]:
    """Times in the form that the user speaks in, as far as there are any; none that contradict "morning at"."""
    lead = _LEAD.match(words)
    if lead:
        morning = fold(lead.group()).startswith("morning")
        times = [new for new in times if ((time_of(new) or 0) < _NOON) == morning]
        words = words[lead.end() :]
    halved = bool(_HALF.search(words))
    return [new for new in times if bool(_HALF.search(new)) == halved] or times


def _fit_kinds(utterance: Utterance, target: ReplaceableValue, kinds: list[str]) -> list[str]:
    """Kinds of things that can be counted where the words count them."""
    start, end = target.places[0]
    if _is_mass(target.value) and _OF.match(utterance.text, end):  # the architecture of old buildings
        return []
    many = _is_plural(utterance.text[start:end], target.value)
    if many or _ARTICLE.search(utterance.text, max(0, start - 8), start):
        kinds = [new for new in kinds if not _is_mass(new)]
    # A plural must say the value so that it is found again, which "libraries" does not.
    return [new for new in kinds if not new.endswith("y")] if many or _is_mass(target.value) else kinds


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
    """Whether the first time comes before the second; None where one is not there."""
    earlier, later = (time_of(state[slot][0]) if slot in state else None for slot in (first, second))
    return None if earlier is None or later is None else earlier < later


class Replacement(NamedTuple):
    """Characters `start` to `end` become `words`, in which `value` is the new value as it is shown."""

    start: int
    end: int
    words: str
    value: str


def replace_values(utterance: Utterance, chosen: Mapping[ReplaceableValue, str]) -> str:
    """The utterance with new values in the form that the old ones had."""
    changes = [_replace(utterance, target, place, new)[:3] for target, new in chosen.items() for place in target.places]
    return apply(utterance.text, inflection.edits_with_articles(utterance.text, changes))


def accepted_forms(utterance: Utterance, target: ReplaceableValue, new: str) -> tuple[str, ...]:
    """The new gold. Where the corpus accepts a value also as it was said, the new one too."""
    if all(len(utterance.turn.state[slot]) == 1 for slot in target.slots):
        return (new,)
    return tuple(dict.fromkeys((new, _replace(utterance, target, target.places[0], new).value)))


def _replace(utterance: Utterance, target: ReplaceableValue, place: Place, new: str) -> Replacement:
    """A new value for the words at a place."""
    text, (start, end) = utterance.text, place
    words = text[start:end]
    minutes = time_of(new)
    if minutes is not None and time_of(target.value) is not None:
        lead = _LEAD.match(words)
        start += lead.end() if lead else 0
        shown = half_day_time(minutes) if _HALF.search(text[start:end]) and not _HALF.search(new) else new
        return Replacement(start, end, shown, shown)
    old_number, number = number_of(target.value), number_of(new)
    if old_number is not None and number is not None:
        in_letters = new.isdecimal() and not any(map(str.isdigit, words))
        shown = copy_capitals(words, spell(int(number)), name=False) if in_letters else new
        end, noun = inflection.count_noun(text, end, int(old_number), int(number))
        return Replacement(start, end, shown + noun, shown)
    return _replace_name(utterance, target, place, new)


def _replace_name(utterance: Utterance, target: ReplaceableValue, place: Place, new: str) -> Replacement:
    """A name, a day or a kind, as the words around it ask for it."""
    text, (start, end) = utterance.text, place
    words = text[start:end]
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
