"""How far the variants of a corpus's schema are from it: the figures of SGD-X's table 1, beside those of the paper.

Variants are those that are stored (SGD-X's v1 to v5), and those that schema stressors make.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dstress import corpora, stressors
from dstress.corpora import store
from dstress.corpora.split_names import canonical_split
from dstress.dialogue import Schema
from dstress.errors import CorpusError, MissingExtraError, SpecError
from dstress.resources import Resources
from dstress.storage.home import home
from dstress.text.schema_distance import Figures, Seen, Version, average, figures, signature, united, united_versions
from dstress.text.tables import read_table

_SEED = 1
_TRANSLATED = ("schema_backtranslation(pivots=[es])", "schema_backtranslation(pivots=[eo])")
"""One schema a language, as in SGD-X 4.2; these two are what the default translator takes by itself."""

_NOTES = {
    "sgd-x": "the released variants were revised after the paper, and the paper does not say how it set BLEU: "
    "ours differ a little from its numbers",
    "schema_backtranslation": "the paper's back-translations went through Mandarin, Korean and Japanese with Google "
    "Translate; ours go through nearer languages, with synonyms where these change nothing",
}
"""What to know about a group beside the paper's numbers."""


class SchemaVariants(msgspec.Struct):
    """The figures of every version of a schema. `averages` are over the versions of each group."""

    name: str
    splits: list[str]
    services: int
    slot_names: int
    intent_names: int
    unseen_services: list[str]
    versions: dict[str, Figures]
    groups: dict[str, list[str]]
    averages: dict[str, Figures]
    bleu: str
    paper: dict[str, dict[str, Any]] = {}
    notes: list[str] = []


def measure_variants(name: str, also: Sequence[str] = ()) -> SchemaVariants:
    """The figures of the variants that are stored, and of the schemas that stressors (`also`) make."""
    stored = {stored_name: store.require_manifest(stored_name) for stored_name in store.stored_names()}
    variants = {stored_name: entry for stored_name, entry in stored.items() if entry.derived_from == name}
    # What can be compared are the splits that every variant has.
    shared = [set(map(canonical_split, variant.splits)) for variant in variants.values()]
    splits = [
        split
        for split in store.require_manifest(name).splits
        if all(canonical_split(split) in of_variant for of_variant in shared)
    ]
    originals = [store.read_schema(name, split) for split in splits]
    schema = united(originals)
    versions = []
    for variant, entry in variants.items():
        schemas = [store.read_schema(variant, store.find_split(entry, split)) for split in splits]
        versions.append(Version(variant, united_versions(originals, schemas), variant.partition("/")[0]))
    notes: list[str] = []
    for spec in also or (_TRANSLATED if variants else ()):
        try:
            versions.append(_stressed(f"{name}:{splits[-1]}", schema, spec))
        except MissingExtraError as error:
            if also:  # what is missing is an error only if a person asked for it
                raise
            notes.append(f"{spec} is left out: {error.problem}")
    if not versions:
        raise CorpusError(
            f"no schema variants of {name!r} are here",
            fix="add them (dstress corpora add sgd-x), or name stressors that make some: --also schema_noise",
        )
    # Services of test that train does not have: where one of the two is missing, nothing is unseen.
    by_split = {
        canonical_split(split): frozenset(original.by_name) for split, original in zip(splits, originals, strict=True)
    }
    trained = by_split.get("train", frozenset())
    seen = Seen(trained, by_split.get("test", frozenset()) - trained if trained else frozenset())
    measured = figures(schema, versions, seen)
    groups: dict[str, list[str]] = {}
    for version in versions:
        groups.setdefault(version.group, []).append(version.name)
    printed = read_table(__package__, "schema_variants.toml") if name == "sgd" else {}
    paper = {group: numbers for group, numbers in printed.items() if group in groups}
    return SchemaVariants(
        name=name,
        splits=splits,
        services=len(schema.services),
        slot_names=sum(len(service.slots) for service in schema.services),
        intent_names=sum(len(service.intents) for service in schema.services),
        unseen_services=sorted(seen.unseen),
        versions=measured,
        groups=groups,
        averages={
            group: average([measured[version] for version in members])
            for group, members in groups.items()
            if len(members) > 1
        },
        bleu=signature(),
        paper=paper,
        notes=[note for group, note in _NOTES.items() if group in paper] + notes,
    )


def _stressed(corpus: str, schema: Schema, spec: str) -> Version:
    """The schema that a stressor makes of all services."""
    stressor = stressors.create(spec)
    if stressor.scope != "schema":
        raise SpecError(f"{spec} does not change the schema", fix="name schema stressors, such as schema_noise")
    loaded = corpora.load(corpus)
    stressor.require_language(loaded)
    stressor.prepare(Resources(schema, loaded, corpora.load, home()), _SEED)
    group = stressor.parts[0].spec.partition("(")[0]
    return Version(stressor.spec, stressor.schema_of(schema, _SEED), group)
