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
import shlex
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from dstress.dialogue import Dialogue, Schema
from dstress.display import Displayed
from dstress.errors import UNREADABLE_JSON, DstressError
from dstress.runs.journal import Journal
from dstress.runs.repeats import Repeats
from dstress.scoring.scorecard import Score, Scorecard, Slices, TestedDifference
from dstress.storage.atomic import replacing
from dstress.storage.file_names import file_name, legible
from dstress.storage.lock import only_one
from dstress.suites.base import ORIGINAL, Suite

if TYPE_CHECKING:  # a report needs a run folder, and nothing that makes corpora
    from dstress.corpora.database import Database

_MANIFEST, _SCORES, _DATABASE = "run.toml", "scores.json", "database"
_USAGE, _TIMING = "usage.json", "timing.json"
_DIALOGUE = msgspec.json.Decoder(Dialogue)


class _Length(msgspec.Struct):
    """As much of a dialogue as tells how long it is."""

    turns: list[msgspec.Raw]


_LENGTH = msgspec.json.Decoder(_Length)


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was asked for. `hashes` are of what the answers depend on: a run never mixes two trackers or corpora."""

    tracker: str
    corpus: str
    suite_name: str
    seed: int
    limit: int
    convention: str
    hashes: dict[str, str]
    versions: dict[str, str]
    suite: Suite
    draw: int = 0
    only: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Options of the command line that change no answer, as they were written."""
    seen: tuple[str, ...] | None = None
    """The services that the corpus's training data shows, where it is known."""
    metrics: tuple[str, ...] = ()
    """Those of a rescoring, in place of the suite's."""
    taken: str = ""
    """The part of the corpus that was given, where it was one already, as in Python `corpus[:20]` is."""
    repeats: int = 1
    """How often every turn is asked; all scores but those of `repeats` stand on the first answers."""
    started: str = ""
    """The day on which the run began, in UTC; a run that is resumed keeps it. Older runs have none."""

    @property
    def part(self) -> str:
        """Which part of the corpus was asked for, in a signature; empty for all of it."""
        asked = f"draw{self.draw}" if self.draw else f"first{self.limit}" if self.limit else ""
        return ".".join(filter(None, (self.taken, asked)))

    @property
    def tracked(self) -> str:
        """The corpus for a title: a part is never shown as the whole."""
        return ", ".join((self.corpus, *map(_in_words, filter(None, self.part.split(".")))))


def _in_words(part: str) -> str:
    """`first60` -> `the first 60 dialogues`."""
    for start, words in (("first", "the first {} dialogues"), ("draw", "{} dialogues drawn at random")):
        if part.startswith(start):
            return words.format(part.removeprefix(start))
    return f"dialogues {part}"


class Cell(msgspec.Struct, frozen=True):
    """One cell of the suite's final table; without a score where the corpus cannot give one, and why."""

    column: str
    variant: str
    metric: str
    score: Score | None = None
    missing: str = ""
    task: str = ""
    aspect: str = ""

    @property
    def measure(self) -> str:
        """The column without its task: `JGA` of `Para. JGA`."""
        return self.column.removeprefix(f"{self.task} ")


class Drop(TestedDifference, frozen=True, kw_only=True):
    """What a stressor costs: the metric under it less the original's, paired by dialogue."""

    original: float
    stressed: float


class Scores(Displayed, msgspec.Struct):
    """Every number of a run: `scores.json`."""

    _tabled_by = "dstress.reports.score_tables:tables_of_scores"

    variants: dict[str, Scorecard]
    paired: dict[str, dict[str, Score]] = {}
    across: dict[str, dict[str, Score]] = {}
    paired_slices: dict[str, Slices] = {}
    across_slices: dict[str, Slices] = {}
    drops: dict[str, Drop] = {}
    table: list[Cell] = []
    failed: dict[str, int] = {}
    usage: dict[str, float] = {}
    notes: list[str] = []
    repeats: dict[str, Repeats] = {}

    @property
    def convention(self) -> str:
        """The convention that the scores stand on; after a rescoring it is not the one that the run began with."""
        return self.variants[ORIGINAL].signature.get("conv", "exact")

    def __repr__(self) -> str:
        cells = [f"{cell.column} {cell.score.value:.4f}" for cell in self.table if cell.score]
        return f"Scores({len(self.variants)} variants: {', '.join(cells[:8])}{' ...' if cells[8:] else ''})"


