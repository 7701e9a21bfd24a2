"""A dictionary like CoCo's I from any corpus: values that its test data have and its training data do not.

Taken as they are, such values are mostly annotators' slips: misspellings of known names, half names, a hotel as the
destination of a train; and often there are one or two of them, which then stand in hundreds of turns. So a value must
be well-formed for its kind of slot, and a slot must have `minimum` unseen ones; else it gets frequent seen values,
which are marked as seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from rapidfuzz import process
from rapidfuzz.distance import OSA

from dstress.dialogue import DONTCARE, Dialogue, Schema, Slot
from dstress.errors import SpecError, unknown
from dstress.generators.flags import is_flag
from dstress.resources import Material, Resources
from dstress.stressors.entities.lexicon import entity_words
from dstress.stressors.values import dictionary
from dstress.stressors.values.dictionary import Counts, Dictionary, count_values, values_of
from dstress.text.letters import words_of
from dstress.text.numbers import number_of, number_words
from dstress.text.tables import is_table_file
from dstress.text.times import time_of

BUILT = "built"
_MOST = 40
"""Values that a pool has at most, the most frequent ones."""
_SHARED = 0.05
"""Two slots hold the same things if so large a part of the one's uses are values of the other."""
_MOSTLY = 0.8
_RARE = 0.005
"""A seen value stands for others only if it has at least such a share of a slot's uses."""
_WORDS = 6
_SHORTEST = 4
_NAME = re.compile(r"[\w'’&.,:!?/ +-]+")
_CLOCK = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d(?: ?[ap]m)?|(?:1[0-2]|0?[1-9]) ?[ap]m", re.IGNORECASE)
_NOTHING = frozenset({"", "none", "not mentioned", "?", DONTCARE})


class _Corpus:
    """The dialogues to be stressed, with their schema: they are to a builder what a loaded corpus is."""

    def __init__(self, schema: Schema, dialogues: Iterable[Dialogue]) -> None:
        self.schema, self.dialogues = schema, dialogues

    def __iter__(self) -> Iterator[Dialogue]:
        return iter(self.dialogues)


def choose(source: str, resources: Resources, train: str, minimum: int) -> Dictionary:
    """The dictionary that a text means, in the corpus's spelling of slots, marked by what the training corpus has."""
    if source in dictionary.SHIPPED or is_table_file(source):
        if source in dictionary.SHIPPED:
            chosen = dictionary.shipped(source).adapted(resources.schema)
        else:
            chosen = dictionary.read(source).settled(resources.schema)
        return chosen.marked(values_of(resources.load(train))) if train else chosen
    if source != BUILT and ":" not in source:
        raise unknown(
            "dictionary", source, (*dictionary.SHIPPED, BUILT), fix="or give a .toml or .json file, or a corpus:split"
        )
    if not train:
        raise SpecError(f"dictionary={source} needs a training corpus", fix="add train=, as train=mwz21-trade:train")
    material = _Corpus(resources.schema, resources.corpus) if source == BUILT else resources.load(source)
    return build(resources.load(train), material, minimum).adapted(resources.schema)


def build(train: Material, test: Material, minimum: int = 5) -> Dictionary:
    """Unseen, well-formed values where a slot has at least `minimum`, else frequent seen ones, marked as seen."""
    trained, preferred = count_values(train)
    tested = count_values(test)[1]
    everything = {value: count for counts in trained.values() for value, count in counts.items()}
    unseen: dict[str, list[str]] = {}
    seen: dict[str, list[str]] = {}
    for slot, entry in test.schema.slots.items():
        # The slots of a service that training does not know are measured by what any slot has there.
        known = trained.get(slot) or everything
        new = _unseen(slot, entry, known, trained, tested)
        if len(new) >= minimum:
            unseen[slot] = new[:_MOST]
            continue
        common = {value: count for value, count in tested.get(slot, {}).items() if value in known}
        old = _frequent(entry, preferred.get(slot) or common)
        # Of a yes or no, what nobody says is no choice: users ask for smoking, they never ask for none.
        if len(old) > 1 or (old and entry.values and all(map(is_flag, entry.values))):
            seen[slot] = old[:_MOST]
    return Dictionary(unseen, seen, where="the dictionary built from the corpus")


