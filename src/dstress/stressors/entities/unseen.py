"""RADDLE's unseen entities: each name becomes another one that training does not have (sections 4.1 and 4.2).

Names are made by rule, or come from a dictionary or another corpus, and are of the same kind: a restaurant for a
restaurant. One name
becomes the same other one through the whole dialogue, in what both sides say, in states, goal, acts and spans.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

from dstress.dialogue import Dialogue, Edit
from dstress.errors import DstressError, SpecError, unknown
from dstress.resources import Resources
from dstress.stressors.base import DialogueStressor, Effect
from dstress.stressors.entities.lexicon import entity_words, regions, split_region
from dstress.stressors.entities.made_names import MADE, REGIONS, draw_name, kind_words, region_of
from dstress.stressors.entities.names import DialogueNames, Match, Spans, Words, core, is_name, lowered, name_words
from dstress.stressors.entities.renamer import DialogueRenamer
from dstress.stressors.values import dictionary
from dstress.stressors.values.dictionary import values_of
from dstress.text import inflection as surface
from dstress.text.slot_kinds import also, kind_of
from dstress.text.slot_names import is_named_entity_slot
from dstress.text.tables import is_table_file
from dstress.text.writing_style import copy_capitals, opens_sentence, write_title

_KIND_BEHIND = re.compile(r"\s+([^\W\d_]+)(?:\s+([^\W\d_]+))?")
_PARTS_OF_TOWNS = frozenset({"station", "airport", "street", "road", "centre", "center", "city", "town"})
_SAYABLE = re.compile(r"[\w'’&.,:!? -]{2,40}")
_TRIES = 4
"""Made names that are drawn for one: few are in the dialogue already."""
_QUOTES = "'’`´ "


class UnseenEntities(DialogueStressor):
    """Every name that the state holds becomes one that training does not have (RADDLE).

    `source`: `made` by rule, I, O, train-O, a TOML or JSON file, or a corpus such as sgd:test. `train` is the training
    corpus whose names are left out. `region`: made names are `british` or `american`; by default as the corpus spells.
    """

    languages = ("en",)
    effect: Effect = "directional"

    def __init__(self, source: str = MADE, train: str = "", region: str = "") -> None:
        if region and region not in REGIONS:
            raise unknown("region", region, REGIONS)
        if region and source != MADE:
            raise SpecError(f"unseen_entities: region={region} is for names that are made", fix="leave source= out")
        self.source, self.train, self.region = source, train, region

    def reads(self, train: str) -> tuple[str, ...]:
        """The training corpus, and the one that values are taken from."""
        return tuple(name for name in (self.train, self.source) if ":" in name)

    def prepare(self, resources: Resources) -> None:
        """Gather new names for every slot that holds names."""
        super().prepare(resources)
        self._entity_slots = {slot for slot in resources.schema.slots if is_named_entity_slot(slot, resources.schema)}
        self._seen: set[Words] = set()
        if self.train:
            by_slot = _corpus_names(resources, self.train)
            self._seen = {core(name_words(name)) for names in by_slot.values() for name in names}
        self._pools: dict[str, list[str]] = {}
        self._region = self.region or region_of(resources.schema)
        if self.source == MADE:
            return
        source = _source_names(self.source, resources)
        for slot in sorted(self._entity_slots):
            self._pools[slot] = [
                name
                for name in _pool(slot, source)
                if core(name_words(name)) not in self._seen and _is_sayable(name, kind_of(slot))
            ]
        if not any(self._pools.values()):
            raise DstressError(
                f"{self.source} has no names for this corpus's slots ({', '.join(sorted(self._entity_slots)[:3])} ...)",
                where="unseen_entities",
                fix="give source= a dictionary or a corpus with such names that training does not have",
            )

    def rewrite(self, dialogue: Dialogue, random: Random) -> Dialogue:
        """The dialogue under other names."""
        names = DialogueNames(dialogue, self._entity_slots, parts=False)
        chosen = self._choose(dialogue, names, random) if names.slots else {}
        if not chosen:
            return dialogue

        def find_edits(text: str, spans: Spans) -> list[Edit]:
            entities = [(match, names.entity(match.name)) for match in names.find(text, spans)]
            changes = [_change(text, match, names, chosen[entity]) for match, entity in entities if entity in chosen]
            return surface.edits_with_articles(text, changes)

        def rename_value(value: str) -> str:
            new, (head, region) = chosen.get(names.entity(name_words(value))), split_region(value)
            return copy_capitals(head, new) + region if new else value

        return DialogueRenamer(find_edits, rename_value, self._entity_slots).rename(dialogue)

    def _choose(self, dialogue: Dialogue, names: DialogueNames, random: Random) -> dict[Words, str]:
        """By its telling part, each name that is said before the state has it, and its new name."""
        text = lowered(" ".join([text for turn in dialogue.turns for text in (turn.system, turn.user)]))
        said = _said_regions(names) if self.source == MADE else {}
        used: set[str] = set()
        chosen: dict[Words, str] = {}
        for name in _grounded_names(names):
            if self.source == MADE:
                slot = names.slots[name]
                region = said.get(names.entity(name), self._region) if kind_of(slot) == "town" else self._region
                drawn = (_make_name(name, kind_of(slot), region, random) for _ in range(_TRIES))
                free = [new for new in drawn if new and core(name_words(new)) not in self._seen]
            else:
                free = self._pools.get(names.slots[name], [])
            free = [new for new in free if new not in used and lowered(new) not in text]
            if free:
                chosen[names.entity(name)] = new = free[0] if self.source == MADE else random.choice(free)
                used.add(new)
        return chosen


def _make_name(name: Words, kind: str, region: str, random: Random) -> str:
    """A made name in place of another, which stays what it is: `hamilton lodge` gives `Ashcombe Lodge`."""
    made = draw_name(kind, region, random)
    tail = kind_words(name) if made and kind != "town" else ()
    return " ".join([made, write_title(" ".join(tail))] if tail else [made])


def _said_regions(names: DialogueNames) -> dict[Words, str]:
    """The manners of the regions that the dialogue's towns are said to be in."""
    return {
        names.entity(name_words(form)): regions()[behind.strip(", ").replace(".", "").lower()]
        for turn in names.dialogue.turns
        for slot, forms in turn.state.items()
        if slot in names.entity_slots
        for form in forms
        if (behind := split_region(form)[1])
    }


