"""Pools of paraphrases, and how SGD-X composes a variant from them (Lee et al. 2022, section 2.2).

A pool is a TOML or JSON file:

    [services.taxi]
    descriptions = ["Cabs in town", ...]

    [services.taxi.slots.departure]
    names = ["pickup_point", ...]
    descriptions = ["Where the cab fetches you", ...]

    [services.taxi.intents.order_taxi]
    names = [...]

A service named `*` holds what all services share; a service's own entry comes first. What has no paraphrase stays.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from random import Random

import msgspec
from rapidfuzz.distance import Levenshtein

from dstress.dialogue import Schema, Service
from dstress.errors import SpecError, unknown
from dstress.stressors.schema.wording import Element, reword
from dstress.text.schema_distance import description_distance
from dstress.text.tables import read_table

LEVELS = 5
"""SGD-X composes five variants; the fifth is the farthest from the original."""

ANY = "*"


class Paraphrases(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Other names and descriptions for one element."""

    names: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()


class ServicePool(Paraphrases, forbid_unknown_fields=True, omit_defaults=True):
    """Paraphrases of a service and of what it has."""

    slots: dict[str, Paraphrases] = {}
    intents: dict[str, Paraphrases] = {}


class Pool(msgspec.Struct, forbid_unknown_fields=True):
    """Paraphrases by service."""

    services: dict[str, ServicePool]

    def of(self, element: Element) -> Paraphrases:
        """The paraphrases of an element: its service's own, else those that all services share."""
        empty = ServicePool()
        own, shared = self.services.get(element.service, empty), self.services.get(ANY, empty)
        if element.kind == "service":
            return own
        kind = f"{element.kind}s"
        first, second = (getattr(pool, kind).get(element.name, Paraphrases()) for pool in (own, shared))
        return Paraphrases(first.names or second.names, first.descriptions or second.descriptions)

    def share(self, schema: Schema) -> float:
        """The share of a schema's slots for whose service the pool has an entry, and for which it has names."""
        slots = [Element("slot", service.name, slot.name, "") for service in schema.services for slot in service.slots]
        known = sum(slot.service in self.services and bool(self.of(slot).names) for slot in slots)
        return known / len(slots) if slots else 0.0


def embedded_names() -> list[str]:
    """The pools that come with dstress."""
    return sorted(file.name.removesuffix(".toml") for file in files(__package__).joinpath("pools").iterdir())


def embedded_pool(name: str) -> Pool:
    """One of the pools that come with dstress."""
    return msgspec.convert(read_table(__package__, f"pools/{name}.toml"), Pool)


def read_pool(path: Path) -> Pool:
    """A pool of one's own, checked: every paraphrase says something, and no service gets a hyphen."""
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        pool = msgspec.convert(data, Pool)
    except (OSError, ValueError) as error:  # msgspec's and both parsers' errors are ValueErrors
        raise SpecError(f"not a pool of paraphrases: {error}", where=str(path), fix=_SHAPE) from None
    for name, service in pool.services.items():
        _check(name, service, str(path))
    return pool


_SHAPE = "write it like [services.taxi.slots.departure] names = [...] descriptions = [...]; docs/stressors has one"


def _check(name: str, service: ServicePool, where: str) -> None:
    if bad := next((new for new in service.names if "-" in new), ""):
        raise SpecError(f"{bad!r} cannot name the service {name}", where=where, fix="leave out the hyphen")
    for part, paraphrases in {name: service, **service.slots, **service.intents}.items():
        if not all(text.strip() for text in (*paraphrases.names, *paraphrases.descriptions)):
            raise SpecError(f"an empty paraphrase of {part!r} in {name!r}", where=where, fix="leave it out")


def check_against(pool: Pool, schema: Schema, where: str) -> None:
    """Tell a pool that has nothing for this schema, or that speaks of a slot or intent that a service does not have."""
    known = {service.name: service for service in schema.services}
    if ANY not in pool.services and not known.keys() & pool.services.keys():
        raise SpecError(f"the pool {where} has none of the services {', '.join(known)}")
    for name, service in pool.services.items():
        if name not in known:
            continue
        for kind in ("slots", "intents"):
            names = [element.name for element in getattr(known[name], kind)]
            for part in getattr(service, kind):
                if part not in names:
                    raise unknown(f"{kind.removesuffix('s')} of {name}", part, names, where=where)


def build_pool(pairs: Iterable[tuple[Schema, Sequence[Schema]]]) -> Pool:
    """A pool from ready variants: for each original, its variants by position. Service names are not paraphrased."""
    services: dict[str, ServicePool] = {}
    for original, variants in pairs:
        for place, service in enumerate(original.services):
            others = [variant.services[place] for variant in variants]
            services.setdefault(service.name, _service_pool(service, others))
    return Pool(services)


def _service_pool(service: Service, others: Sequence[Service]) -> ServicePool:
    def gathered(kind: str) -> dict[str, Paraphrases]:
        return {
            element.name: Paraphrases(
                tuple(getattr(other, kind)[place].name for other in others),
                tuple(getattr(other, kind)[place].description for other in others),
            )
            for place, element in enumerate(getattr(service, kind))
        }

    return ServicePool((), tuple(other.description for other in others), gathered("slots"), gathered("intents"))


def compose(schema: Schema, pool: Pool, level: int, random: Callable[[str], Random]) -> Schema:
    """The variant of a level, 1 to 5: each element takes its paraphrase of that rank, by distance from the original.

    Names go by Levenshtein distance, descriptions by the Jaccard distance of their lemmas without stop words.
    """

    def names(element: Element) -> list[str]:
        ranked = _ranked(element.name, pool.of(element).names, Levenshtein.distance, random(f"{element.key} name"))
        chosen = _rank(level, len(ranked))
        # A name that another slot already has gives way to the next: farther ones first, then nearer ones.
        return ranked[chosen:] + ranked[:chosen][::-1]

    def description(element: Element) -> str:
        others = pool.of(element).descriptions
        ranked = _ranked(element.description, others, description_distance, random(f"{element.key} description"))
        return ranked[_rank(level, len(ranked))] if ranked else element.description

    return reword(schema, names, description)


def _ranked(
    original: str, paraphrases: Sequence[str], distance: Callable[[str, str], float], random: Random
) -> list[str]:
    """Five of the paraphrases (all, if there are fewer), the nearest first; equally near ones in the pool's order."""
    distinct = list(dict.fromkeys(paraphrases))
    if len(distinct) > LEVELS:
        distinct = [distinct[place] for place in sorted(random.sample(range(len(distinct)), LEVELS))]
    return sorted(distinct, key=lambda text: distance(original, text))


def _rank(level: int, count: int) -> int:
    """The place of a level among fewer than five paraphrases, spread evenly, so that distance still never falls."""
    return max(0, -(-level * count // LEVELS) - 1)