class RunFolder(Displayed):
    """One run's folder. Variants are `original` and the stressors' specs."""

    _tabled_by = "dstress.reports.score_tables:tables_of_run"

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest

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
    def open(cls, path: Path) -> Self:
        """A run that is there."""
        try:
            text = (path / _MANIFEST).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            raise DstressError("there is no run", where=str(path), fix="`dstress run SUITE ...` makes one") from None
        try:
            return cls(path, msgspec.convert(tomllib.loads(text), Manifest))
        except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
            problem = f"the manifest is damaged: {error}"
            raise DstressError(problem, where=str(path / _MANIFEST), fix="run it again, into another folder") from None

    def write_manifest(self) -> None:
        """Write down what was asked for."""
        with replacing(self.path / _MANIFEST) as out:
            out.write(msgspec.toml.encode(self.manifest))

    def __repr__(self) -> str:
        manifest = self.manifest
        return f"{type(self).__name__}({self.path}: {manifest.suite_name}, {manifest.tracker} on {manifest.tracked})"

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of the corpus that were asked for, the original first."""
        return self.manifest.suite.variants

    def stressed_path(self, variant: str) -> Path:
        """Where a variant's dialogues are."""
        return self._file("stressed", variant)

    def _file(self, folder: str, variant: str) -> Path:
        """A variant's file; in a run from before names had hashes, the one that no other variant can have written."""
        earlier = self.path / folder / f"{legible(variant)[:100]}.jsonl"
        alone = all(legible(other)[:100] != legible(variant)[:100] for other in {*self.variants} - {variant})
        return earlier if alone and earlier.exists() else self.path / folder / f"{file_name(variant)}.jsonl"

    def schema(self, variant: str) -> Schema:
        """A variant's schema."""
        path = self.stressed_path(variant).with_suffix(".schema.json")
        with self._reading(path):
            return msgspec.json.decode(path.read_bytes(), type=Schema)

    @property
    def database(self) -> Database | None:
        """The tables behind the corpus's services, None where it has none."""
        from dstress.corpora.database import TABLE_ENDING, read_database

        return read_database(sorted((self.path / _DATABASE).glob(f"*{TABLE_ENDING}")))

    def write_database(self, database: Database) -> None:
        """Keep the tables, which responses are judged by."""
        (self.path / _DATABASE).mkdir(exist_ok=True)
        database.write(self.path / _DATABASE)

    def dialogues(self, variant: str) -> Iterator[Dialogue]:
        """A variant's dialogues, as they are read."""
        path = self.stressed_path(variant)
        with self._reading(path), path.open("rb") as lines:
            for line in lines:
                yield _DIALOGUE.decode(line)

    def count_turns(self, variant: str) -> int:
        """How many turns a variant has."""
        path = self.stressed_path(variant)
        with self._reading(path), path.open("rb") as lines:
            return sum(len(_LENGTH.decode(line).turns) for line in lines)

    def quality(self, variant: str) -> dict[str, Any]:
        """What the stressor did: the summary that was written with the dialogues; empty for the original."""
        path = self.stressed_path(variant).with_suffix(".json")
        with self._reading(path):
            return msgspec.json.decode(path.read_bytes(), type=dict[str, Any]) if path.exists() else {}

    @contextmanager
    def _reading(self, path: Path, fix: str = "") -> Iterator[None]:
        """What somebody cut off or took away is said in words, with the way back."""
        fix = fix or f"remove {self.path / 'stressed'} and go on with --resume: the answers are kept"
        try:
            yield
        except FileNotFoundError:
            raise DstressError("the run has lost this file", where=str(path), fix=fix) from None
        except UNREADABLE_JSON as error:
            raise DstressError(f"the file is damaged: {error}", where=str(path), fix=fix) from None

    def write_stressed(
        self, variant: str, dialogues: Iterable[Dialogue], schema: Schema, describe: Callable[[], dict[str, Any]]
    ) -> None:
        """Write a variant; the description, which is asked for when all dialogues have passed, comes last."""
        path = self.stressed_path(variant)
        with replacing(path) as lines:
            for dialogue in dialogues:
                lines.write(msgspec.json.encode(dialogue) + b"\n")
        with replacing(path.with_suffix(".schema.json")) as out:
            out.write(msgspec.json.encode(schema))
        with replacing(path.with_suffix(".json")) as out:
            out.write(msgspec.json.format(msgspec.json.encode(describe()), indent=2) + b"\n")

    def share_corpus(self, path: Path) -> None:
        """Give this run's dialogues and tables to another run, in `path`, unless it has some of its own."""
        path.mkdir(parents=True, exist_ok=True)
        for name in (_DATABASE, "stressed"):
            if (self.path / name).is_dir() and not (path / name).exists():
                with tempfile.TemporaryDirectory(dir=path) as folder:  # whole or not there
                    Path(shutil.copytree(self.path / name, Path(folder) / name)).rename(path / name)

    def predictions_path(self, variant: str, repeat: int = 1) -> Path:
        """Where the answers to a variant are."""
        return self._file("predictions" if repeat == 1 else f"predictions-{repeat}", variant)

    def journal(self, variant: str, repeat: int = 1) -> Journal:
        """The answers to a variant, so far."""
        return Journal(self.predictions_path(variant, repeat))

    @property
    def usage(self) -> dict[str, float]:
        """What the answers have cost so far, over all resumes; empty for a tracker that counts nothing."""
        return self._counts(_USAGE)

    def add_usage(self, cost: Mapping[str, float]) -> None:
        """Add to what the answers have cost."""
        self._add_counts(_USAGE, cost)

    @property
    def timing(self) -> dict[str, float]:
        """How long the tracker was at work and for how many turns, over all resumes; empty where nobody counted."""
        return self._counts(_TIMING)

    def add_timing(self, more: Mapping[str, float]) -> None:
        """Add to the time that the answers took."""
        self._add_counts(_TIMING, more)

    def _counts(self, name: str) -> dict[str, float]:
        path = self.path / name
        with self._reading(path, "remove it: what was counted until now is forgotten, and nothing else"):
            return msgspec.json.decode(path.read_bytes(), type=dict[str, float]) if path.exists() else {}

    def _add_counts(self, name: str, more: Mapping[str, float]) -> None:
        if more:
            with replacing(self.path / name) as out:
                out.write(msgspec.json.encode(Counter(self._counts(name)) + Counter(more), order="sorted") + b"\n")

    @property
    def scores(self) -> Scores:
        """Every number."""
        path = self.path / _SCORES
        if not path.exists():
            fix = f"go on with `dstress run --resume --out {shlex.quote(str(self.path))}`"
            raise DstressError("the run has no scores yet", where=str(self.path), fix=fix)
        with self._reading(path, "`dstress rescore` writes it anew"):
            return msgspec.convert(_with_undefined(msgspec.json.decode(path.read_bytes())), Scores)

    def write_scores(self, scores: Scores) -> None:
        """Write every number, whole or not at all."""
        with replacing(self.path / _SCORES) as out:
            out.write(msgspec.json.format(msgspec.json.encode(scores), indent=2) + b"\n")


