"""Downloads that resume, are verified, and leave nothing half-done under the final name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from dstress.errors import DownloadError

Progress = Callable[[int, int], None]
"""Told now and then: bytes there, and bytes in all (0 if the server does not say)."""

_ATTEMPTS = 4
_CHUNK = 1 << 18
_TIMEOUT = httpx.Timeout(60, connect=20)


def download(url: str, folder: Path, *, git: str = "", progress: Progress = lambda *_: None) -> Path:
    """Fetch `url` into `folder` and return the file. An interrupted download goes on where it stopped."""
    folder.mkdir(parents=True, exist_ok=True)
    name = Path(urlsplit(url).path).name or "download"
    target = folder / f"{hashlib.sha256(url.encode()).hexdigest()[:12]}-{name}"
    if not target.exists():
        part = target.with_name(target.name + ".part")
        _fetch(url, part, progress)
        if git and git_blob_sha1(part) != git:
            part.unlink()
            raise DownloadError(
                "the file is not the one that the catalogue describes: its checksum differs",
                where=url,
                fix="try again; if it stays so, fetch the file by hand, check it, and give its path",
            )
        part.replace(target)
    return target


def git_blob_sha1(path: Path) -> str:
    """The checksum that git keeps for a file: SHA-1 over a short header and the content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _fetch(url: str, part: Path, progress: Progress) -> None:
    problem = ""
    for _ in range(_ATTEMPTS):
        try:
            _fetch_rest(url, part, progress)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            problem = str(error) or type(error).__name__
        else:
            return
    raise DownloadError(
        f"the download failed {_ATTEMPTS} times ({problem})",
        where=url,
        fix="run the same command again to go on where it stopped, or fetch the file by hand and give its path",
    )


def _fetch_rest(url: str, part: Path, progress: Progress) -> None:
    there = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={there}-"} if there else {}
    with httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=_TIMEOUT) as answer:
        if there and answer.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # all of it is there already
        if answer.is_error:
            raise DownloadError(f"the server answered {answer.status_code} {answer.reason_phrase}", where=url)
        if answer.status_code != httpx.codes.PARTIAL_CONTENT:
            there = 0  # the server cannot resume, so it sends everything
        total = there + int(answer.headers.get("content-length", 0))
        with part.open("ab" if there else "wb") as out:
            for chunk in answer.iter_bytes(_CHUNK):
                out.write(chunk)
                there += len(chunk)
                progress(there, total)