def _unseen(slot: str, entry: Slot, known: Mapping[str, int], trained: Counts, tested: Counts) -> list[str]:
    """Well-formed new values, the most frequent first."""
    folded = {value.casefold() for value in known}
    new = [value for value in _by_frequency(tested.get(slot, {})) if value.casefold() not in folded]
    if entry.categorical:
        return [value for value in new if value in entry.values]
    if _are_mostly(time_of, known):
        times = {time_of(value) for value in known}
        return _without_respellings(value for value in new if _CLOCK.fullmatch(value) and time_of(value) not in times)
    if _are_mostly(number_of, known):
        numbers = [number for value in known if (number := number_of(value)) is not None]
        return [value for value in new if value.isdecimal() and min(numbers) <= int(value) <= 2 * max(numbers)]
    elsewhere = _elsewhere(slot, trained, tested)
    cores = sorted({core for value in known if (core := _core(value))})
    return _without_respellings(value for value in new if _core(value) not in elsewhere and _is_name(value, cores))


def _by_frequency(counts: Mapping[str, int]) -> list[str]:
    values = (value for value in counts if value.casefold() not in _NOTHING)
    return sorted(values, key=lambda value: (-counts[value], value))


def _are_mostly(kind: Callable[[str], float | None], known: Mapping[str, int]) -> bool:
    total = sum(known.values())
    return bool(total) and sum(n for value, n in known.items() if kind(value) is not None) >= _MOSTLY * total


def _without_respellings(values: Iterable[str]) -> list[str]:
    """Each value in its most frequent spelling."""
    return list({"".join(words_of(value)): value for value in reversed(list(values))}.values())[::-1]


def _is_name(value: str, cores: list[str]) -> bool:
    """Whether a value looks like a name, and not like another spelling, a part or an extension of a known one."""
    words, core = words_of(value), _core(value)
    if len(words) > _WORDS or len(core) < _SHORTEST or not _NAME.fullmatch(value):
        return False
    little = entity_words().little
    if words[-1] in little or (words[0] in little and words[0] != "the" and len(words) > 1):
        return False
    if process.extractOne(core, cores, scorer=OSA.distance, score_cutoff=max(1, len(core) // 5)):
        return False
    written = {_digits(word) for word in words}
    return not any(core in other or (len(other) >= _SHORTEST and other in core) or other in written for other in cores)


def _core(value: str) -> str:
    """The letters of a name without the words that say what it is, numbers in digits: `restaurant one seven`, `17`."""
    table = entity_words()
    return "".join(_digits(word) for word in words_of(value) if word not in table.kinds and word not in table.little)


def _digits(word: str) -> str:
    number = number_words().get(word)
    return word if number is None else str(number)


def _elsewhere(slot: str, trained: Counts, tested: Counts) -> set[str]:
    """Values of slots that hold other things: a train goes to no restaurant, a taxi does."""
    own = trained.get(slot, {})
    total = sum(own.values())
    elsewhere: set[str] = set()
    for other, counts in trained.items():
        shared = sum(n for value, n in own.items() if value in counts)
        if other != slot and total and shared < _SHARED * total:
            elsewhere.update(_core(value) for value in (*counts, *tested.get(other, ())))
    return elsewhere - {_core(value) for value in own}


def _frequent(entry: Slot, counts: Mapping[str, int]) -> list[str]:
    """Values that training shows often; one that is rare is as likely a slip."""
    least = max(2.0, _RARE * sum(counts.values()))
    frequent = [value for value in _by_frequency(counts) if counts[value] >= least]
    if entry.categorical:
        return [value for value in frequent if value in entry.values]
    if _are_mostly(time_of, counts):
        frequent = [value for value in frequent if _CLOCK.fullmatch(value)]
    return _without_respellings(frequent)
