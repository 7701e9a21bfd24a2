"""Schemas rewritten by people, SGD-X, and variants composed from a pool of paraphrases (Lee et al. 2022, section 2).

A pool is a TOML or JSON file; `docs/stressors/schema_variant.md` shows one. A service named `*` holds what all services
share; a service's own entry comes first. What has no paraphrase stays.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from itertools import product
from pathlib import Path
from random import Random

import msgspec
from rapidfuzz.distance import Levenshtein

from dstress.dialogue import Schema, Service
from dstress.errors import SpecError, UnknownNameError, unknown
from dstress.resources import Resources
from dstress.stressors.base import SchemaStressor
from dstress.stressors.schema.wording import Element, reword
from dstress.text.schema_distance import description_distance
from dstress.text.tables import is_table_file, read_table

_VERSION = re.compile(r"v([1-9][0-9]*)")
_SPLITS = ("train", "dev", "test")

LEVELS = 5
"""SGD-X composes five variants; the fifth is the farthest from the original."""

ANY = "*"
_SHAPE = "write it like [services.taxi.slots.departure] names = [...] descriptions = [...]; docs/stressors has one"


class SchemaVariant(SchemaStressor):
    """The schema in other people's words: SGD-X's v1 to v5, or a variant composed from a pool of paraphrases.

    Without `pool`, SGD's services get the released variant, and those of MultiWOZ and `reminder` one composed from a
    pool that comes with dstress. `pool` is one of those (`multiwoz`, `reminder`), a file of your own, or a corpus with
    variants, such as `sgd-x`. `corpus` holds released variants of the corpus `original`, matched by position.
    """

    def __init__(self, version: str = "v1", pool: str = "", corpus: str = "sgd-x", original: str = "sgd") -> None:
        match = _VERSION.fullmatch(version)
        if not match:
            raise SpecError(f"schema_variant: no version {version!r}", fix="give v1, the nearest, to v5, the farthest")
        self.version, self.level, self.pool = version, int(match[1]), pool
        self.corpus, self.original = corpus, original
        self._released: dict[str, Service] = {}
        self._pool: Pool | None = None

    def prepare(self, resources: Resources) -> None:
        """Read the variant, or the pool, and check that it knows the corpus's services."""
        super().prepare(resources)
        self._released = {}
        if self.pool:
            self._pool = self._read_pool(resources)
        else:
            # The pool that comes with dstress for these services, if one has names for most of their slots.
            best = max(map(embedded_pool, embedded_names()), key=lambda pool: pool.share(resources.schema))
            self._pool = best if best.share(resources.schema) > 1 / 2 else None
        if self._pool is not None and self.level > LEVELS:
            raise SpecError(f"schema_variant: a pool gives no {self.version}", fix=f"v{LEVELS} is the farthest")
        if self._pool is None:
            for original, variant in self._pairs(resources, self.corpus, self.version):
                for before, after in zip(original.services, variant.services, strict=True):
                    self._released.setdefault(before.name, after)
            self.variant(resources.schema, Random)

    def variant(self, schema: Schema, random: Callable[[str], Random]) -> Schema:
        """The released variant of each service, or one composed from the pool."""
        if self._pool is not None:
            return compose(schema, self._pool, self.level, random)
        if missing := next((each.name for each in schema.services if each.name not in self._released), ""):
            raise SpecError(
                f"{self.corpus} has no variant of the service {missing!r}",
                fix="give a pool of paraphrases: schema_variant(pool=FILE); docs/stressors says how to write one",
            )
        return Schema(tuple(self._released[service.name] for service in schema.services))

    def key(self) -> str:
        """The same for every version: v1 to v5 are cut from one draw, so that each is farther than the one before."""
        return f"{type(self).__name__} {self.pool}"

    def _read_pool(self, resources: Resources) -> Pool:
        if self.pool in embedded_names():
            pool = embedded_pool(self.pool)
        elif is_table_file(self.pool):
            pool = read_pool(Path(self.pool))
        else:
            versions = [self._pairs(resources, self.pool, f"v{level}") for level in range(1, LEVELS + 1)]
            pool = build_pool((split[0][0], [variant for _, variant in split]) for split in zip(*versions, strict=True))
        check_against(pool, resources.schema, self.pool)
        return pool

    def _pairs(self, resources: Resources, corpus: str, version: str) -> list[tuple[Schema, Schema]]:
        """Original and variant of each split that both have; at least one, or an error that says what is missing."""
        pairs, missing = [], list[UnknownNameError]()
        for split in _SPLITS:
            try:
                original = resources.load(f"{self.original}:{split}").schema
                pairs.append((original, resources.load(f"{corpus}/{version}:{split}").schema))
            except UnknownNameError as error:
                missing.append(error)
        if not pairs:
            raise missing[0]
        return pairs


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
        own, shared = (self.services.get(name, ServicePool()) for name in (element.service, ANY))
        if element.kind == "service":
            return own
        first, second = (getattr(pool, f"{element.kind}s").get(element.name, Paraphrases()) for pool in (own, shared))
        return Paraphrases(first.names or second.names, first.descriptions or second.descriptions)

    def share(self, schema: Schema) -> float:
        """The share of a schema's slots for whose service the pool has an entry, and for which it has names."""
        slots = [Element("slot", service.name, slot.name, "") for service in schema.services for slot in service.slots]
        named = sum(slot.service in self.services and bool(self.of(slot).names) for slot in slots)
        return named / len(slots) if slots else 0.0


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
        if bad := next((new for new in service.names if "-" in new), ""):
            raise SpecError(f"{bad!r} cannot name the service {name}", where=str(path), fix="leave out the hyphen")
        for part, paraphrases in {name: service, **service.slots, **service.intents}.items():
            if not all(text.strip() for text in (*paraphrases.names, *paraphrases.descriptions)):
                raise SpecError(f"an empty paraphrase of {part!r} in {name!r}", where=str(path), fix="leave it out")
    return pool


def check_against(pool: Pool, schema: Schema, where: str) -> None:
    """Tell a pool that has nothing for this schema, or that speaks of a slot or intent that a service does not have."""
    services = schema.by_name
    if ANY not in pool.services and not services.keys() & pool.services.keys():
        raise SpecError(f"the pool {where} has none of the services {', '.join(services)}")
    for name, kind in product(filter(services.__contains__, pool.services), ("slots", "intents")):
        names = [element.name for element in getattr(services[name], kind)]
        for part in getattr(pool.services[name], kind):
            if part not in names:
                raise unknown(f"{kind.removesuffix('s')} of {name}", part, names, where=where)


def build_pool(pairs: Iterable[tuple[Schema, Sequence[Schema]]]) -> Pool:
    """A pool from ready variants: for each original, its variants by position. Service names are not paraphrased."""
    services: dict[str, ServicePool] = {}
    for original, variants in pairs:
        for place, service in enumerate(original.services):
            others = [variant.services[place] for variant in variants]
            slots, intents = (
                {
                    element.name: Paraphrases(tuple(new.name for new in same), tuple(new.description for new in same))
                    for element, *same in zip(*(getattr(each, kind) for each in (service, *others)), strict=True)
                }
                for kind in ("slots", "intents")
            )
            descriptions = tuple(other.description for other in others)
            services.setdefault(service.name, ServicePool((), descriptions, slots, intents))
    return Pool(services)


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
