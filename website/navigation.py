"""Which page is where in the site's navigation, by `navigation.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("navigation.toml")
UNLISTED = "Unlisted"


class UnplacedPagesError(Exception):
    """Pages that no section takes, or names in the table that are no page."""


def navigate(pages: Sequence[str], table: dict[str, list[str]] | None = None) -> list[dict[str, Any]]:
    """The navigation over pages, as the generator takes it: sections of pages and of parts."""
    sections = tomllib.loads(TABLE.read_text(encoding="utf-8")) if table is None else table
    entries = [entry for names in sections.values() for entry in names]
    place = {page: _claim(page, entries) for page in pages}
    if lost := [page for page, entry in place.items() if not entry]:
        raise UnplacedPagesError(f"no section of website/navigation.toml takes {', '.join(lost)}")
    tree: dict[str, list[Any]] = {}
    for title, names in sections.items():
        section, _, part = title.partition("/")
        found: list[Any] = [page for name in names for page in pages if place[page] == name]
        if found and title != UNLISTED:
            tree.setdefault(section, []).extend([{part: found}] if part else found)
    return [{section: found[0] if len(found) == 1 else found} for section, found in tree.items()]


def _claim(page: str, entries: Sequence[str]) -> str:
    """The entry that takes a page: its name, else the longest pattern. A bare star is for pages outside folders."""
    patterns = [entry for entry in entries if fnmatchcase(page, entry) and ("/" in entry or "/" not in page)]
    return page if page in entries else max(patterns, key=len, default="")
