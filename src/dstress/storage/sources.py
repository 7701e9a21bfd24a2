"""Any place data comes from, as a plain list of files: a file, a folder, a zip, a tar or a web address.

Archives come from strangers. Nothing here follows a link, leaves its folder, or unpacks more than a sane amount:
each is an ArchiveError that names the member.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from dstress.errors import ArchiveError, CorpusError, DstressError

MAX_UNPACKED = 8 << 30
"""No corpus of this field is near 8 GiB."""
MAX_RATIO = 300
"""Dialogue JSON shrinks 15 to 60 times; an archive that grows far more than that is made to fill a disk."""
_FREE_RATIO = 256 << 20
_most_unpacked: ContextVar[int] = ContextVar("most_unpacked", default=0)
_TAR_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2")
_ZIP_ENDINGS = (".zip", ".whl")
_DECOMPRESSORS: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_CHUNK = 1 << 20
_BLOCK = 4096
"""What an empty member counts for: so much of a disk, or of memory, each takes at least."""
_SIP = 4096
"""What zip members are read by. Asked for more, zipfile may unpack gigabytes of a member that claims ten bytes."""
# What the standard library's readers raise on damaged bytes, found by damaging archives at random.
_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    LookupError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class SourceFile:
    """One file of a source. `name` is its path inside, `label` what messages call it."""

    def __init__(self, name: str, path: Path, *, archive: zipfile.ZipFile | None = None, prefix: str = "") -> None:
        self.name = prefix + str(PurePosixPath(name))
        self._member, self._path, self._archive = name, path, archive
        self.label = f"{path}:{name}" if archive else str(path)

    @property
    def size(self) -> int | None:
        """Its bytes on the disk; None for a member of an archive."""
        return None if self._archive is not None else self._path.stat().st_size

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
        if self._archive:
            return b"".join(self._pieces())
        with _explained(self.label):
            return self._path.read_bytes()

    def head(self, size: int = 65_536) -> bytes:
        """The file's beginning, for finding out by shape what it is."""
        beginning = b""
        for piece in self._pieces():
            beginning += piece
            if len(beginning) >= size:
                break
        return beginning[:size]

    def _pieces(self) -> Iterator[bytes]:
        with _explained(self.label), self.open() as stream:
            while piece := stream.read(_SIP if self._archive else _CHUNK):
                yield piece

    def lines(self) -> Iterator[bytes]:
        """Line by line, without holding the file."""
        with _explained(self.label), self.open() as stream:
            yield from stream


class Source:
    """What an address holds: files sorted by name, hidden ones and system litter left out."""

    def __init__(self, address: str, files: list[SourceFile]) -> None:
        self.address = address
        self.files = sorted(files, key=lambda file: file.name)

    def keep(self, is_wanted: Callable[[SourceFile], bool]) -> None:
        """Forget every file that is not wanted."""
        self.files = [file for file in self.files if is_wanted(file)]

    def named(self, *names: str) -> list[SourceFile]:
        """Files that go by one of these names, in any folder; case does not matter."""
        spellings = {name.casefold() for name in names}
        return [file for file in self.files if file.stem.casefold() in spellings]

    def ending(self, suffix: str) -> list[SourceFile]:
        """Files with this ending, in any folder."""
        return [file for file in self.files if file.stem.casefold().endswith(suffix)]


def is_address(text: str) -> bool:
    """Whether this names a web address rather than a path."""
    return text.startswith(("http://", "https://"))


def is_archive(path: Path) -> bool:
    """Whether the name says zip or tar."""
    return path.name.casefold().endswith((*_TAR_ENDINGS, *_ZIP_ENDINGS))


def is_packed(path: Path, name: str) -> bool:
    """Whether a file that goes by the name of an archive begins as one does and, if it is a zip, ends as one does."""
    if name.casefold().endswith(".zip"):
        return zipfile.is_zipfile(path)
    with path.open("rb") as stream:
        head = stream.read(tarfile.BLOCKSIZE)
    return head.startswith(tuple(_DECOMPRESSORS)) or head[257:262] == b"ustar"


@contextmanager
def open_source(*paths: str | Path) -> Iterator[Source]:
    """Open local files, folders and archives as one source. Archives that lie in a folder are opened with it."""
    with ExitStack() as stack:
        files = [file for path in paths for file in _files(Path(path), stack)]
        [(name, count)] = Counter(file.name for file in files).most_common(1) or [("", 0)]
        if count > 1:
            raise ArchiveError(f"two files are called {name!r}", where=" and ".join(map(str, paths)))
        yield Source(", ".join(map(str, paths)), files)


def _files(path: Path, stack: ExitStack) -> list[SourceFile]:
    if path.is_dir():
        files = []
        for inner in sorted(path.rglob("*")):
            name = inner.relative_to(path).as_posix()
            if inner.is_file() and not _is_litter(name):
                packed = is_archive(inner)
                files += _archive_files(inner, stack, f"{name}/") if packed else [SourceFile(name, inner)]
        return files
    if not path.exists():
        raise DstressError("no such file or folder", where=str(path), fix="check the path")
    if not path.is_file():
        raise DstressError("neither a file nor a folder", where=str(path))
    return _archive_files(path, stack) if is_archive(path) else [SourceFile(path.name, path)]


def _archive_files(path: Path, stack: ExitStack, prefix: str = "") -> list[SourceFile]:
    read = _zip_files if path.name.casefold().endswith(_ZIP_ENDINGS) else _tar_files
    with _explained(str(path)):
        files = read(path, stack, prefix)
    if not files:
        raise ArchiveError("the archive holds no files", where=str(path), fix="fetch it again and check its size")
    return files


