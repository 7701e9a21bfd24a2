"""The data home: imported corpora, each a folder with a manifest and, per split, a schema and a dialogue a line.

Split files never change once they are there, and a file that the manifest does not name does not exist. So an import
writes aside, moves the new files in, and replaces the manifest last: whatever happens in between, the corpus is as it
was before.
"""

from __future__ import annotations

import errno
import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from dstress.corpora.base import ENGLISH, Corpus, Finder, Split
from dstress.corpora.catalogue import catalogue
from dstress.corpora.checks import read_checked
from dstress.corpora.split_names import same_split, sort_splits
from dstress.dialogue import Dialogue, Schema
from dstress.errors import CorpusError, unknown
from dstress.storage.atomic import replacing
from dstress.storage.home import home
from dstress.storage.lock import only_one

Progress = Callable[[str, int], None]
"""Told now and then: the split being read, and how many of its dialogues are done."""

_MANIFEST = "corpus.json"
_INCOMING = ".incoming-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
_REPORT_EVERY = 100
_GLANCED = 200_000
_ID = re.compile(rb'\{"id":"([^"\\]*)"')
_DIALOGUE = msgspec.json.Decoder(Dialogue)
_SCHEMA = msgspec.json.Decoder(Schema)


class SplitEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the manifest knows of a split; the checksums are those of its two files."""

    dialogues: int
    turns: int
    frames: int
    layout: str
    schema_sha256: str
    sha256: str = ""
    language: str = ENGLISH


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A corpus that is there. `derived_from` names the corpus whose dialogues it renames (SGD-X)."""

    name: str
    source: str
    splits: dict[str, SplitEntry]
    derived_from: str = ""


def folder_of(name: str) -> Path:
    """The folder of a corpus; the name is checked, so it can never lead out of the data home."""
    if not _NAME.fullmatch(name):
        raise CorpusError(
            f"{name!r} cannot name a corpus", fix="use letters, digits, dots, hyphens, and at most one slash"
        )
    return home() / "corpora" / name


def stored_names() -> list[str]:
    """The names of all corpora in the data home."""
    root = home() / "corpora"
    return sorted(path.parent.relative_to(root).as_posix() for path in root.glob(f"**/{_MANIFEST}"))


def read_manifest(name: str) -> Manifest | None:
    """A corpus's manifest, None if there is no such corpus."""
    path = folder_of(name) / _MANIFEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorpusError(
            f"the manifest is damaged: {error}",
            where=str(path),
            fix=f"`dstress corpora remove {name}`, then add it again",
        ) from None


def require_manifest(name: str) -> Manifest:
    """A corpus's manifest; an error that suggests the nearest names if there is none."""
    manifest = read_manifest(name)
    if manifest is None:
        source = name.partition("/")[0]  # sgd-x/v1 comes with sgd-x
        known = source in catalogue()
        fix = f"`dstress corpora add {source}` downloads it" if known else f"`dstress corpora add {name} PATH_OR_URL`"
        raise unknown("corpus", name, [*stored_names(), "reminder", *catalogue()], fix=fix)
    return manifest


def find_split(entry: Manifest, wanted: str) -> str:
    """The split's name as the corpus spells it: `dev`, `val` and `validation` all find the same one."""
    if name := same_split(entry.splits, wanted):
        return name
    raise unknown(f"split of {entry.name}", wanted, entry.splits, fix=f"`dstress corpora show {entry.name}` lists them")


def read_schema(name: str, split: str) -> Schema:
    """The stored schema of a split."""
    return _SCHEMA.decode((folder_of(name) / f"{split}.schema.json").read_bytes())


def open_corpus(name: str, split: str) -> Corpus:
    """A stored split; its dialogues are decoded as they are iterated."""
    path = folder_of(name) / f"{split}.jsonl"

    def read() -> Iterator[Dialogue]:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    yield _DIALOGUE.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    fix = f"`dstress corpora remove {name}`, then add it again"
                    raise CorpusError(f"damaged: {error}", where=f"{path}, line {number}", fix=fix) from None

    def finder() -> Finder:
        with path.open("rb") as lines:
            known = {match[1].decode(): (place, line) for place, line in enumerate(lines) if (match := _ID.match(line))}

        def find(wanted: str) -> tuple[int, Dialogue] | None:
            place, line = known.get(wanted, (-1, b""))
            return (place, _DIALOGUE.decode(line)) if line else None

        return find

    def lines() -> Iterator[bytes]:
        with path.open("rb") as stored:
            yield from stored

    corpus = Corpus(name, split, read_schema(name, split), read)
    entry = require_manifest(name).splits[split]
    corpus.finder, corpus.lines, corpus.size, corpus.language = finder, lines, entry.dialogues, entry.language
    with path.open("rb") as stored:  # a stressor leaves its marks from the first dialogues on
        corpus.stressed = b'"stress":{' in stored.read(_GLANCED)
    return corpus


