"""A benchmark as one archive, gold and all: as a server keeps it, and as an organiser hands it in."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from dstress.conventions import conventions
from dstress.errors import UNREADABLE_JSON, DstressError, unknown
from dstress.leaderboard.benchmarks.package import Package
from dstress.metrics import metrics, pair_metrics, variant_metrics
from dstress.spec import parse
from dstress.storage.sources import open_source
from dstress.suites import Suite

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
    with open_source(archive) as source:
        for file in source.files:
            if file.name.startswith(_KEPT):
                (folder / file.folder).mkdir(parents=True, exist_ok=True)
                (folder / file.name).write_bytes(file.read())
    package = Package(folder)
    try:
        require_known(package.suite, (), package.key.conventions)
        answered = {dialogue.id for corpus in package.inputs.values() for dialogue in corpus}
        if answered != {case.id for case in package.key.cases} or not package.archives:
            raise DstressError("the inputs are not those of the key")
    except (OSError, KeyError, *UNREADABLE_JSON) as error:
        raise DstressError(
            f"this is no benchmark: {error}", where=archive.name, fix="`dstress benchmark create` makes one"
        ) from None
    return package


def require_known(suite: Suite, chosen: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse metrics and conventions that are not registered: `module:Class` would run any code that lies here."""
    over = [*pair_metrics, *variant_metrics]
    for name in (*chosen, *suite.metrics, *(group.metric for group in suite.across)):
        if parse(name).name not in metrics:
            raise unknown("metric", name, metrics)
    for column in suite.table:
        if parse(column.metric).name not in (*metrics, *over) and not column.metric.endswith(("-v1-5", "-orig")):
            raise unknown("metric", column.metric, (*metrics, *over))
    for name in (*wanted, *filter(None, (suite.convention,))):
        if parse(name).name not in conventions:
            raise unknown("convention", name, conventions)
