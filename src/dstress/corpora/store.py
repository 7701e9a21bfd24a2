"""The data home: imported corpora, each a folder with a manifest and, per split, a schema and a dialogue a line.

The tables behind the services, where a source has them, lie beside the splits, a file each.

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
from functools import lru_cache
from pathlib import Path

import msgspec

from dstress.corpora.base import ENGLISH, Corpus, Split, hash_line
from dstress.corpora.catalogue import catalogue
from dstress.corpora.checks import read_checked
from dstress.corpora.database import Database, read_database, table_file
from dstress.corpora.split_names import same_split, sort_splits
from dstress.dialogue import Dialogue, Schema
from dstress.errors import UNREADABLE_JSON, CorpusError, unknown
from dstress.storage.atomic import replacing
from dstress.storage.file_names import file_name
from dstress.storage.home import home
from dstress.storage.lock import only_one

Progress = Callable[[str, int], None]
"""Told now and then: the split being read, and how many of its dialogues are done."""

_MANIFEST = "corpus.json"
_INCOMING = ".incoming-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}(/[A-Za-z0-9][A-Za-z0-9._-]{0,79})?")
_REPORT_EVERY = 100
_GLANCED = 200_000
_DIALOGUE = msgspec.json.Decoder(Dialogue)
_SCHEMA = msgspec.json.Decoder(Schema)


class SplitEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the manifest knows of a split; the checksums are those of its two files, `content` is `Corpus.content`."""

    dialogues: int
    turns: int
    frames: int
    layout: str
    schema_sha256: str
    sha256: str = ""
    language: str = ENGLISH
    stressed: bool = False
    content: str = ""


