"""How far a schema's variants are from it: table 1 of SGD-X (Lee et al. 2022, section 2.3), for any versions.

*Names* are those of slots and intents: SGD's 45 services have 365 and 88. Their distance is the normalised indel
distance, which is what `1 - Levenshtein.ratio` computes. *Descriptions* are those of services too: only with them does
one count the paper's 4,755 paraphrases. BLEU is sacreBLEU's, over all descriptions at once and in any case; the paper
does not name its settings, and of the usual ones these come nearest to its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from statistics import fmean
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import astuple
from rapidfuzz.distance import Indel

from dstress.dialogue import Intent, Schema, Service, Slot
from dstress.errors import CorpusError
from dstress.text.lemmas import content


class Version(NamedTuple):
    """A schema under other names and descriptions, by position. Versions of one group are compared with each other."""

    name: str
    schema: Schema
    group: str = ""


class Seen(NamedTuple):
    """Whose names may be known from training: names of unseen services are looked up among those of trained ones."""

    trained: frozenset[str]
    unseen: frozenset[str]


class Figures(msgspec.Struct):
    """How far a version is from the original. `None` where there is nothing to compare with."""

    slot_names_seen: float | None = None
    intent_names_seen: float | None = None
    name_distance: float | None = None
    description_bleu: float | None = None
    description_jaccard: float | None = None
    self_bleu: float | None = None


def figures(original: Schema, versions: Sequence[Version], seen: Seen) -> dict[str, Figures]:
    """The figures of the original and of each version, by name."""
    bleu = _bleu()
    measured = {"original": Figures(*_names_seen(original, original, seen))}
    texts = {version.name: descriptions(version.schema) for version in versions}
    before = descriptions(original)
    for version in versions:
        _check_positions(original, version)
        pairs = zip(names(original), names(version.schema), strict=True)
        others = [other.name for other in versions if other.group == version.group and other.name != version.name]
        own = texts[version.name]
        measured[version.name] = Figures(
            *_names_seen(original, version.schema, seen),
            fmean(name_distance(*pair) for pair in pairs),
            bleu.corpus_score(own, [before]).score,
            fmean(description_distance(*pair) for pair in zip(before, own, strict=True)),
            fmean(bleu.corpus_score(own, [texts[other]]).score for other in others) if others else None,
        )
    return measured


class SlotChange(msgspec.Struct, frozen=True):
    """A slot that a version writes otherwise: its id and description, before and after."""

    before: str
    description_before: str
    after: str
    description_after: str


class SchemaChange(msgspec.Struct, frozen=True):
    """What a version of a schema writes otherwise: how much, how far away, and in which slots."""

    names: int
    names_changed: int
    name_distance: float
    descriptions: int
    descriptions_changed: int
    description_bleu: float
    slots: list[SlotChange]
    services_added: list[str] = []


def measure_change(original: Schema, version: Schema) -> SchemaChange:
    """What a version writes otherwise, by position."""
    _check_positions(original, Version("the version", version))
    name_pairs = list(zip(names(original), names(version), strict=True))
    before, after = descriptions(original), descriptions(version)
    return SchemaChange(
        len(name_pairs),
        sum(old != new for old, new in name_pairs),
        fmean(name_distance(*pair) for pair in name_pairs) if name_pairs else 0.0,
        sum(map(bool, before)),
        sum(old != new for old, new in zip(before, after, strict=True)),
        _bleu().corpus_score(after, [before]).score if any(before) else 100.0,
        changed_slots(original, version),
    )


def changed_slots(original: Schema, version: Schema) -> list[SlotChange]:
    """The slots that a version writes otherwise, by position."""
    return [
        SlotChange(old, slot.description, new, other.description)
        for (old, slot), (new, other) in zip(original.slots.items(), version.slots.items(), strict=True)
        if (old, slot.description) != (new, other.description)
    ]


def average(figures: Sequence[Figures]) -> Figures:
    """The mean of each figure over versions that have it."""
    columns = ([value for value in column if value is not None] for column in zip(*map(astuple, figures), strict=True))
    return Figures(*(fmean(values) if values else None for values in columns))


def signature() -> str:
    """sacreBLEU's own words for how it was computed."""
    bleu = _bleu()
    bleu.corpus_score(["a"], [["a"]])
    return str(bleu.get_signature())


def name_distance(before: str, after: str) -> float:
    """Normalised indel distance: 0 for the same name, 1 where no letter is shared in order."""
    return Indel.normalized_distance(before, after)


def description_distance(before: str, after: str) -> float:
    """Jaccard distance of the lemmas without stop words (SGD-X 2.2); 0 if neither text has any."""
    first, second = content(before), content(after)
    return 1 - len(first & second) / len(first | second) if first or second else 0.0


def names(schema: Schema) -> list[str]:
    """The names of all slots and intents, service after service."""
    return [element.name for service in schema.services for element in elements(service)]


def descriptions(schema: Schema) -> list[str]:
    """The descriptions of all services, slots and intents."""
    return [element.description for service in schema.services for element in (service, *elements(service))]


def elements(service: Service) -> Iterator[Slot | Intent]:
    """Slots, then intents."""
    return chain(service.slots, service.intents)


def united(schemas: Sequence[Schema]) -> Schema:
    """One schema of all services; one that several schemas have counts once, as the first has it."""
    return united_versions(schemas, schemas)


def united_versions(originals: Sequence[Schema], variants: Sequence[Schema]) -> Schema:
    """The variant of `united(originals)`: a variant's service is known by the position of its original."""
    services: dict[str, Service] = {}
    for original, variant in zip(originals, variants, strict=True):
        _check_positions(original, Version("variant", variant))
        for before, after in zip(original.services, variant.services, strict=True):
            services.setdefault(before.name, after)
    return Schema(tuple(services.values()))


def _names_seen(original: Schema, version: Schema, seen: Seen) -> tuple[float | None, float | None]:
    """Shares of the unseen services' slot and intent names that the *original* training schemas have.

    A model is trained on the original schemas (section 3.2). Names count as often as services have them.
    """
    shares: list[float | None] = []
    for kind in ("slots", "intents"):
        services = zip(original.services, version.services, strict=True)
        new = [(before.name, part.name) for before, after in services for part in getattr(after, kind)]
        old = [(service.name, part.name) for service in original.services for part in getattr(service, kind)]
        trained = {name for service, name in old if service in seen.trained}
        unseen = [name for service, name in new if service in seen.unseen]
        shares.append(sum(name in trained for name in unseen) / len(unseen) if unseen else None)
    return shares[0], shares[1]


def _check_positions(original: Schema, version: Version) -> None:
    shape = [(len(service.slots), len(service.intents)) for service in original.services]
    if shape != [(len(service.slots), len(service.intents)) for service in version.schema.services]:
        raise CorpusError(
            f"{version.name} does not have the services, slots and intents of the original, one for one",
            fix="variants are matched by position: use the schemas of the same release",
        )


def _bleu() -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(lowercase=True)