@contextmanager
def hold_run(path: Path) -> Iterator[None]:
    """Nobody else may work in a run's folder meanwhile, also before there is a run."""
    refusal = DstressError(
        "another process is at work on this run", where=str(path), fix="wait for it, or give another --out"
    )
    try:
        with only_one(path / ".lock", refusal):
            for torn in path.glob("*/.*.part"):  # what a killed process was writing
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


def require_answers(run: RunFolder, variant: str, most: float, repeat: int = 1) -> None:
    """Refuse a variant of which more than a share of the turns has no answer."""
    journal = run.journal(variant, repeat)
    share = journal.failed / max(1, journal.failed + journal.answered)
    if share > most:
        reason = next((answer.failed for answer in journal if answer.failed), "")
        raise DstressError(
            f"{journal.failed:,} turns ({100 * share:.1f} %) of {variant} have no answer, the first for: {reason}",
            where=str(run.path),
            fix=f"mend the tracker and go on with --resume, or allow more than {100 * most:g} % with --max-failed",
        )


def _with_undefined(written: Any) -> Any:
    """JSON has no "not a number": in a score, null stands for a value that is undefined."""
    if isinstance(written, dict):
        scored = written.keys() >= {"value", "low", "high"} or written.keys() >= {"difference", "low", "high"}
        return {
            name: float("nan") if scored and value is None else _with_undefined(value)
            for name, value in written.items()
        }
    return [_with_undefined(value) for value in written] if isinstance(written, list) else written


__all__ = ["ORIGINAL", "Cell", "Drop", "Manifest", "RunFolder", "Scores", "hold_run", "is_run", "require_answers"]
