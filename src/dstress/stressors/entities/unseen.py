"""RADDLE's unseen entities: each name becomes another one that training does not have (sections 4.1 and 4.2).

Names are made by rule, or come from a dictionary or another corpus, and are of the same kind: a restaurant for a
restaurant. One name becomes the same other one through the whole dialogue, in what both sides say, in states, goal,
acts and spans.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random

from dstress.dialogue import Edit, Schema
from dstress.errors import DstressError, SpecError, unknown
from dstress.resources import Resources
from dstress.stressors.entities.names import DialogueNames, Match, Spans, Words, core, is_name, lowered, words_of_name
from dstress.stressors.entities.stressor import FindEdits, RenameValue, Renaming
from dstress.stressors.values import dictionary
from dstress.text import inflection as surface
from dstress.text.entity_words import entity_words, regions, split_region
from dstress.text.slot_names import also, is_named_entity_slot, kind_of
from dstress.text.tables import is_table_file, read_table
from dstress.text.writing_style import copy_capitals, opens_sentence, write_title

_KIND_BEHIND = re.compile(r"\s+([^\W\d_]+)(?:\s+([^\W\d_]+))?")
_PARTS_OF_TOWNS = frozenset({"station", "airport", "street", "road", "centre", "center", "city", "town"})
_SAYABLE = re.compile(r"[\w'’&.,:!? -]{2,40}")
_TRIES = 4
"""Made names that are drawn for one: few are in the dialogue already."""
_QUOTES = "'’`´ "

MADE = "made"
REGIONS = ("british", "american")
"""The manners that have names of every kind; others have towns only, for dialogues that name their country."""
_PART = re.compile(r"\{(\w+)\}")
_NO_KINDS = frozenset(["north", "south", "east", "west", "northern", "southern", "eastern", "western", "central"])


class UnseenEntities(Renaming):
    """Every name that the state holds becomes one that training does not have (RADDLE).

    `source`: `made` by rule, I, O, train-O, a TOML or JSON file, or a corpus such as sgd:test. `train` is the training
    corpus whose names are left out. `region`: made names are `british` or `american`; by default as the corpus spells.
    """

    single_words = False

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
        trained = _corpus_names(resources, self.train).values() if self.train else ()
        self._seen = {core(words_of_name(name)) for names in trained for name in names}
        self._pools: dict[str, list[str]] = {}
        self._region = self.region or region_of(resources.schema)
        if self.source == MADE:
            return
        source = _source_names(self.source, resources)
        for slot in sorted(self._entity_slots):
            self._pools[slot] = [
                name
                for name in _pool(slot, source)
                if core(words_of_name(name)) not in self._seen
                and is_name(name)
                and _SAYABLE.fullmatch(name)
                and not (kind_of(slot) == "town" and any(map(str.isdigit, name)))
            ]
        if not any(self._pools.values()):
            raise DstressError(
                f"{self.source} has no names for this corpus's slots ({', '.join(sorted(self._entity_slots)[:3])} ...)",
                where="unseen_entities",
                fix="give source= a dictionary or a corpus with such names that training does not have",
            )

    def draw_names(self, names: DialogueNames, random: Random) -> tuple[FindEdits, RenameValue] | None:
        """A new name for every name that is said before the state has it."""
        chosen = self._choose(names, random)
        if not chosen:
            return None

        def find_edits(text: str, spans: Spans) -> list[Edit]:
            entities = [(match, names.entity(match.name)) for match in names.find(text, spans)]
            changes = [_change(text, match, names, chosen[entity]) for match, entity in entities if entity in chosen]
            return surface.edits_with_articles(text, changes)

        def rename_value(value: str) -> str:
            new, (head, region) = chosen.get(names.entity(words_of_name(value))), split_region(value)
            return copy_capitals(head, new) + region if new else value

        return find_edits, rename_value

    def _choose(self, names: DialogueNames, random: Random) -> dict[Words, str]:
        """By its telling part, each name that is said before the state has it, and its new name."""
        dialogue = names.dialogue
        text = lowered(" ".join([text for turn in dialogue.turns for text in (turn.system, turn.user)]))
        # The manners of the regions that the dialogue's towns are said to be in.
        named_regions = {
            names.entity(words_of_name(form)): regions()[behind.strip(", ").replace(".", "").lower()]
            for turn in dialogue.turns
            for slot, forms in turn.state.items()
            if slot in self._entity_slots and self.source == MADE
            for form in forms
            if (behind := split_region(form)[1])
        }
        used: set[str] = set()
        chosen: dict[Words, str] = {}
        for name in _grounded_names(names):
            entity, kind = names.entity(name), kind_of(names.slots[name])
            if self.source == MADE:
                region = named_regions.get(entity, self._region) if kind == "town" else self._region
                drawn = (_make_name(name, kind, region, random) for _ in range(_TRIES))
                free = [new for new in drawn if new and core(words_of_name(new)) not in self._seen]
            else:
                free = self._pools.get(names.slots[name], [])
            free = [new for new in free if new not in used and lowered(new) not in text]
            if free:
                chosen[entity] = new = free[0] if self.source == MADE else random.choice(free)
                used.add(new)
        return chosen


def region_of(schema: Schema) -> str:
    """The manner of a corpus's names, by how its schema spells."""
    return "british" if any("centre" in slot.values for slot in schema.slots.values()) else "american"


