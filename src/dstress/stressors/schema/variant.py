"""Schemas rewritten by people: SGD-X (Lee et al. 2022, section 2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from dstress.dialogue import Schema, Service
from dstress.errors import SpecError, UnknownNameError
from dstress.resources import Resources
from dstress.stressors.base import SchemaStressor
from dstress.stressors.schema.variant_pool import (
    LEVELS,
    Pool,
    build_pool,
    check_against,
    compose,
    embedded_names,
    embedded_pool,
    read_pool,
)

_VERSION = re.compile(r"v([1-9][0-9]*)")
_SPLITS = ("train", "dev", "test")


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
        self._pool = self._read_pool(resources) if self.pool else _embedded_pool_for(resources.schema)
        if self._pool is not None and self.level > LEVELS:
            raise SpecError(f"schema_variant: a pool gives no {self.version}", fix=f"v{LEVELS} is the farthest")
        if self._pool is None:
            for original, variant in self._pairs(resources, self.corpus, self.version):
                for before, after in zip(original.services, variant.services, strict=True):
                    self._released.setdefault(before.name, after)
            self._check_released(resources.schema)

    def variant(self, schema: Schema, random: Callable[[str], Random]) -> Schema:
        """The released variant of each service, or one composed from the pool."""
        if self._pool is not None:
            return compose(schema, self._pool, self.level, random)
        self._check_released(schema)
        return Schema(tuple(self._released[service.name] for service in schema.services))

    def key(self) -> str:
        """The same for every version: v1 to v5 are cut from one draw, so that each is farther than the one before."""
        return f"{type(self).__name__} {self.pool}"

    def _read_pool(self, resources: Resources) -> Pool:
        if self.pool in embedded_names():
            pool = embedded_pool(self.pool)
        elif Path(self.pool).suffix in (".toml", ".json"):
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

    def _check_released(self, schema: Schema) -> None:
        for service in schema.services:
            if service.name not in self._released:
                raise SpecError(
                    f"{self.corpus} has no variant of the service {service.name!r}",
                    fix="give a pool of paraphrases: schema_variant(pool=FILE); docs/stressors says how to write one",
                )


def _embedded_pool_for(schema: Schema) -> Pool | None:
    """The pool that comes with dstress for these services, if one has names for most of their slots."""
    pools = sorted((embedded_pool(name) for name in embedded_names()), key=lambda pool: -pool.share(schema))
    return pools[0] if pools[0].share(schema) > 1 / 2 else None
