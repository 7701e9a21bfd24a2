"""Names of files and folders made of specs."""

from __future__ import annotations

import re

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._+]+")


def folder_name(spec: str) -> str:
    """A spec as the name of a folder: `typos(rate=0.1)` -> `typos-rate-0.1`."""
    return _NOT_IN_A_NAME.sub("-", spec).strip("-.")[:100]
