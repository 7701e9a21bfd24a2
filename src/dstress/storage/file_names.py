"""Names of files and folders, made of names that come from data: specs, splits, members of archives, addresses.

Such a name may be anything: `../../x`, `/etc/x`, `CON`, nothing at all, a megabyte. Whoever writes makes it a file name
here.
"""

from __future__ import annotations

import hashlib
import re

_LONGEST = 80
"""With endings and what a temporary file adds, far from what any file system refuses."""
_PLAIN = re.compile(rf"[a-z0-9_][a-z0-9_+-]{{0,{_LONGEST - 1}}}")
_HASHED = re.compile(r".*-[0-9a-f]{16}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._+]+")


def file_name(name: str) -> str:
    """A name as that of a file: `test` -> `test`; else with a hash, `typos(rate=0.1)` -> `typos-rate-0.1-3b6042...`.

    Two names never share one: also not where capitals do not count, and a name cannot pass for another's with its hash.
    Endings can be added to it: what stands alone has no dot.
    """
    if _PLAIN.fullmatch(name) and not _HASHED.fullmatch(name) and not _RESERVED.match(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{legible(name)[:_LONGEST] or 'name'}-{digest}"


def legible(name: str) -> str:
    """What of a name any file system takes. Several names share it, so it never stands alone."""
    kept = _NOT_IN_A_NAME.sub("-", name).strip("-.")
    return f"_{kept}" if _RESERVED.match(kept) else kept