def _zip_files(path: Path, stack: ExitStack, prefix: str) -> list[SourceFile]:
    """Zip members are read in place: the format allows it, and the reader checks length and checksum."""
    archive = stack.enter_context(zipfile.ZipFile(path))
    guard = _Guard(path)
    files = []
    for member in archive.infolist():
        # Zips from other systems than Unix give no file type.
        kind = stat.S_IFMT(member.external_attr >> 16)
        guard.check(member.filename, is_plain=kind in (0, stat.S_IFREG, stat.S_IFDIR))
        if member.flag_bits & 1:
            fix = "unpack it with its password and give the folder"
            raise ArchiveError(f"the member {member.filename!r} is encrypted", where=str(path), fix=fix)
        guard.add(member.filename, max(member.file_size, _BLOCK))
        if not member.is_dir() and not _is_litter(member.filename):
            files.append(SourceFile(member.filename, path, archive=archive, prefix=prefix))
    return files


def _tar_files(path: Path, stack: ExitStack, prefix: str) -> list[SourceFile]:
    """A tar can only be read from its start, so it is unpacked, once, into a folder that goes away afterwards."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dstress-")))
    files: list[SourceFile] = []
    guard = _Guard(path)
    with path.open("rb") as raw:
        # The content says how it is compressed: names lie, and a `.tar.gz` is often a plain tar.
        start = raw.read(6)
        raw.seek(0)
        opened = next((opener(raw) for magic, opener in _DECOMPRESSORS.items() if start.startswith(magic)), raw)
        with opened as decompressed:
            stream = _TarStream(decompressed, _Guard(path))
            with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r:") as archive:
                for member in archive:
                    guard.check(member.name, is_plain=member.isreg() or member.isdir())
                    if member.isdir() or _is_litter(member.name):
                        continue
                    guard.add(member.name, _BLOCK)
                    target = folder / str(len(files))  # by number: no file system has a say in what names it may have
                    with target.open("wb") as out, cast(IO[bytes], archive.extractfile(member)) as content:
                        while piece := content.read(_CHUNK):  # of a sparse member this is more than the archive holds
                            guard.spend(len(piece))
                            out.write(piece)
                    files.append(SourceFile(member.name, target, prefix=prefix))
                    files[-1].label = f"{path}:{member.name}"
            stream.finish()
    return files


class _TarStream:
    """The bytes of a tar, forwards only and counted, so that no header can make `tarfile` loop or fill the memory."""

    def __init__(self, stream: IO[bytes], guard: _Guard) -> None:
        self.stream, self.guard, self.last = stream, guard, b""

    def tell(self) -> int:
        return self.stream.tell()

    def seek(self, position: int) -> int:
        if position < self.tell():
            raise tarfile.ReadError("a header points backwards")
        self.guard.spend(position - self.tell())
        return self.stream.seek(position)

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _CHUNK:
            raise tarfile.ReadError(f"a header claims {size:,} bytes")
        self.last = self.stream.read(size)
        self.guard.spend(len(self.last))
        return self.last

    def finish(self) -> None:
        """Read to the very end. `tarfile` takes a damaged header for the end, and never gets to the checksum."""
        if self.last != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("there is no mark of the end")
        while self.read(_CHUNK):
            pass


@contextmanager
def unpacking_at_most(size: int) -> Iterator[None]:
    """Archives that are opened meanwhile may unpack to so many bytes: a server has less to spare than a person."""
    token = _most_unpacked.set(min(size, MAX_UNPACKED))
    try:
        yield
    finally:
        _most_unpacked.reset(token)


class _Guard:
    """Lets in an archive's plain files, each name once, until they fill more of the disk than they should."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.allowed = min(_most_unpacked.get() or MAX_UNPACKED, max(_FREE_RATIO, MAX_RATIO * path.stat().st_size))
        self.left = self.allowed
        self.names: set[str] = set()

    def check(self, name: str, *, is_plain: bool) -> None:
        """Refuse a member that would land elsewhere, or is neither file nor folder."""
        parts = PurePosixPath(name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or (len(name) > 1 and name[1] == ":"):
            raise ArchiveError(f"the member {name!r} would land outside the archive's folder", where=str(self.path))
        if not is_plain:
            raise ArchiveError(
                f"the member {name!r} is a link or a device, not a file",
                where=str(self.path),
                fix="pack it again with plain files only",
            )

    def add(self, name: str, size: int) -> None:
        """Count a member; no name may come twice."""
        if str(PurePosixPath(name)) in self.names:
            raise ArchiveError(f"the member {name!r} is there twice", where=str(self.path))
        self.names.add(str(PurePosixPath(name)))
        self.spend(size)

    def spend(self, size: int) -> None:
        """Count what a member unpacks to, and stop before it fills the disk."""
        self.left -= size
        if self.left < 0:
            raise ArchiveError(
                f"unpacks to more than {self.allowed >> 20:,} MiB, far more than its size suggests",
                where=str(self.path),
                fix="if you trust it, unpack it yourself and give the folder",
            )


def _is_litter(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)


@contextmanager
def _explained(label: str) -> Iterator[None]:
    """Turn the many ways an archive can be damaged into one message."""
    try:
        yield
    except (*_DAMAGE, OSError) as error:
        # gzip and bz2 report damage as an OSError without a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise CorpusError(f"cannot be read ({error.strerror})", where=label) from error
        detail = str(error) or type(error).__name__
        raise ArchiveError(
            f"the archive is truncated or damaged ({detail})", where=label, fix="fetch it again and check its size"
        ) from error
