"""Any place data comes from, as a plain list of files: a file, a folder, a zip, a tar or a web address.

Archives come from strangers. Nothing here follows a link, leaves its folder, or unpacks more than a sane amount:
each is an ArchiveError that names the member.
"""

from __future__ import annotations

import lzma
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, cast

import msgspec

from dstress.errors import ArchiveError, DstressError

MAX_UNPACKED = 8 << 30
"""No corpus of this field is near 8 GiB."""
MAX_RATIO = 300
"""Dialogue JSON shrinks 15 to 60 times; an archive that grows far more than that is made to fill a disk."""
_FREE_RATIO = 256 << 20
_TAR_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2")
_CHUNK = 1 << 20
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError)


class SourceFile:
    """One file of a source. `name` is its path inside, `label` what messages call it."""

    def __init__(self, name: str, path: Path, *, archive: zipfile.ZipFile | None = None, prefix: str = "") -> None:
        self.name = prefix + name
        self._member, self._path, self._archive = name, path, archive
        self.label = f"{path}:{name}" if archive else str(path)

    @property
    def stem(self) -> str:
        """The file's own name, without folders."""
        return PurePosixPath(self.name).name

    @property
    def folder(self) -> str:
        """The folder inside the source, `` at the top."""
        parent = str(PurePosixPath(self.name).parent)
        return "" if parent == "." else parent

    def open(self) -> IO[bytes]:
        """The file's bytes, as a stream."""
        if self._archive is not None:
            return self._archive.open(self._member)
        return self._path.open("rb")

    def read(self) -> bytes:
        """The whole file. A damaged archive member is an ArchiveError."""
        with _explained(self.label), self.open() as stream:
            return stream.read()

    def lines(self) -> Iterator[bytes]:
        """Line by line, without holding the file."""
        with _explained(self.label), self.open() as stream:
            yield from stream


class Source:
    """What an address holds: files sorted by name, hidden ones and system litter left out."""

    def __init__(self, address: str, files: list[SourceFile]) -> None:
        self.address = address
        self.files = sorted(files, key=lambda file: file.name)

    def named(self, *names: str) -> list[SourceFile]:
        """Files that go by one of these names, in any folder; case does not matter."""
        wanted = {name.casefold() for name in names}
        return [file for file in self.files if file.stem.casefold() in wanted]

    def ending(self, suffix: str) -> list[SourceFile]:
        """Files with this ending, in any folder."""
        return [file for file in self.files if file.stem.casefold().endswith(suffix)]

    @cached_property
    def first_line(self) -> object:
        """The first line of the only file, decoded; None where there is none such. For finding JSON lines by shape."""
        if len(self.files) != 1:
            return None
        for line in self.files[0].lines():
            if line.strip():
                try:
                    return cast(object, msgspec.json.decode(line))
                except (msgspec.DecodeError, UnicodeDecodeError):
                    return None
        return None

    @cached_property
    def document(self) -> object:
        """The only file, decoded whole; None where it is not one JSON document. Decoded once for all who ask."""
        if len(self.files) != 1:
            return None
        try:
            return cast(object, msgspec.json.decode(self.files[0].read()))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None


def is_address(text: str) -> bool:
    """Whether this names a web address rather than a path."""
    return text.startswith(("http://", "https://"))


def is_archive(path: Path) -> bool:
    """Whether the name says zip or tar."""
    return path.name.casefold().endswith((*_TAR_ENDINGS, ".zip"))


@contextmanager
def open_source(*paths: str | Path) -> Iterator[Source]:
    """Open local files, folders and archives as one source. Archives that lie in a folder are opened with it."""
    with ExitStack() as stack:
        files = [file for path in paths for file in _files(Path(path), stack)]
        names = [file.name for file in files]
        doubled = (
            next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
        )
        if doubled:
            raise ArchiveError(f"two files are called {doubled!r}", where=" and ".join(map(str, paths)))
        yield Source(", ".join(map(str, paths)), files)


