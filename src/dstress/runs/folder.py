"""The run folder: all that a run is and did, so that it can be resumed, scored anew, reported, and made again.

    run.toml             what was asked for: suite, tracker, corpus, seed; versions; what the answers depend on, hashed
    stressed/*.jsonl     the corpus as it is and under each stressor, with its schema and a summary of what changed
    database/*.json      the tables behind the corpus's services, where it has any
    predictions/*.jsonl  the tracker's answers, a line each; predictions-2 and so on where every turn is asked again
    usage.json           what the answers cost, where the tracker counts it: tokens, requests, money
    timing.json          how long the tracker took for how many turns: all that differs when a run is made again
    scores.json          every number
    report.html          the numbers to look at

Files are whole or not there, but for the answers, which are added as they come (`dstress.runs.journal`).
"""

from __future__ import annotations

import errno
import hashlib
import shlex
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict

import msgspec

from dstress.dialogue import Dialogue, Schema
from dstress.display import Displayed
from dstress.errors import UNREADABLE_JSON, DstressError
from dstress.runs.journal import Journal
from dstress.runs.records import Cell, Drop, Manifest, Scores, with_undefined
from dstress.runs.suites.base import ORIGINAL
from dstress.schema_names import seen_by_variant
from dstress.storage.atomic import replacing
from dstress.storage.file_names import file_name
from dstress.storage.lock import only_one

if TYPE_CHECKING:  # a report needs a run folder, and nothing that makes corpora
    from dstress.corpora.base import Corpus
    from dstress.corpora.database import Database
    from dstress.stressors import Composition

_MANIFEST, _SCORES, _DATABASE = "run.toml", "scores.json", "database"
_USAGE, _TIMING = "usage.json", "timing.json"
_DIALOGUE = msgspec.json.Decoder(Dialogue)


class _Length(msgspec.Struct):
    """As much of a dialogue as tells how long it is."""

    turns: list[msgspec.Raw]


_LENGTH = msgspec.json.Decoder(_Length)


class _Quality(TypedDict, total=False):
    """As much of a quality summary as reports read."""

    turns: int
    changed: int
    words: int
    substituted: int
    deleted: int
    inserted: int
    values: int
    values_still_said: int
    fallbacks: dict[str, int]
    tags: dict[str, int]
    distinct: dict[str, tuple[float, float]]
    figures: dict[str, float]
    similarity: float | None


class _Description(TypedDict, total=False):
    """The same of a stressed corpus's description: another shape is damage."""

    stressor: str
    seed: int
    dstress: str
    plugins: str
    effect: str
    scope: str
    quality: _Quality


