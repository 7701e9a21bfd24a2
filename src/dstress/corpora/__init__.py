"""The corpora room: importers for the field's layouts, the data home, and `load`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dstress.corpora import sgd, store
from dstress.corpora.base import Corpus, Importer, Split, made_by
from dstress.corpora.catalogue import catalogue
from dstress.corpora.checks import read_checked
from dstress.corpora.database import Database
from dstress.corpora.json_files import decode
from dstress.corpora.split_names import UNNAMED, same_split, training_split
from dstress.corpora.store import Manifest, Progress
from dstress.dialogue import Dialogue
from dstress.errors import CorpusError, unknown
from dstress.registry import Registry
from dstress.schema_names import map_names, rename_dialogue
from dstress.storage.sources import Source, is_address, open_source

importers = Registry(
    "importer",
    Importer,
    {
        "dstress": "dstress.corpora.jsonl:Jsonl",
        "bfcl": "dstress.corpora.bfcl:Bfcl",
        "apibank": "dstress.corpora.tool_dialogues:ApiBank",
        "acebench": "dstress.corpora.tool_dialogues:AceBench",
        "sgd-tools": "dstress.corpora.sgd_tools:SgdTools",
        "multiwoz22": "dstress.corpora.multiwoz22:Multiwoz22",
        "sgd": "dstress.corpora.sgd:Sgd",
        "woz": "dstress.corpora.woz:Woz",
        "trade": "dstress.corpora.trade:Trade",
        "m2m": "dstress.corpora.m2m:M2m",
        "taskmaster": "dstress.corpora.taskmaster:Taskmaster",
        "crosswoz": "dstress.corpora.crosswoz:Crosswoz",
        "bitod": "dstress.corpora.bitod:Bitod",
        "unified": "dstress.corpora.unified:Unified",
        "multiwoz": "dstress.corpora.multiwoz:Multiwoz",
        "simple": "dstress.corpora.simple:Simple",
    },
)
"""Layouts, in the order in which they are tried."""

EMBEDDED = "reminder"
_DEFAULT_SPLIT = "test"
_DESCRIPTION = msgspec.json.Decoder(dict[str, Any])


def load(text: str, *, limit: int = 0, draw: int = 0, seed: int = 1) -> Corpus:
    """`multiwoz21:test`, `sgd-x/v3:dev`, `reminder:train`, or a path to any source: a corpus split to iterate.

    A name that is imported is that corpus, whatever lies in the working directory; `./sgd` is a folder `sgd` there.
    `limit` takes the first dialogues, `draw` some at random, by the seed.
    """
    name, _, split = text.rpartition(":") if ":" in text else (text, "", "")
    if not name:  # which would be the path of the working folder
        raise CorpusError("no corpus is named", fix="give one as NAME:SPLIT, such as reminder:test")
    if not (name == EMBEDDED or store.is_stored(name)) and (Path(text).exists() or Path(name).exists()):
        path = (text, "") if Path(text).exists() else (name, split)
        return _load_path(*path).take(limit, draw, seed)
    if name == EMBEDDED:
        ensure_embedded()
    entry = store.require_manifest(name)
    chosen = store.find_split(entry, split or _DEFAULT_SPLIT)
    corpus = _open_variant(entry, chosen) if entry.derived_from else store.open_corpus(name, chosen)
    train = training_split(entry.splits, chosen)
    if train:
        corpus.train = f"{name}:{train}"
        corpus.seen = frozenset(store.read_schema(name, train).by_name)
    return corpus.take(limit, draw, seed)


def load_splits(text: str) -> dict[str, Corpus]:
    """Every split of a corpus by its name, or the one that `NAME:SPLIT` names."""
    name, _, split = text.partition(":")
    manifest = ensure_embedded() if name == EMBEDDED else store.require_manifest(name)
    splits = [store.find_split(manifest, split)] if split else list(manifest.splits)
    return {split: load(f"{name}:{split}") for split in splits}


def add(
    name: str,
    *sources: str | Path,
    progress: Progress = lambda *_: None,
    within: str = "",
    language: str = "",
) -> list[Manifest]:
    """Import a source into the data home under `name`. SGD-X schemas make one corpus each, so a list comes back.

    `language` says what the utterances are written in where the layout does not know it.
    """
    if name == EMBEDDED:
        raise CorpusError(f"{EMBEDDED!r} is the embedded corpus; it needs no import", fix="choose another name")
    store.folder_of(name)  # a bad name is told before any work
    with open_source(*sources) as source:
        if within:
            source.keep(lambda file: within in f"{file.name}/")
        from dstress.corpora import sgdx

        if schemas := sgdx.read_variants(source):
            return [
                store.add_variant(f"{name}/{variant}", source.address, "sgd", by_split)
                for variant, by_split in schemas.items()
            ]
        importer = importers.create(name) if name in importers and importers.get(name).by_name else detect(source)

        def splits() -> Iterator[tuple[str, Split]]:
            for split in importer.splits(source):
                split.language = language or split.language
                yield importer.name, split

        return [store.add(name, source.address, splits(), progress, database=importer.database(source))]


def detect(source: Source) -> Importer:
    """The importer whose layout the source has."""
    for name in importers.usable():
        importer = importers.get(name)
        if importer.matches(source):
            return importer()
    inside = ", ".join(file.name for file in source.files[:5]) or "nothing"
    raise CorpusError(
        f"no known corpus layout; it holds {inside}{' ...' if len(source.files) > 5 else ''}",
        where=source.address,
        fix=f"known layouts: {', '.join(importers.targets)}; see docs/corpora.md, or add an importer of your own",
    )


def ensure_embedded(progress: Progress = lambda *_: None) -> Manifest:
    """The embedded corpus, imported at first use."""
    from dstress.corpora import reminder

    return reminder.ensure_stored(progress)


def _open_variant(entry: Manifest, split: str) -> Corpus:
    """An SGD-X variant: the base corpus's dialogues under the variant's names."""
    base = store.require_manifest(entry.derived_from)
    names = map_names(
        (store.read_schema(base.name, of_base), store.read_schema(entry.name, name))
        for name in entry.splits
        if (of_base := same_split(base.splits, name))
    )
    original = store.open_corpus(base.name, store.find_split(base, split))

    schema = store.read_schema(entry.name, split)
    variant = Corpus(entry.name, split, schema, lambda: (rename_dialogue(dialogue, names) for dialogue in original))
    variant.language, variant.size = original.language, original.size
    variant.open_database = lambda: original.database
    return variant


def _load_path(path: str, split_name: str) -> Corpus:
    """A source read in place, without importing it. A schema may lie beside a folder of dialogues."""
    paths: list[str | Path] = [path]
    if Path(path).is_dir() and not any(Path(path).rglob("schema*.json")):
        beside = (Path(path).resolve().parent / name for name in ("schema_test.json", "schema.json"))
        paths += [file for file in beside if file.is_file()][:1]
    with open_source(*paths) as source:
        importer = detect(source)
        splits = {split.name: split for split in importer.splits(source)}
        described = [decode(_DESCRIPTION, file) for file in source.named("stress.json")]
    chosen = same_split(splits, split_name or _DEFAULT_SPLIT)
    if chosen is None:
        if split_name or len(splits) > 1:
            raise unknown("split", split_name or _DEFAULT_SPLIT, splits, where=path)
        chosen = next(iter(splits))

    def read() -> Iterator[Dialogue]:
        with open_source(*paths) as source:
            split = next(split for split in detect(source).splits(source) if split.name == chosen)
            yield from read_checked(split)

    def open_database() -> Database | None:
        with open_source(*paths) as source:
            return detect(source).database(source)

    corpus = Corpus(Path(path).resolve().name, "" if chosen == UNNAMED else chosen, splits[chosen].schema, read)
    corpus.stressed, corpus.made = bool(described), made_by(described[0]) if described else {}
    corpus.language, corpus.open_database = splits[chosen].language, open_database
    if train := training_split(splits, chosen):
        corpus.train = f"{path}:{train}"
        corpus.seen = frozenset(splits[train].schema.by_name)
    elif isinstance(importer, sgd.Sgd) and Path(path).is_dir():
        # The services of the training data beside a folder of SGD's, where SGD and SGD-X have them.
        above = Path(path).resolve().parent
        trained = (above / "schema_train.json", above / "train" / "schema.json")
        if file := next(filter(Path.is_file, trained), None):
            with open_source(file) as source:
                corpus.seen = frozenset(sgd.read_schema(source.files[0]).by_name)
    return corpus


__all__ = [
    "Corpus",
    "Importer",
    "Manifest",
    "Split",
    "add",
    "catalogue",
    "detect",
    "ensure_embedded",
    "importers",
    "is_address",
    "load",
    "load_splits",
]
