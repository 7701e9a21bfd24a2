"""Pages with code, run as they stand: a reader who copies them gets what they say.

A block under a line with a file's name in quotes, `ours.py`, is that file. A TOML block of entry points is installed.
Every other Python block is run, section by section, in a folder with the section's files; where a block of text
follows, that is what it prints.
"""

from __future__ import annotations

import importlib
import io
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from dstress.registry import Registry

_BLOCK = re.compile(r"(?:^`(?P<file>[\w./]+)`\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """One block: the file that it is (empty if it is run), its language, its text, and its line on the page."""

    file: str
    kind: str
    text: str
    line: int


def sections(page: Path) -> dict[str, list[Block]]:
    """The blocks of each section that has any, by the section's title."""
    text = page.read_text(encoding="utf-8")
    heads = [(match.start(), match[1]) for match in re.finditer(r"^##? (.+)$", text, re.MULTILINE)]
    found: dict[str, list[Block]] = {}
    for match in _BLOCK.finditer(text):
        title = [title for start, title in heads if start < match.start()][-1]
        line = text.count("\n", 0, match.start("text"))
        found.setdefault(title, []).append(Block(match["file"] or "", match["kind"], match["text"], line))
    return {title: blocks for title, blocks in found.items() if any(block.kind == "python" for block in blocks)}


def run(blocks: list[Block], page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a section's files, install its entry points, run its Python, and compare what it prints."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    for block in blocks:
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
            monkeypatch.delitem(sys.modules, block.file.removesuffix(".py"), raising=False)
    points = [block.text for block in blocks if block.kind == "toml" and not block.file]
    names: dict[str, object] = {"__name__": "__page__"}
    printed = ""
    with _installed("".join(points), folder):
        for block in blocks:
            if block.kind == "python" and not block.file:
                code = compile("\n" * block.line + block.text, str(page), "exec")
                with redirect_stdout(io.StringIO()) as out:
                    exec(code, names)
                printed = out.getvalue()
            elif block.kind == "text":
                assert printed == block.text, f"{page.name}, line {block.line}"


@contextmanager
def _installed(project: str, folder: Path) -> Iterator[None]:
    """The entry points of a pyproject.toml as pip leaves them, seen by every registry that they are for."""
    groups = tomllib.loads(project).get("project", {}).get("entry-points", {})
    about = folder / "ours-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1.0\n")
    lines = [f"[{group}]\n" + "".join(f"{n} = {t}\n" for n, t in points.items()) for group, points in groups.items()]
    (about / "entry_points.txt").write_text("\n".join(lines))
    registries = [_registry(group) for group in groups]
    for registry in registries:
        vars(registry).pop("plugins", None)
    try:
        yield
    finally:
        for registry in registries:
            vars(registry).pop("plugins", None)


def _registry(group: str) -> Registry[object]:
    door = {"dstress.importers": "dstress.corpora", "dstress.formats": "dstress.predictions"}.get(group, group)
    found = getattr(importlib.import_module(door), group.removeprefix("dstress."))
    assert isinstance(found, Registry)
    return found
