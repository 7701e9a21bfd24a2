"""A benchmark's folder: private gold, the key that leads from public ids to it, and the inputs that anybody may have.

key.json             what is asked, and under which public id
gold/                a run folder: the corpus as it is and under each stressor, with labels
inputs/*.jsonl       the public dialogues of each part, to check submissions against
public/*.zip         the same in each layout, to download; nothing else of the folder may leave the server
"""

from __future__ import annotations

import secrets
import shutil
import zipfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import IO

import msgspec

from dstress.conventions import conventions
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.corpora.catalogue import catalogue
from dstress.errors import UNREADABLE_JSON, DstressError, unknown
from dstress.leaderboard.benchmarks.inputs import Case, list_cases, part_names, public_corpus, write_archives
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import OnProgress, RunOptions
from dstress.runs.folder import RunFolder
from dstress.runs.suites import Suite
from dstress.runs.suites import load as load_suite
from dstress.scoring.metrics import metrics, pair_metrics, variant_metrics
from dstress.spec import parse
from dstress.storage.atomic import replacing
from dstress.storage.sources import open_source, unpacking_at_most

_OWN = {"reminder": "Apache-2.0, like dstress itself"}
_NEVER_LEAVES = ("predictions", "scores.json")
"""What the perfect tracker leaves in the gold's run, which shows only that the benchmark can be answered."""


class Plan(msgspec.Struct, frozen=True):
    """What a benchmark is made of. Without metrics or conventions, those of the suite."""

    suite: str
    corpus: str
    title: str
    seed: int = 1
    limit: int = 0
    draw: int = 0
    metrics: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()
    tell_services: bool | None = None
    """Whether trackers are told what a dialogue is about; left out: as the convention's script does."""


class Key(msgspec.Struct, frozen=True):
    """What is asked, and how it is scored."""

    title: str
    licence: str
    conventions: tuple[str, ...]
    parts: tuple[str, ...]
    cases: tuple[Case, ...]
    floors: dict[str, dict[str, float]] = {}
    """View -> column -> the floor of its combined score (`floors.add_floors`)."""


class Package:
    """A benchmark that is there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def key(self) -> Key:
        """What is asked; private."""
        return msgspec.json.decode((self.path / "key.json").read_bytes(), type=Key)

    @cached_property
    def gold(self) -> RunFolder:
        """The labels; private."""
        return RunFolder.open(self.path / "gold")

    @cached_property
    def inputs(self) -> dict[str, Corpus]:
        """The public dialogues by part."""
        parts = part_names(self.gold)
        schemas = {part: self.gold.variant(variant).schema for variant, part in reversed(parts.items())}
        folder, gold = self.path / "inputs", self.gold
        return {
            part: public_corpus(folder / f"{part}.jsonl", schemas[part], lambda: gold.database)
            for part in self.key.parts
        }

    @property
    def suite(self) -> Suite:
        """What is measured."""
        return self.gold.manifest.suite

    @property
    def archives(self) -> dict[str, Path]:
        """The inputs to download, by layout."""
        return {path.stem: path for path in sorted((self.path / "public").glob("*.zip"))}


def create_package(path: Path, plan: Plan, on_progress: OnProgress = lambda what, done, total: None) -> Package:
    """Make a benchmark in a new folder. The perfect tracker goes through it once: what it cannot answer, nobody can."""
    suite, corpus = _chosen_suite(plan), load(plan.corpus, limit=plan.limit, draw=plan.draw, seed=plan.seed)
    chosen = plan.conventions or (suite.convention or "exact",)
    units = {conventions.create(name).unit for name in chosen}
    tell_services = "frame" in units if plan.tell_services is None else plan.tell_services
    options = RunOptions(
        seed=plan.seed, convention=chosen[0], report=False, resamples=1, on_progress=on_progress, max_failed=0
    )
    evaluate(suite, "gold", corpus, path / "gold", options)
    for name in _NEVER_LEAVES:
        left = path / "gold" / name
        shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
    gold = RunFolder.open(path / "gold")
    pairs = sorted(list_cases(gold, secrets.token_bytes(32), tell_services), key=lambda pair: pair[0].id)
    cases = tuple(case for case, _ in pairs)
    if len({case.id for case in cases}) < len(cases):
        raise DstressError("two dialogues of the corpus have one id", where=plan.corpus)
    parts = tuple(dict.fromkeys(part_names(gold).values()))
    for part in parts:
        with replacing(path / "inputs" / f"{part}.jsonl") as lines:
            for case, dialogue in pairs:
                if case.part == part:
                    lines.write(msgspec.json.encode(dialogue) + b"\n")
    key = Key(plan.title, licence_of(corpus), chosen, parts, cases)
    with replacing(path / "key.json") as out:
        out.write(msgspec.json.encode(key))
    package = Package(path)
    on_progress("writing the public inputs", 0, None)
    write_archives(package.inputs, cases, path / "public", key.title, key.licence)
    return package


def licence_of(corpus: Corpus) -> str:
    """What the catalogue says of a corpus's licence; empty where it does not know it."""
    name = corpus.name.partition("/")[0]
    return _OWN.get(name) or (catalogue()[name].licence if name in catalogue() else "")


def _chosen_suite(plan: Plan) -> Suite:
    """The suite with the metrics of the benchmark; columns of other metrics go."""
    suite = load_suite(plan.suite)
    if not plan.metrics:
        return suite
    kept = [
        column for column in suite.table if parse(column.metric).name not in metrics or column.metric in plan.metrics
    ]
    return msgspec.structs.replace(suite, metrics=plan.metrics, table=tuple(kept))


_MOST_UNPACKED = 4 << 30
_KEPT = ("key.json", "gold/", "inputs/", "public/")


def pack_package(package: Package, out: IO[bytes]) -> None:
    """Write a benchmark as a zip."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.path.rglob("*")):
            name = path.relative_to(package.path).as_posix()
            if path.is_file() and name.startswith(_KEPT) and not path.name.startswith("."):
                archive.write(path, name)


def unpack_package(archive: Path, folder: Path) -> Package:
    """The benchmark in an archive, unpacked into a folder; an archive that holds none is refused."""
    with unpacking_at_most(_MOST_UNPACKED), open_source(archive) as source:
        for file in source.files:
            if file.name.startswith(_KEPT):
                (folder / file.folder).mkdir(parents=True, exist_ok=True)
                (folder / file.name).write_bytes(file.read())
    package = Package(folder)
    try:
        require_known(package.suite, package.gold.manifest.metrics, package.key.conventions)
        answered = {dialogue.id for corpus in package.inputs.values() for dialogue in corpus}
        if answered != {case.id for case in package.key.cases} or not package.archives:
            raise DstressError("the inputs are not those of the key")
    except (OSError, KeyError, *UNREADABLE_JSON) as error:
        raise DstressError(
            f"this is no benchmark: {error}", where=archive.name, fix="`dstress benchmark create` makes one"
        ) from None
    return package


def require_known(suite: Suite, chosen: Sequence[str], judged: Sequence[str]) -> None:
    """Refuse metrics and conventions that are not registered: `module:Class` would run any code that lies here."""
    registered = [*metrics, *pair_metrics, *variant_metrics]
    measured = [*chosen, *suite.metrics, *(group.metric for group in suite.across)]
    measured += [column.metric for column in suite.table]
    for name in measured:
        plain = name.removesuffix("-v1-5").removesuffix("-orig")
        if ":" in name or parse(plain).name not in registered:
            raise unknown("metric", name, registered)
    for name in filter(None, (*judged, suite.convention)):
        if ":" in name or parse(name).name not in conventions:
            raise unknown("convention", name, conventions)