def _grounded_names(names: DialogueNames) -> list[Words]:
    """The names that are said at the latest when they enter the state, one spelling of each."""
    first: dict[Words, int] = {}
    for index, match in names.find_in_turns():
        first.setdefault(names.entity(match.name), index)
    entered: dict[Words, int] = {}
    for name, index in names.entering.items():
        entered.setdefault(names.entity(name), index)
    late = {entity for entity, index in entered.items() if first.get(entity, index + 1) > index}
    late |= names.missed()
    return list({entity: name for name in names.slots if (entity := names.entity(name)) not in late}.values())


def _change(text: str, match: Match, names: DialogueNames, new: str) -> tuple[int, int, str]:
    """Where the name stands and what replaces it."""
    start, end = match.tokens[0].start, match.tokens[-1].end
    last = match.tokens[-1]
    if last.word != last.bare and last.word not in match.name:
        end = start + len(text[start:end].rstrip("sS").rstrip(_QUOTES))  # a clitic stays behind the new name
    else:
        end = _kind_end(text, end, match, new)
    shown = copy_capitals(text[start:end], new, opens=opens_sentence(text, start))
    return surface.place_name(text, start, end, shown, town=kind_of(names.slots[match.name]) == "town")


def _kind_end(text: str, end: int, match: Match, new: str) -> int:
    """Past a kind behind the name (`acorn guesthouse`), where the old name has it or the new one ends with it."""
    behind = _KIND_BEHIND.match(text, end)
    if behind is None:
        return end
    kinds = entity_words().kinds
    first, second = lowered(behind[1]), lowered(behind[2] or "")
    if len(match.tokens) < len(match.name):  # a short form: what follows says what it is
        tail = "".join(match.name[-2:])
        if first + second == tail or (first in kinds and second in kinds and {first, second} <= {*match.name}):
            return behind.end()
        return behind.end(1) if first in kinds and first not in _PARTS_OF_TOWNS else end
    return behind.end(1) if first == name_words(new)[-1] and first in kinds else end


def _source_names(source: str, resources: Resources) -> Mapping[str, Sequence[str]]:
    """Slot id -> names, as the source has them."""
    if source in dictionary.SHIPPED:
        shipped = dictionary.shipped(source)
        return {
            slot: [value for value in shipped.pool(slot) if not shipped.is_seen(slot, value)] for slot in shipped.slots
        }
    if is_table_file(source):
        own = dictionary.read(source).settled(resources.schema)
        return {slot: own.pool(slot) for slot in own.slots}
    if ":" not in source:
        raise unknown(
            "source of names",
            source,
            (MADE, *dictionary.SHIPPED),
            fix="or give a .toml or .json file, or a corpus:split",
        )
    return _corpus_names(resources, source)


def _corpus_names(resources: Resources, name: str) -> dict[str, list[str]]:
    """Slot id -> names, as a corpus has them."""
    corpus = resources.load(name)
    return {
        slot: sorted(counts) for slot, counts in values_of(corpus).items() if is_named_entity_slot(slot, corpus.schema)
    }


def _is_sayable(name: str, kind: str) -> bool:
    """Whether a name can be said as it is; a town's has no number in it."""
    return is_name(name) and bool(_SAYABLE.fullmatch(name)) and not (kind == "town" and any(map(str.isdigit, name)))


def _pool(slot: str, source: Mapping[str, Sequence[str]]) -> list[str]:
    """Names for a slot: its own in the source, else those of its kind."""
    if source.get(slot):
        return list(source[slot])
    kind = kind_of(slot)
    kinds = {kind, *also(kind)} - {""}
    bare = slot.partition("-")[2]
    fitting = [
        names
        for other, names in sorted(source.items())
        if kind_of(other) in kinds or (not kind and other.endswith("-" + bare))
    ]
    return sorted({lowered(name): name for names in fitting for name in names}.values())