class Selection(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which dialogues of another corpus a corpus has: the rule in words, the seed, and their ids by split."""

    corpus: str
    rule: str
    seed: int
    ids: dict[str, list[str]]
    notes: tuple[str, ...] = ()
    """What the rule could not give as it was asked for, such as a size."""

    def __str__(self) -> str:
        return f"drawn from {self.corpus}, seed {self.seed}"


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A corpus that is there. `derived_from` names the corpus whose dialogues it renames (SGD-X).

    `tables` are the services that a table lies behind, with the checksums of their files.
    """

    name: str
    source: str
    splits: dict[str, SplitEntry]
    derived_from: str = ""
    tables: dict[str, str] = {}
    selection: Selection | None = None


def folder_of(name: str) -> Path:
    """The folder of a corpus; the name is checked, so it can never lead out of the data home."""
    if not _NAME.fullmatch(name):
        raise CorpusError(
            f"{name!r} cannot name a corpus",
            fix="use up to 80 letters, digits, dots and hyphens, and at most one slash",
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
    except UNREADABLE_JSON as error:
        raise _damaged(name, f"the manifest is damaged: {error}", str(path)) from None


def is_stored(name: str) -> bool:
    """Whether a text names a corpus in the data home; a path such as `./sgd` never does."""
    return bool(_NAME.fullmatch(name)) and (folder_of(name) / _MANIFEST).is_file()


def require_manifest(name: str) -> Manifest:
    """A corpus's manifest; an error that suggests the nearest names if there is none."""
    manifest = read_manifest(name)
    if manifest is None:
        source = name.partition("/")[0]  # sgd-x/v1 comes with sgd-x
        fix = f"`dstress corpora add {name} PATH_OR_URL`"
        if source in catalogue():
            fix = f"`dstress corpora add {source}` downloads it"
        raise unknown("corpus", name, [*stored_names(), "reminder", *catalogue()], fix=fix)
    return manifest


def find_split(entry: Manifest, split: str) -> str:
    """The split's name as the corpus spells it: `dev`, `val` and `validation` all find the same one."""
    if name := same_split(entry.splits, split):
        return name
    raise unknown(f"split of {entry.name}", split, entry.splits, fix=f"`dstress corpora show {entry.name}` lists them")


def schema_file(split: str) -> str:
    """What the file of a split's schema is called."""
    return f"{file_name(split)}.schema.json"


def dialogue_file(split: str) -> str:
    """What the file of a split's dialogues is called."""
    return f"{file_name(split)}.jsonl"


def stored_database(name: str, split: str = "") -> Database | None:
    """The stored tables of a corpus, without the rows whose column `splits` names other splits than this one."""
    tables = require_manifest(name).tables
    database = read_database(require_intact(name, table_file(service), tables[service]) for service in tables)
    if database is None:
        return None
    of_split = {}
    for service, rows in database.tables.items():
        kept = (row for row in rows if not split or "splits" not in row or split in row["splits"].split())
        of_split[service] = [{column: v for column, v in row.items() if column != "splits"} for row in kept]
    return Database(of_split)


def read_schema(name: str, split: str) -> Schema:
    """The stored schema of a split."""
    path = require_intact(name, schema_file(split), require_manifest(name).splits[split].schema_sha256)
    return _SCHEMA.decode(path.read_bytes())


def require_intact(name: str, file: str, sha256: str) -> Path:
    """A file of a stored corpus, which must be as it was imported: one changed value would change every score."""
    path = folder_of(name) / file
    try:
        stat = path.stat()
        if _sha256(path, stat.st_ino, stat.st_size, stat.st_mtime_ns) != sha256:
            raise _damaged(name, "the file has changed since it was imported", str(path))
    except FileNotFoundError:
        raise _damaged(name, "the file is gone", str(path)) from None
    return path


@lru_cache(maxsize=256)
def _sha256(path: Path, *_: int) -> str:
    """A file's checksum, computed once in a process while its number, size and time stay the same."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _damaged(name: str, problem: str, where: str) -> CorpusError:
    again = "it is made again at its next use" if name == "reminder" else "add it again"
    return CorpusError(problem, where=where, fix=f"`dstress corpora remove {name}`, then {again}")


def open_corpus(name: str, split: str) -> Corpus:
    """A stored split; its dialogues are decoded as they are iterated."""
    entry = require_manifest(name).splits[split]
    path = require_intact(name, dialogue_file(split), entry.sha256)

    def read() -> Iterator[Dialogue]:
        with path.open("rb") as stored:
            for number, line in enumerate(stored, start=1):
                try:
                    yield _DIALOGUE.decode(line)
                except UNREADABLE_JSON as error:
                    raise _damaged(name, f"damaged: {error}", f"{path}, line {number}") from None

    corpus = Corpus(name, split, read_schema(name, split), read)
    corpus.size, corpus.language = entry.dialogues, entry.language
    corpus.content = int(entry.content, 16) if entry.content else None  # an older manifest does not tell
    corpus.open_database = lambda: stored_database(name, split)
    with path.open("rb") as stored:  # nor this; most stressors leave marks early
        corpus.stressed = entry.stressed or b'"stress":{' in stored.read(_GLANCED)
    return corpus


def add(
    name: str,
    source: str | Selection,
    splits: Iterator[tuple[str, Split]],
    progress: Progress = lambda *_: None,
    *,
    generated: bool = False,
    database: Database | None = None,
) -> Manifest:
    """Import splits, each with its layout's name, and tables. New ones join; one that is there must be the same.

    A source of `generated` dialogues tells their content: from the same one nothing is read again, another is replaced.
    """
    with _arriving(name, progress) as aside:
        before = read_manifest(name)
        if generated and before and before.source == str(source) and before.splits:
            return before
        if generated or before is None:
            before = Manifest(name, str(source), {})
        entries = dict(before.splits)
        files = []
        for layout, split in splits:
            entry = _write_split(aside, split, layout, progress)
            stored = same_split(entries, split.name)
            if stored is None:
                entries[split.name] = entry
                files += [schema_file(split.name), dialogue_file(split.name)]
            elif (entries[stored].sha256, entries[stored].schema_sha256) != (entry.sha256, entry.schema_sha256):
                raise _would_change(name, stored, entries[stored], entry)
        written = database.write(aside) if database else {}
        tables = {service: hashlib.sha256(path.read_bytes()).hexdigest() for service, path in written.items()}
        if changed := [service for service in tables if before.tables.get(service, tables[service]) != tables[service]]:
            raise CorpusError(
                f"the corpus {name!r} already has a table of {changed[0]!r} and this one is different",
                fix=f"choose another name, or `dstress corpora remove {name}` first",
            )
        after = msgspec.structs.replace(
            before,
            splits={split: entries[split] for split in sort_splits(entries)},
            tables=before.tables | tables,
            selection=source if isinstance(source, Selection) else before.selection,
        )
        _commit(aside, after, files + [table_file(service) for service in tables])
    return after


def add_variant(name: str, source: str, base: str, schemas: dict[str, Schema]) -> Manifest:
    """Store a variant's schemas; its dialogues stay those of `base`, renamed as they are read."""
    origin = require_manifest(base)
    entries: dict[str, SplitEntry] = {}
    with _arriving(name) as aside:
        for split in sort_splits(schemas):
            if of_base := same_split(origin.splits, split):
                data = msgspec.json.encode(schemas[split])
                (aside / schema_file(split)).write_bytes(data)
                counts = origin.splits[of_base]
                digest = hashlib.sha256(data).hexdigest()
                entries[split] = SplitEntry(counts.dialogues, counts.turns, counts.frames, "sgd-x", digest)
        before = read_manifest(name)
        for split, entry in entries.items():
            if before and split in before.splits and before.splits[split].schema_sha256 != entry.schema_sha256:
                raise _would_change(name, split, before.splits[split], entry)
        after = Manifest(name, source, entries, base)
        _commit(aside, after, [schema_file(split) for split in entries])
    return after


def _commit(aside: Path, after: Manifest, files: list[str]) -> None:
    """Move new files in, then let the manifest name them."""
    folder = folder_of(after.name)
    for file in files:
        (aside / file).replace(folder / file)
    with replacing(folder / _MANIFEST) as out:
        out.write(msgspec.json.format(msgspec.json.encode(after)) + b"\n")


def remove(name: str) -> None:
    """Take a corpus, also a damaged one, out of the data home; its manifest first, so that none is ever torn."""
    folder = folder_of(name)
    if not (folder / _MANIFEST).exists():
        require_manifest(name)
    with _only_import(folder):
        (folder / _MANIFEST).unlink(missing_ok=True)  # somebody else may have been quicker
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
    (folder / schema_file(split.name)).write_bytes(schema)
    digest = hashlib.sha256()
    dialogues = turns = frames = content = 0
    stressed = False
    encoder = msgspec.json.Encoder()
    with (folder / dialogue_file(split.name)).open("wb", buffering=1 << 20) as out:
        for dialogue in read_checked(split):
            line = encoder.encode(dialogue)
            content += hash_line(line)
            line += b"\n"
            digest.update(line)
            out.write(line)
            dialogues += 1
            turns += len(dialogue.turns)
            stressed = stressed or any(turn.stress for turn in dialogue.turns)
            frames += sum([len(turn.frames) for turn in dialogue.turns])
            if dialogues % _REPORT_EVERY == 0:
                progress(split.name, dialogues)
    progress(split.name, dialogues)
    checksums = hashlib.sha256(schema).hexdigest(), digest.hexdigest()
    return SplitEntry(dialogues, turns, frames, layout, *checksums, split.language, stressed, f"{content:x}")


@contextmanager
def _only_import(folder: Path, progress: Progress = lambda *_: None) -> Iterator[None]:
    """One import into a corpus at a time; others wait. A folder that stays empty goes away."""
    # Locks stay for ever, so they lie where nobody takes them for a corpus.
    name = folder.relative_to(home() / "corpora").as_posix().replace("/", "+")
    waiting = f"waiting for another import into {folder.name}"
    with only_one(home() / "locks" / f"{name}.lock", on_wait=lambda: progress(waiting, 0)):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            yield
        finally:
            with suppress(OSError):
                folder.rmdir()


@contextmanager
def _arriving(name: str, progress: Progress = lambda *_: None) -> Iterator[Path]:
    """A folder beside the corpus's files for what is arriving; leftovers of killed imports go away with it."""
    folder = folder_of(name)
    with _only_import(folder, progress):
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
