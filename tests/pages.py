"""Pages with code, run as they stand: a reader who copies them gets what they say.

A block under a line with a file's name in quotes, `ours.py`, is that file. A TOML block of entry points is installed.
Every other Python block is run, section by section, in a folder with the section's files; where a block of text
follows, that is what it prints. `run_page` also calls every `$ dstress ...` in blocks of the console, which prints what
follows it, a line of three dots being any lines; `$ echo $?` prints its exit code.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

import dstress.api
import dstress.registry
from dstress.cli.main import main
from dstress.registry import Registry

_BLOCK = re.compile(r"(?:^`(?P<file>[\w./]+)`\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """One block: the file that it is (empty if it is run), its language, its text, and its line on the page."""

    file: str
    kind: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    lines = ((match, text.count("\n", 0, match.start("text"))) for match in _BLOCK.finditer(text))
    return [Block(match["file"] or "", match["kind"], match["text"], line) for match, line in lines]


def sections(page: Path) -> dict[str, list[Block]]:
    """The blocks of each section that has any, by the section's title."""
    lines = enumerate(page.read_text(encoding="utf-8").splitlines())
    heads = [(number, line.lstrip("# ")) for number, line in lines if re.match(r"##? ", line)]
    found: dict[str, list[Block]] = {}
    for block in blocks(page):
        found.setdefault([title for number, title in heads if number < block.line][-1], []).append(block)
    return {title: inside for title, inside in found.items() if any(block.kind == "python" for block in inside)}


def run(blocks: list[Block], page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a section's files, install its entry points, run its Python, and compare what it prints."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    for block in blocks:
        if block.file:
            _write(block, folder, monkeypatch)
    points = [block.text for block in blocks if block.kind == "toml" and not block.file]
    names: dict[str, object] = {"__name__": "__page__"}
    printed = ""
    with _installed("".join(points), folder):
        for block in blocks:
            if block.kind == "python" and not block.file:
                printed = _execute(block, page, names)
            elif block.kind == "text":
                assert printed == block.text, f"{page.name}, line {block.line}"


def run_page(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole page from its top, as a reader goes along: files as they come, Python, and commands of dstress."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    names: dict[str, object] = {"__name__": "__page__"}
    printed = ""
    for block in blocks(page):
        if block.file:
            _write(block, folder, monkeypatch)
        elif block.kind == "python":
            printed = _execute(block, page, names)
        elif block.kind == "text":
            assert printed == block.text, f"{page.name}, line {block.line}"
        elif block.kind == "console":
            _converse(block, page)


def _write(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
    (folder / block.file).write_text(block.text, encoding="utf-8")
    monkeypatch.delitem(sys.modules, block.file.removesuffix(".py"), raising=False)


def _execute(block: Block, page: Path, names: dict[str, object]) -> str:
    """Run a block of Python; what it prints."""
    code = compile("\n" * block.line + block.text, str(page), "exec")
    with redirect_stdout(io.StringIO()) as out:
        exec(code, names)
    return out.getvalue()


def _converse(block: Block, page: Path) -> None:
    """Call what a block of the console calls, and compare what it prints."""
    code: object = None
    for command, expected in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            if command == "echo $?":
                print(code)
            else:
                with pytest.raises(SystemExit) as end:
                    main(shlex.split(command.removeprefix("dstress ")))
                code = end.value.code
        shown, wanted = (_lines(text) for text in (out.getvalue(), expected))
        pattern = re.escape("\n".join(wanted)).replace(re.escape("..."), "(?s:.*)")
        assert re.fullmatch(pattern, "\n".join(shown)), (
            f"{page.name}, line {block.line}: {command}\n{out.getvalue()}\n{err.getvalue()}"
        )


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


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
    _forget_plugins(registries)
    try:
        yield
    finally:
        _forget_plugins(registries)


def _forget_plugins(registries: Iterable[Registry[object]]) -> None:
    """Let registries read the installed entry points anew, as a new process does."""
    dstress.registry._entry_points.cache_clear()
    for registry in registries:
        vars(registry).pop("plugins", None)


def _registry(group: str) -> Registry[object]:
    registry = getattr(dstress.api, group.removeprefix("dstress."))
    assert isinstance(registry, Registry)
    return registry
