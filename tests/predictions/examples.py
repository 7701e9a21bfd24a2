"""The examples of docs/predictions.md: a small file of every format, and what is read from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.paths import DOCS

PAGE = DOCS / "predictions.md"
_SECTION = re.compile(
    r"^## (?P<name>\S+)\n.*?^`(?P<file>\S+)`\n\n"
    r"```(?:json|csv)\n(?P<sample>.*?)\n```\n\n```jsonl\n(?P<parsed>.*?)\n```",
    re.DOTALL | re.MULTILINE,
)


class Example(NamedTuple):
    """A file's usual name, its text, and the predictions in it as dstress lines."""

    file: str
    sample: str
    parsed: str

    def written(self, folder: Path) -> Path:
        path = folder / self.file
        path.write_text(self.sample, encoding="utf-8")
        return path


EXAMPLES = {
    found["name"]: Example(*found.groups()[1:]) for found in _SECTION.finditer(PAGE.read_text(encoding="utf-8"))
}
JSON = [name for name in EXAMPLES if name != "csv"]
"""The formats whose files are JSON: damage shows there that a table does not show."""