def add(name: str, source: str, splits: Iterator[tuple[str, Split]], progress: Progress = lambda *_: None) -> Manifest:
    """Import splits, each with its layout's name. New splits join; one that is there must be the same."""
    folder = folder_of(name)
    with _only_import(folder), _aside(folder) as aside:
        before = read_manifest(name) or Manifest(name, source, {})
        entries = dict(before.splits)
        arrived = []
        for layout, split in splits:
            entry = _write_split(aside, split, layout, progress)
            known = same_split(entries, split.name)
            if known is None:
                entries[split.name] = entry
                arrived.append(split.name)
            elif (entries[known].sha256, entries[known].schema_sha256) != (entry.sha256, entry.schema_sha256):
                raise _would_change(name, known, entries[known], entry)
        after = Manifest(
            name, before.source, {split: entries[split] for split in sort_splits(entries)}, before.derived_from
        )
        commit(folder, aside, after, [f"{split}{end}" for split in arrived for end in (".schema.json", ".jsonl")])
    return after


def add_variant(name: str, source: str, base: str, schemas: dict[str, Schema]) -> Manifest:
    """Store a variant's schemas; its dialogues stay those of `base`, renamed as they are read."""
    origin = require_manifest(base)
    entries: dict[str, SplitEntry] = {}
    folder = folder_of(name)
    with _only_import(folder), _aside(folder) as aside:
        for split in sort_splits(schemas):
            data = msgspec.json.encode(schemas[split])
            (aside / f"{split}.schema.json").write_bytes(data)
            known = same_split(origin.splits, split)
            if known:
                counts = origin.splits[known]
                digest = hashlib.sha256(data).hexdigest()
                entries[split] = SplitEntry(counts.dialogues, counts.turns, counts.frames, "sgd-x", digest)
        before = read_manifest(name)
        for split, entry in entries.items():
            if before and split in before.splits and before.splits[split].schema_sha256 != entry.schema_sha256:
                raise _would_change(name, split, before.splits[split], entry)
        after = Manifest(name, source, entries, base)
        commit(folder, aside, after, [f"{split}.schema.json" for split in entries])
    return after


def commit(folder: Path, aside: Path, after: Manifest, files: list[str]) -> None:
    """Move new files in, then let the manifest name them."""
    for file in files:
        (aside / file).replace(folder / file)
    with replacing(folder / _MANIFEST) as out:
        out.write(msgspec.json.format(msgspec.json.encode(after)) + b"\n")


def remove(name: str) -> None:
    """Take a corpus out of the data home, its manifest first, so that an interruption leaves no torn corpus."""
    folder = folder_of(name)
    require_manifest(name)
    with _only_import(folder):
        (folder / _MANIFEST).unlink()
        for path in folder.iterdir():
            if path.is_file():
                path.unlink()


def _would_change(name: str, split: str, old: SplitEntry, new: SplitEntry) -> CorpusError:
    counts = (
        f"{old.dialogues:,} dialogues, {old.turns:,} turns there; {new.dialogues:,} and {new.turns:,} in the source"
    )
    return CorpusError(
        f"the corpus {name!r} already has a split {split!r} and this one is different ({counts}); nothing was changed",
        fix=f"choose another name, or `dstress corpora remove {name}` first",
    )


def _write_split(folder: Path, split: Split, layout: str, progress: Progress) -> SplitEntry:
    """Stream a split into its file; counts and checksum come from the same pass."""
    schema = msgspec.json.encode(split.schema)
    (folder / f"{split.name}.schema.json").write_bytes(schema)
    digest = hashlib.sha256()
    dialogues = turns = frames = 0
    encoder = msgspec.json.Encoder()
    with (folder / f"{split.name}.jsonl").open("wb", buffering=1 << 20) as out:
        for dialogue in read_checked(split):
            line = encoder.encode(dialogue) + b"\n"
            digest.update(line)
            out.write(line)
            dialogues += 1
            turns += len(dialogue.turns)
            frames += sum([len(turn.frames) for turn in dialogue.turns])
            if dialogues % _REPORT_EVERY == 0:
                progress(split.name, dialogues)
    progress(split.name, dialogues)
    checksums = hashlib.sha256(schema).hexdigest(), digest.hexdigest()
    return SplitEntry(dialogues, turns, frames, layout, *checksums, split.language)


@contextmanager
def _only_import(folder: Path) -> Iterator[None]:
    """One import into a corpus at a time; a second one is told, not queued. A folder that stays empty goes away."""
    # Locks stay for ever, so they lie where nobody takes them for a corpus.
    name = folder.relative_to(home() / "corpora").as_posix().replace("/", "+")
    refusal = CorpusError(f"another import into {folder.name!r} is running", fix="wait until it has ended")
    with only_one(home() / "locks" / f"{name}.lock", refusal):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            yield
        finally:
            with suppress(OSError):
                folder.rmdir()


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """A folder beside the corpus's files for what is arriving; leftovers of killed imports go away with it."""
    for stale in folder.glob(f"{_INCOMING}*"):
        shutil.rmtree(stale)
    aside = Path(tempfile.mkdtemp(prefix=_INCOMING, dir=folder))
    try:
        yield aside
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CorpusError(
                "no space left on the disk; nothing was imported",
                where=str(home()),
                fix="free some, or set DSTRESS_HOME",
            ) from error
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
