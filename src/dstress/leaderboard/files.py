"""Files of the platform (uploads, corpora, reports) behind one small interface: a folder, or an S3-compatible store.

A name is ours, such as `submissions/17/predictions.zip`, never a person's. A file is whole or not there.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from dstress.errors import DstressError, MissingExtraError
from dstress.leaderboard.settings import Settings
from dstress.storage.atomic import replacing

_PIECE = 1 << 18
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(?:[./][a-z0-9_-]+)*")


class Files(ABC):
    """Where files are kept."""

    cache: Path
    """A folder of this machine for what is unpacked of them."""

    @abstractmethod
    def save(self, name: str, content: IO[bytes]) -> None:
        """Keep what a stream has, in place of what was there."""

    @abstractmethod
    def open(self, name: str) -> IO[bytes]:
        """A stream to read; an error that names the file where it is missing."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Take a file away; nothing happens where there is none."""

    @abstractmethod
    def names(self) -> Iterator[str]:
        """The names of all files, in order."""

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """The file as a path, for readers that need one, under its own last name; gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="dstress-") as folder:
            path = Path(folder) / name.rpartition("/")[2]
            with self.open(name) as stream, path.open("wb") as out:
                shutil.copyfileobj(stream, out)
            yield path


def pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """A stream piece by piece, for an answer that need not be held whole; closed at the end."""
    with stream:
        while piece := stream.read(_PIECE):
            yield piece


def open_files(settings: Settings) -> Files:
    """The store that the settings name."""
    bucket, _, prefix = settings.files.removeprefix("s3://").partition("/")
    files: Files
    if settings.files.startswith("s3://"):
        files = Bucket(bucket, prefix.strip("/"), settings.s3_endpoint)
    else:
        files = Folder(Path(settings.files) if settings.files else settings.folder / "files")
    files.cache = settings.folder / "cache"
    return files


def check_name(name: str) -> str:
    """The name; an error for one that could leave the store."""
    if len(name) > 200 or not _NAME.fullmatch(name):
        raise DstressError(f"no file can be called {name[:200]!r}", fix="lower-case letters, digits, . _ - and /")
    return name


class Folder(Files):
    """Files in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def save(self, name: str, content: IO[bytes]) -> None:
        with replacing(self.root / check_name(name)) as out:
            shutil.copyfileobj(content, out)

    def open(self, name: str) -> IO[bytes]:
        try:
            return (self.root / check_name(name)).open("rb")
        except FileNotFoundError:
            raise DstressError("a file of the platform is missing", where=name) from None

    def delete(self, name: str) -> None:
        (self.root / check_name(name)).unlink(missing_ok=True)

    def names(self) -> Iterator[str]:
        paths = sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file())
        return (name for name in paths if _NAME.fullmatch(name))


class Bucket(Files):
    """Files in a bucket; the keys come from where boto3 looks for them (AWS_ACCESS_KEY_ID and the like)."""

    def __init__(self, bucket: str, prefix: str = "", endpoint: str = "") -> None:
        if find_spec("boto3") is None:
            raise MissingExtraError("files in S3 need boto3", fix="pip install 'dstress[s3]'")
        import boto3
        from botocore.exceptions import ClientError

        self._missing = ClientError
        self.bucket, self.prefix = bucket, f"{prefix}/" if prefix else ""
        self.client: Any = boto3.client("s3", endpoint_url=endpoint or None)

    def save(self, name: str, content: IO[bytes]) -> None:
        self.client.upload_fileobj(content, self.bucket, self.prefix + check_name(name))

    def open(self, name: str) -> IO[bytes]:
        key = self.prefix + check_name(name)
        spooled = tempfile.SpooledTemporaryFile(16_000_000)  # noqa: SIM115 - whoever asked closes it
        try:
            self.client.download_fileobj(self.bucket, key, spooled)
        except self._missing as error:
            spooled.close()
            if error.response["Error"]["Code"] not in ("404", "NoSuchKey"):
                raise DstressError(f"the store answers {error}", where=self.bucket) from None
            raise DstressError("a file of the platform is missing", where=name) from None
        spooled.seek(0)
        return spooled

    def delete(self, name: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=self.prefix + check_name(name))

    def names(self) -> Iterator[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.prefix)
        for page in pages:
            for entry in page.get("Contents", []):
                yield entry["Key"].removeprefix(self.prefix)