class Variant:
    """One version of a run's corpus, the original or the corpus under a stressor, and the answers to it.

    A run makes each variant once (`RunFolder.variant`), so that its schema is read and its answers are indexed once.
    """

    def __init__(self, run: RunFolder, spec: str) -> None:
        self.run, self.spec = run, spec
        self.path = run.file_of("stressed", spec)
        """Its dialogues."""
        self._journals: dict[int, Journal] = {}

    def __reduce__(self) -> Any:
        # Another process opens files of its own.
        return RunFolder.variant, (self.run, self.spec)

    def __repr__(self) -> str:
        return f"Variant({self.spec} of {self.run.path})"

    @cached_property
    def stressor(self) -> Composition | None:
        """The stressor that makes it, not yet prepared; None for the original."""
        from dstress.stressors import create

        return None if self.spec == ORIGINAL else create(self.spec)

    @cached_property
    def clean(self) -> Variant:
        """The variant whose utterances are the history of this one's turns: without its stressors of single turns."""
        if self.stressor is None:
            return self
        wider = [part.spec for part in self.stressor.parts if part.scope != "turn"]
        return self.run.variant("+".join(wider) or ORIGINAL)

    @cached_property
    def schema(self) -> Schema:
        """The schema under which its dialogues are labelled."""
        path = self.path.with_suffix(".schema.json")
        with self.run.reading(path):
            return msgspec.json.decode(path.read_bytes(), type=Schema)

    @cached_property
    def quality(self) -> dict[str, Any]:
        """What the stressor did: the summary that was written with the dialogues; empty for the original."""
        path = self.path.with_suffix(".json")
        with self.run.reading(path):
            if not path.exists():
                return {}
            content = path.read_bytes()
            msgspec.json.decode(content, type=_Description)
            return msgspec.json.decode(content, type=dict[str, Any])

    @property
    def has_own_schema(self) -> bool:
        """Whether it has another schema than the original: it then differs throughout, also where turns look alike."""
        return bool(self.quality.get("scope") == "schema")

    def dialogues(self) -> Iterator[Dialogue]:
        """Its dialogues, as they are read."""
        with self.run.reading(self.path), self.path.open("rb") as lines:
            for line in lines:
                yield _DIALOGUE.decode(line)

    @cached_property
    def turns(self) -> int:
        """How many turns it has."""
        with self.run.reading(self.path), self.path.open("rb") as lines:
            return sum(len(_LENGTH.decode(line).turns) for line in lines)

    def corpus(self) -> Corpus:
        """The dialogues as a corpus."""
        from dstress.corpora.base import Corpus, made_by

        manifest, original = self.run.manifest, self.run.variant(ORIGINAL)
        name, _, split = manifest.corpus.rpartition(":")
        corpus = Corpus(name if self is original else f"{name}+{self.spec}", split, self.schema, self.dialogues)
        corpus.part = manifest.part
        corpus.stressed, corpus.made = self is not original, made_by(self.quality)
        corpus.seen = seen_by_variant(manifest.seen, original.schema, self.schema)
        corpus.open_database = lambda: self.run.database
        return corpus

    def write(self, dialogues: Iterable[Dialogue], schema: Schema, describe: Callable[[], dict[str, Any]]) -> None:
        """Write its files; the description, which is asked for when all dialogues have passed, comes last.

        It says that the others are whole.
        """
        turns = 0
        with replacing(self.path) as lines:
            for dialogue in dialogues:
                lines.write(msgspec.json.encode(dialogue) + b"\n")
                turns += len(dialogue.turns)
        written = msgspec.json.encode(schema)
        with replacing(self.path.with_suffix(".schema.json")) as out:
            out.write(written)
        description = msgspec.json.encode(describe())
        with replacing(self.path.with_suffix(".json")) as out:
            out.write(msgspec.json.format(description, indent=2) + b"\n")
        self.turns, self.quality = turns, msgspec.json.decode(description)
        self.schema = msgspec.json.decode(written, type=Schema)

    def predictions_path(self, repeat: int = 1) -> Path:
        """Where the answers are."""
        return self.run.file_of("predictions" if repeat == 1 else f"predictions-{repeat}", self.spec)

    def journal(self, repeat: int = 1) -> Journal:
        """The answers so far."""
        journal = self._journals.get(repeat)
        if journal is None or not journal.is_current():
            if journal is not None:
                journal.close()
            journal = self._journals[repeat] = Journal(self.predictions_path(repeat))
        return journal

    def close(self) -> None:
        """Close every file of answers; they are opened again where they are read."""
        for journal in self._journals.values():
            journal.close()


