"""Whether the values that a label takes from an utterance can still be told from what was heard of it.

A misheard turn is *recoverable* if somebody who reads carefully, and knows which values each slot can have, would still
get every one of them; else it is *lost*, and no tracker is to blame. A value can be told if the words still say it. If
not, what counts is the stretch of what was heard in its place that sounds most like it: of all values that the corpus
and the schema have for the slot, none may sound as much like that stretch as the right one, which must be at least
`NEAR` alike. A name must be the nearest also where the words seem to say it. What the words only refer to ("yes, that
one") can be told while the whole utterance sounds at least `NEAR` like what was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from dstress.dialogue import LOST, RECOVERABLE, Dialogue, Schema
from dstress.stressors.base import Rewrite
from dstress.stressors.entities.names import telling, words_of_name
from dstress.stressors.speech.sounds import sound_of
from dstress.stressors.speech.spoken import words
from dstress.stressors.values.dictionary import values_of
from dstress.text.mentions import Mention, find_value
from dstress.text.slot_names import is_named_entity_slot
from dstress.text.utterance import Utterance

NEAR, NEAR_NAME = 0.65, 0.7
"""So much must sounds be alike, of 1: two of three, as in `for` and `four`; names, which are many, a little more."""

_TELLING = 6
"""So many characters say a value by themselves."""

_LONGEST = 12
"""Words that may have been heard for a value: a text may be long."""


class Recoverability:
    """Tells for the turns of a corpus, whose values a reader is to know."""

    def __init__(self, corpus: Iterable[Dialogue], schema: Schema) -> None:
        values_by_slot: dict[str, set[str]] = {slot: set(values) for slot, values in values_of(corpus).items()}
        for slot, entry in schema.slots.items():
            values_by_slot.setdefault(slot, set()).update(entry.values)
        self._sounds = {slot: sorted({_sound(value) for value in values}) for slot, values in values_by_slot.items()}
        self._names = frozenset(slot for slot in values_by_slot if is_named_entity_slot(slot, schema))

    def tagged(self, utterance: Utterance, heard: str) -> Rewrite:
        """What was heard of a turn, with what becomes of its values."""
        return Rewrite(heard, tags=(RECOVERABLE if self._is_recoverable(utterance, heard) else LOST,))

    def _is_recoverable(self, utterance: Utterance, heard: str) -> bool:
        mentions, before = utterance.mentions, utterance.before
        slots = {mention.slot for mention in mentions}
        changed = (slot for slot, forms in utterance.turn.state.items() if before.get(slot) != forms)
        if not slots.issuperset(changed):
            spoken = map(words, (utterance.text, heard))
            if _likeness(*map(_whole_sound, spoken)) < NEAR:
                return False
        return all(
            any(self._can_be_told(utterance, mention, heard) for mention in mentions if mention.slot == slot)
            for slot in slots
        )

    def _can_be_told(self, utterance: Utterance, mention: Mention, heard: str) -> bool:
        spoken = utterance.text[mention.start : mention.end]
        if len(spoken) >= _TELLING and f" {spoken} " in f" {heard} ":
            return True
        slot, forms = mention.slot, utterance.turn.state[mention.slot]
        places = find_value(heard, slot, forms)
        if places and slot not in self._names:
            return True
        own = {_sound(form) for form in (*forms, spoken)}
        stretches = [*_stretches_instead(utterance.text, mention, words(heard))]
        stretches += [words(heard[place.start : place.end]) for place in places]
        # What was misheard may look like a word that only says what a thing is: `store fort` for Stortford.
        sounds = {sound for stretch in stretches for sound in (_telling_sound(stretch), _whole_sound(stretch))}
        likeness, nearest = max(
            ((_likeness(sound, other), other) for sound in own for other in sounds), default=(0.0, "")
        )
        every = self._sounds.get(slot, ())
        rivals = process.extract_iter(nearest, every, scorer=_likeness, processor=None, score_cutoff=likeness)
        near = NEAR_NAME if slot in self._names else NEAR
        return likeness >= near and all(sound in own for sound, _, _ in rivals)


_likeness = Levenshtein.normalized_similarity


@lru_cache(maxsize=65_536)
def _sound(text: str) -> str:
    """How a value sounds."""
    return _telling_sound(words(text))


def _telling_sound(spoken: Sequence[str]) -> str:
    """How spoken words sound, less those that only say what a thing is: `hotel` does not tell hotels apart."""
    return "".join(map(_telling_part, spoken)) or _whole_sound(spoken)


@lru_cache(maxsize=65_536)
def _telling_part(word: str) -> str:
    return "".join(map(sound_of, telling(words_of_name(word))))


def _whole_sound(spoken: Sequence[str]) -> str:
    return "".join(map(sound_of, spoken))


def _stretches_instead(text: str, mention: Mention, heard: Sequence[str]) -> Iterator[Sequence[str]]:
    """Every stretch of what was heard where the text has a mention, with the errors that touch it."""
    first = len(words(text[: mention.start]))
    last = first + len(words(text[mention.start : mention.end]))
    low, high = len(heard), 0
    for code in Levenshtein.opcodes(words(text), heard):
        if code.tag != "equal" and code.src_start <= last and first <= code.src_end:
            low, high = min(low, code.dest_start), max(high, code.dest_end)
        elif code.tag == "equal" and code.src_start < last and first < code.src_end:
            low = min(low, code.dest_start + max(0, first - code.src_start))
            high = max(high, code.dest_end - max(0, code.src_end - last))
    for start in range(low, high):
        yield from (heard[start:end] for end in range(start + 1, min(high, start + _LONGEST) + 1))