@cache
def _words(region: str, name: str) -> tuple[str, ...]:
    table = read_table(__package__, "made_names.toml")
    words = table.get(region, {}).get(name) or table["everywhere"].get(name, ())
    return tuple(words.split() if isinstance(words, str) else words)


@cache
def _patterns(kind: str, region: str) -> tuple[str, ...]:
    patterns = _words(region, read_table(__package__, "made_names.toml")["kinds"].get(kind, ""))
    return tuple(pattern for pattern in patterns if all(_words(region, part) for part in _PART.findall(pattern)))


def draw_name(kind: str, region: str, random: Random) -> str:
    """A name of a kind; empty where the region has no rule for it."""
    if not (patterns := _patterns(kind, region)):
        return ""
    return _PART.sub(lambda part: random.choice(_words(region, part[1])), random.choice(patterns))


def kind_words(name: Words) -> Words:
    """What a name says that it is: `guest house`, `museum`. Behind the new name it keeps labels of types true."""
    kinds = entity_words("kinds") - _NO_KINDS
    first = len(name)
    while first and (name[first - 1] in kinds or (name[first - 1] == "and" and name[first - 2] in kinds)):
        first -= 1  # also "bed and breakfast"
    inside = tuple(word for word in name if word in kinds)
    return name[first:] or inside[-1:]


def _make_name(name: Words, kind: str, region: str, random: Random) -> str:
    """A made name in place of another, which stays what it is: `hamilton lodge` gives `Ashcombe Lodge`."""
    made = draw_name(kind, region, random)
    tail = kind_words(name) if made and kind != "town" else ()
    return f"{made} {write_title(' '.join(tail))}" if tail else made


def _grounded_names(names: DialogueNames) -> list[Words]:
    """The names that are said at the latest when they enter the state, one spelling of each."""
    first: dict[Words, int] = {}
    for index, match in names.find_in_turns():
        first.setdefault(names.entity(match.name), index)
    entered: dict[Words, int] = {}
    for name, index in names.entering.items():
        entered.setdefault(names.entity(name), index)
    late = {entity for entity, index in entered.items() if first.get(entity, index + 1) > index} | names.missed()
    return list({entity: name for name in names.slots if (entity := names.entity(name)) not in late}.values())


def _change(text: str, match: Match, names: DialogueNames, new: str) -> tuple[int, int, str]:
    """Where the name stands and what replaces it."""
    start, end = match.tokens[0].start, match.tokens[-1].end
    last, behind, kinds = match.tokens[-1], _KIND_BEHIND.match(text, end), entity_words("kinds")
    if last.word != last.bare and last.word not in match.name:
        end = start + len(text[start:end].rstrip("sS").rstrip(_QUOTES))  # a clitic stays behind the new name
    elif behind:
        # A kind behind the name (`acorn guesthouse`) goes, where the old name has it or the new one ends with it.
        first, second = lowered(behind[1]), lowered(behind[2] or "")
        if len(match.tokens) == len(match.name):
            end = behind.end(1) if first == words_of_name(new)[-1] and first in kinds else end
        elif first + second == "".join(match.name[-2:]) or (
            first in kinds and second in kinds and {first, second} <= {*match.name}
        ):
            end = behind.end()  # the name is shortened: what follows says what it is
        elif first in kinds and first not in _PARTS_OF_TOWNS:
            end = behind.end(1)
    shown = copy_capitals(text[start:end], new, opens=opens_sentence(text, start))
    return surface.place_name(text, start, end, shown, town=kind_of(names.slots[match.name]) == "town")


def _source_names(source: str, resources: Resources) -> Mapping[str, Sequence[str]]:
    """Slot id -> names, as the source has them."""
    if source in dictionary.SHIPPED:
        shipped = dictionary.shipped(source)
        pools = {slot: shipped.pool(slot) for slot in shipped.slots}
        return {slot: [name for name in pool if not shipped.is_seen(slot, name)] for slot, pool in pools.items()}
    if is_table_file(source):
        own = dictionary.read(source).settled(resources.schema)
        return {slot: own.pool(slot) for slot in own.slots}
    if ":" not in source:
        sources = (MADE, *dictionary.SHIPPED)
        raise unknown("source of names", source, sources, fix="or give a .toml or .json file, or a corpus:split")
    return _corpus_names(resources, source)


def _corpus_names(resources: Resources, name: str) -> dict[str, list[str]]:
    """Slot id -> names, as a corpus has them."""
    corpus = resources.load(name)
    values = dictionary.values_of(corpus)
    return {slot: sorted(counts) for slot, counts in values.items() if is_named_entity_slot(slot, corpus.schema)}


def _pool(slot: str, source: Mapping[str, Sequence[str]]) -> list[str]:
    """Names for a slot: its own in the source, else those of its kind."""
    if source.get(slot):
        return list(source[slot])
    kind, bare = kind_of(slot), slot.partition("-")[2]
    kinds = {kind, *also(kind)} - {""}
    others = [other for other in sorted(source) if kind_of(other) in kinds or (not kind and other.endswith(f"-{bare}"))]
    return sorted({lowered(name): name for other in others for name in source[other]}.values())