class RunFolder(Displayed):
    """One run's folder. Variants are `original` and the stressors' specs."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest
        self._variants: dict[str, Variant] = {}

    def __reduce__(self) -> Any:
        # Another process opens journals of its own.
        return type(self), (self.path, self.manifest)

    @classmethod
    def create(cls, path: Path, manifest: Manifest) -> Self:
        """A new run; the folder must not hold one."""
        if (path / _MANIFEST).exists():
            raise DstressError(
                "there is a run already", where=str(path), fix="go on with --resume, or give another --out"
            )
        run = cls(path, manifest)
        run.write_manifest()
        return run

    @classmethod
    def open(cls, path: Path, *, checked: bool = True) -> Self:
        """A run that is there; unless `checked` is false, none of its files may have been edited."""
        try:
            text = (path / _MANIFEST).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise DstressError("there is no run", where=str(path), fix="`dstress run SUITE ...` makes one") from None
        try:
            run = cls(path, msgspec.convert(tomllib.loads(text.decode()), Manifest))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
            problem = f"the manifest is damaged: {error}"
            raise DstressError(problem, where=str(path / _MANIFEST), fix="run it again, into another folder") from None
        if checked:
            run.require_unchanged()
        return run

    def write_manifest(self) -> None:
        """Write down what was asked for."""
        with replacing(self.path / _MANIFEST) as out:
            out.write(msgspec.toml.encode(self.manifest))

    def seal(self, *paths: Path) -> None:
        """Note down what files hold that are whole now, so that a later change of them is noticed."""
        files = self.manifest.files | {path.relative_to(self.path).as_posix(): _hash(path) for path in paths}
        self.manifest = msgspec.structs.replace(self.manifest, files=dict(sorted(files.items())))
        self.write_manifest()

    def unseal(self, *folders: str) -> None:
        """Let files change, by their names or the beginnings of them, since they are about to be written."""
        files = {name: digest for name, digest in self.manifest.files.items() if not name.startswith(folders)}
        if files != self.manifest.files:
            self.manifest = msgspec.structs.replace(self.manifest, files=files)
            self.write_manifest()

    def require_unchanged(self, *, scores: bool = True) -> None:
        """Refuse a run of which a file was edited: its parts would not belong together. Without `scores`, not those.

        A file that is gone is made again, or missed where it is read.
        """
        for name, digest in self.manifest.files.items():
            path = self.path / name
            if (name == _SCORES and not scores) or not path.exists() or _hash(path) == digest:
                continue
            if name == _SCORES:
                fix = f"`dstress rescore {shlex.quote(str(self.path))}` computes it anew"
            else:
                fix = "restore it, or remove it and go on with `dstress run --resume`, which makes it again"
            raise DstressError("the file has changed since the run wrote it", where=str(path), fix=fix)

    def __repr__(self) -> str:
        manifest = self.manifest
        return f"{type(self).__name__}({self.path}: {manifest.suite_name}, {manifest.tracker} on {manifest.tracked})"

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of the corpus that were asked for, the original first."""
        return self.manifest.suite.variants

    def variant(self, spec: str) -> Variant:
        """One variant by its spec, also one that the suite does not name; always the same object."""
        return self._variants.get(spec) or self._variants.setdefault(spec, Variant(self, spec))

    def file_of(self, folder: str, variant: str) -> Path:
        """A variant's file in one of the run's folders."""
        return self.path / folder / f"{file_name(variant)}.jsonl"

    @property
    def database(self) -> Database | None:
        """The tables behind the corpus's services, None where it has none."""
        from dstress.corpora.database import TABLE_ENDING, read_database

        return read_database(sorted((self.path / _DATABASE).glob(f"*{TABLE_ENDING}")))

    def write_database(self, database: Database) -> None:
        """Keep the tables, which responses are judged by."""
        (self.path / _DATABASE).mkdir(exist_ok=True)
        database.write(self.path / _DATABASE)

    @contextmanager
    def reading(self, path: Path, fix: str = "") -> Iterator[None]:
        """What somebody cut off or took away is said in words, with the way back."""
        fix = fix or f"remove {self.path / 'stressed'} and go on with --resume: the answers are kept"
        try:
            yield
        except FileNotFoundError:
            raise DstressError("the run has lost this file", where=str(path), fix=fix) from None
        except UNREADABLE_JSON as error:
            raise DstressError(f"the file is damaged: {error}", where=str(path), fix=fix) from None

    def share_corpus(self, path: Path) -> None:
        """Give this run's dialogues and tables to another run, in `path`, unless it has some of its own."""
        path.mkdir(parents=True, exist_ok=True)
        for name in (_DATABASE, "stressed"):
            if (self.path / name).is_dir() and not (path / name).exists():
                with tempfile.TemporaryDirectory(dir=path) as folder:  # whole or not there
                    Path(shutil.copytree(self.path / name, Path(folder) / name)).rename(path / name)

    def close(self) -> None:
        """Close every file of answers; they are opened again where they are read."""
        for variant in self._variants.values():
            variant.close()

    @property
    def usage(self) -> dict[str, float]:
        """What the answers have cost so far, over all resumes; empty for a tracker that counts nothing."""
        return self._counts(_USAGE)

    @property
    def timing(self) -> dict[str, float]:
        """How long the tracker was at work and for how many turns, over all resumes; empty where nobody counted."""
        return self._counts(_TIMING)

    def add_costs(self, usage: Mapping[str, float], timing: Mapping[str, float]) -> None:
        """Add to what the answers have cost, and to the time that they took."""
        for name, more in ((_USAGE, usage), (_TIMING, timing)):
            if more:
                with replacing(self.path / name) as out:
                    out.write(msgspec.json.encode(Counter(self._counts(name)) + Counter(more), order="sorted") + b"\n")

    def _counts(self, name: str) -> dict[str, float]:
        path = self.path / name
        with self.reading(path, "remove it: what was counted until now is forgotten, and nothing else"):
            return msgspec.json.decode(path.read_bytes(), type=dict[str, float]) if path.exists() else {}

    @property
    def scores(self) -> Scores:
        """Every number."""
        path = self.path / _SCORES
        if not path.exists():
            fix = f"go on with `dstress run --resume --out {shlex.quote(str(self.path))}`"
            raise DstressError("the run has no scores yet", where=str(self.path), fix=fix)
        with self.reading(path, "`dstress rescore` writes it anew"):
            scores = msgspec.convert(with_undefined(msgspec.json.decode(path.read_bytes())), Scores)
            if ORIGINAL not in scores.variants:
                raise msgspec.ValidationError(f"there are no scores of the variant {ORIGINAL}")
            return scores

    def write_scores(self, scores: Scores) -> None:
        """Write every number, whole or not at all."""
        self.unseal(_SCORES)
        with replacing(self.path / _SCORES) as out:
            out.write(msgspec.json.format(msgspec.json.encode(scores), indent=2) + b"\n")
        self.seal(self.path / _SCORES)


