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
from dstress.storage.sources import open_source, unpacking_at_most
from dstress.suites import Suite

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
    known = [*metrics, *pair_metrics, *variant_metrics]
    measured = [*chosen, *suite.metrics, *(group.metric for group in suite.across)]
    measured += [column.metric for column in suite.table]
    for name in measured:
        plain = name.removesuffix("-v1-5").removesuffix("-orig")
        if ":" in name or parse(plain).name not in known:
            raise unknown("metric", name, known)
    for name in filter(None, (*judged, suite.convention)):
        if ":" in name or parse(name).name not in conventions:
            raise unknown("convention", name, conventions)
