"""Downloads that resume, are verified, and leave nothing half-done or wrong under the final name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import httpx

from dstress.errors import DownloadError
from dstress.storage.file_names import legible
from dstress.storage.lock import only_one
from dstress.storage.sources import is_archive, is_packed

Progress = Callable[[int, int], None]
"""Told now and then: bytes there, and bytes in all (0 if the server does not say)."""

MAX_BYTES = 8 << 30
"""No corpus of this field is near 8 GiB; a server that sends more has no end."""
_ATTEMPTS = 4
_CHUNK = 1 << 18
_TIMEOUT = httpx.Timeout(60, connect=20)
_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})")
_PAGE = re.compile(rb"(\xef\xbb\xbf)?\s*(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body|script)\b", re.I | re.S)
_BY_HAND = "fetch the file by hand, check it, and give its path"


def download(url: str, folder: Path, *, git: str = "", sha256: str = "", progress: Progress = lambda *_: None) -> Path:
    """Fetch `url` into `folder` and return the file. An interrupted download goes on where it stopped.

    `git` and `sha256` are checksums that the file must have, where they are known.
    """
    try:
        name = PurePosixPath(httpx.URL(url).raw_path.partition(b"?")[0].decode("ascii")).name
    except (httpx.InvalidURL, UnicodeError) as error:
        raise DownloadError(f"this is no web address: {error}", where=url, fix="check how it is written") from None
    target = folder / f"{hashlib.sha256(url.encode()).hexdigest()[:12]}-{legible(name)[-80:] or 'download'}"
    part, tag = (target.with_name(target.name + end) for end in (".part", ".part.tag"))
    refusal = DownloadError("another process is fetching this file", where=url, fix="wait until it has ended")
    with only_one(target.with_name(target.name + ".lock"), refusal):
        if target.exists() and not _fault(target, target.name, git, sha256):
            return target
        _fetch(url, part, tag, is_verified=bool(git or sha256), progress=progress)
        fault = _fault(part, target.name, git, sha256)
        tag.unlink(missing_ok=True)
        if fault:
            part.unlink()
            raise DownloadError(fault, where=url, fix=f"try again; if it stays so, {_BY_HAND}")
        part.replace(target)
    return target


def git_blob_sha1(path: Path) -> str:
    """The checksum that git keeps for a file: SHA-1 over a short header and the content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _fault(path: Path, name: str, git: str, sha256: str) -> str:
    """What is wrong with a file that came as `name`; empty where nothing is."""
    with path.open("rb") as stream:
        differs = sha256 and hashlib.file_digest(stream, "sha256").hexdigest() != sha256
        stream.seek(0)
        head = stream.read(4096)
    if differs or (git and git_blob_sha1(path) != git):
        return "the file is not the one that the catalogue describes: its checksum differs"
    if _PAGE.match(head):
        return "a web page came in place of the file (a login, or a note that it has moved)"
    if is_archive(Path(name)) and not is_packed(path, name):
        return "what came is no archive, or not the whole of it"
    return ""


def _fetch(url: str, part: Path, tag: Path, *, is_verified: bool, progress: Progress) -> None:
    problem = ""
    for _ in range(_ATTEMPTS):
        try:
            _fetch_rest(url, part, tag, is_verified=is_verified, progress=progress)
        except (httpx.TooManyRedirects, httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError) as error:
            raise DownloadError(f"the address leads nowhere: {error}", where=url, fix=_BY_HAND) from None
        except httpx.TransportError as error:
            problem = str(error) or type(error).__name__
        else:
            return
    raise DownloadError(
        f"the download failed {_ATTEMPTS} times ({problem})",
        where=url,
        fix="run the same command again to go on where it stopped, or fetch the file by hand and give its path",
    )


def _fetch_rest(url: str, part: Path, tag: Path, *, is_verified: bool, progress: Progress) -> None:
    """Fetch what is not there yet. `tag` says which version of the file the part is of; without it we start anew."""
    size = part.stat().st_size if part.exists() and tag.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if size:
        headers |= {"Range": f"bytes={size}-", "If-Range": tag.read_text(encoding="utf-8")}
    with httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=_TIMEOUT) as answer:
        if url.startswith("https:") and any(step.url.scheme != "https" for step in (*answer.history, answer)):
            raise DownloadError("the server leads on to an address without https", where=url, fix=_BY_HAND)
        if size and answer.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            tag.unlink()  # there is more than the server has
            raise httpx.ReadError("the file has changed")
        rest = _RANGE.fullmatch(answer.headers.get("content-range", ""))
        if size and answer.status_code == httpx.codes.PARTIAL_CONTENT and rest and int(rest[1]) == size:
            total = int(rest[2])
        elif answer.status_code == httpx.codes.OK:
            size, total = 0, int(answer.headers.get("content-length", 0))
            version = answer.headers.get("etag", "")
            version = answer.headers.get("last-modified", "") if version.startswith("W/") else version
            tag.write_text(version, encoding="utf-8") if version else tag.unlink(missing_ok=True)
        else:
            raise DownloadError(f"the server answered {answer.status_code} {answer.reason_phrase}", where=url)
        if not (total or is_verified or "transfer-encoding" in answer.headers):
            problem = "the server does not say how long the file is, so a part could pass for the whole"
            raise DownloadError(problem, where=url, fix=_BY_HAND)
        with part.open("ab" if size else "wb") as out:
            for chunk in answer.iter_raw(_CHUNK) if total <= MAX_BYTES else ():
                out.write(chunk)
                size += len(chunk)
                progress(size, total)
                if size > MAX_BYTES:
                    break
        if max(size, total) > MAX_BYTES:
            part.unlink()
            tag.unlink(missing_ok=True)
            raise DownloadError(f"the file is larger than {MAX_BYTES:,} bytes", where=url, fix=_BY_HAND)
        if total and size != total:
            raise httpx.ReadError(f"it ended after {size:,} of {total:,} bytes")