def _hash(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


@contextmanager
def hold_run(path: Path) -> Iterator[None]:
    """Nobody else may work in a run's folder meanwhile, also before there is a run."""
    refusal = DstressError(
        "another process is at work on this run", where=str(path), fix="wait for it, or give another --out"
    )
    try:
        with only_one(path / ".lock", refusal):
            for torn in path.rglob(".*.part"):  # what a killed process was writing
                torn.unlink()
            yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        fix = "make room, then go on with --resume: what is whole is kept"
        raise DstressError("the disk is full", where=str(path), fix=fix) from error


def is_run(path: Path) -> bool:
    """Whether a folder holds a run."""
    return (path / _MANIFEST).is_file()


def require_answers(variant: Variant, most: float, repeat: int = 1) -> None:
    """Refuse a variant of which more than a share of the turns has no answer."""
    journal = variant.journal(repeat)
    share = journal.failed / max(1, journal.failed + journal.answered)
    if share > most:
        reason = next((answer.failed for answer in journal if answer.failed), "")
        raise DstressError(
            f"{journal.failed:,} turns ({100 * share:.1f} %) of {variant.spec} have no answer, the first for: {reason}",
            where=str(variant.run.path),
            fix=f"fix the tracker and go on with --resume, or allow more than {100 * most:g} % with --max-failed",
        )


__all__ = [
    "ORIGINAL",
    "Cell",
    "Drop",
    "Manifest",
    "RunFolder",
    "Scores",
    "Variant",
    "hold_run",
    "is_run",
    "require_answers",
]