def _files(path: Path, stack: ExitStack) -> list[SourceFile]:
    if path.is_dir():
        return _folder_files(path, stack)
    if not path.exists():
        raise DstressError("no such file or folder", where=str(path), fix="check the path")
    if not path.is_file():
        raise DstressError("neither a file nor a folder", where=str(path))
    return _archive_files(path, stack) if is_archive(path) else [SourceFile(path.name, path)]


def _folder_files(folder: Path, stack: ExitStack) -> list[SourceFile]:
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or _is_litter(name):
            continue
        if is_archive(path):
            found += _archive_files(path, stack, prefix=f"{name}/")
        else:
            found.append(SourceFile(name, path))
    return found


def _archive_files(path: Path, stack: ExitStack, prefix: str = "") -> list[SourceFile]:
    with _explained(str(path)):
        if path.name.casefold().endswith(".zip"):
            return _zip_files(path, stack, prefix)
        return _tar_files(path, stack, prefix)


def _zip_files(path: Path, stack: ExitStack, prefix: str) -> list[SourceFile]:
    """Zip members are read in place: the format allows it, and the reader checks length and checksum."""
    archive = stack.enter_context(zipfile.ZipFile(path))
    budget = _Budget(path)
    seen: set[str] = set()
    files = []
    for member in archive.infolist():
        mode = member.external_attr >> 16
        _check_member(
            path, member.filename, regular=not mode or not stat.S_IFMT(mode) or stat.S_ISREG(mode) or member.is_dir()
        )
        if member.filename in seen:
            raise ArchiveError(f"the member {member.filename!r} is there twice", where=str(path))
        seen.add(member.filename)
        budget.spend(member.file_size)
        if not member.is_dir() and not _is_litter(member.filename):
            files.append(SourceFile(member.filename, path, archive=archive, prefix=prefix))
    return files


def _tar_files(path: Path, stack: ExitStack, prefix: str) -> list[SourceFile]:
    """A tar can only be read from its start, so it is unpacked, once, into a folder that goes away afterwards."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dstress-")))
    budget = _Budget(path)
    files = []
    with tarfile.open(path) as archive:
        for member in archive:
            _check_member(path, member.name, regular=member.isreg() or member.isdir())
            if member.isdir() or _is_litter(member.name):
                continue
            target = folder / member.name
            if target.exists():
                raise ArchiveError(f"the member {member.name!r} is there twice", where=str(path))
            target.parent.mkdir(parents=True, exist_ok=True)
            _unpack(cast(IO[bytes], archive.extractfile(member)), target, budget)
            unpacked = SourceFile(member.name, target, prefix=prefix)
            unpacked.label = f"{path}:{member.name}"
            files.append(unpacked)
    return files


def _unpack(stream: IO[bytes], target: Path, budget: _Budget) -> None:
    with target.open("wb") as out:
        while chunk := stream.read(_CHUNK):
            budget.spend(len(chunk))
            out.write(chunk)


class _Budget:
    """Counts what an archive unpacks to, and stops it before it fills the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.left = min(MAX_UNPACKED, max(_FREE_RATIO, MAX_RATIO * path.stat().st_size))
        self.allowed = self.left

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise ArchiveError(
                f"unpacks to more than {self.allowed >> 20:,} MiB, far more than its size suggests",
                where=str(self.path),
                fix="if you trust it, unpack it yourself and give the folder",
            )


def _check_member(path: Path, name: str, *, regular: bool) -> None:
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or (len(name) > 1 and name[1] == ":"):
        raise ArchiveError(f"the member {name!r} would land outside the archive's folder", where=str(path))
    if not regular:
        raise ArchiveError(
            f"the member {name!r} is a link or a device, not a file",
            where=str(path),
            fix="pack it again with plain files only",
        )


def _is_litter(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


@contextmanager
def _explained(label: str) -> Iterator[None]:
    """Turn the many ways an archive can be damaged into one message."""
    try:
        yield
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        lzma.LZMAError,
    ) as error:
        detail = str(error) or type(error).__name__
        raise ArchiveError(
            f"the archive is truncated or damaged ({detail})", where=label, fix="fetch it again and check its size"
        ) from error
