"""The pages themselves: they run, their links lead somewhere in the repository, their options and pictures exist."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from pathlib import Path

import click
import pytest

from dstress.cli.main import VERBS, cli
from tests import pages
from tests.paths import DOCS, ROOT

RUN = ("tutorial", *(f"how-to/{page.stem}" for page in sorted((DOCS / "how-to").glob("*.md"))))
"""Pages that are run from top to bottom; other tests run sections of others."""
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
PAGES += sorted((ROOT / "examples").rglob("*.md"))
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)")
LARGEST = 200_000
DRAWN_BY_HAND = "mark.svg"


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(page: Path) -> list[str]:
    """A page's lines without those in fences."""
    return re.sub(r"^(`{3,}).*?^\1$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_a_page_does_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.run_page(DOCS / f"{name}.md", tmp_path, monkeypatch)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as a repository's browser makes them: a second one of a name gets a number."""
    found: list[str] = []
    for line in prose(page):
        if match := re.match(r"#+ (.+)", line):
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match[1]).lower()
            found.append(re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-"))
    return {*found, *(f"{name}-{number}" for name in found for number in range(1, found.count(name)))}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere_in_the_repository(page: Path) -> None:
    lost = []
    for target, anchor in LINK.findall("\n".join(prose(page))):
        found = (page.parent / target).resolve() if target else page
        is_there = found.exists() and (not anchor or found.suffix != ".md" or anchor in anchors(found))
        lost += [] if is_there else [f"{target}#{anchor}"]
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_lists_and_tables_stand_apart(page: Path) -> None:
    """Of the two browsers only the repository's sees a list or a table in the midst of a paragraph."""
    before, found = "", []
    for line in prose(page):
        starts = re.match(r"([-*]|\d+\.) ", line) or line.startswith("|")
        goes_on = not before.strip() or before.startswith(("|", "- ", "* ", " ", "<!--")) or re.match(r"\d+\.", before)
        found += [line] if starts and not goes_on else []
        before = line
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_python_blocks_are_python_that_can_be_imported(page: Path) -> None:
    own = {block.file.removesuffix(".py") for block in pages.blocks(page) if block.file}
    for block in pages.blocks(page):
        if block.kind == "python":
            for node in ast.walk(ast.parse(block.text, f"{named(page)}, line {block.line}")):
                module = node.module if isinstance(node, ast.ImportFrom) else None
                if module and module.startswith("dstress") and module not in own:
                    found = importlib.import_module(module)
                    assert all(hasattr(found, alias.name) for alias in node.names), ast.unparse(node)


def commands(page: Path) -> list[list[str]]:
    """Every call of dstress in a page's blocks, as words."""
    text = "".join(re.findall(r"^```.*?^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    calls = (match[1] for line in lines if (match := re.match(r"(?:\$ |- run: |)dstress (.+)", line)))
    return [words for call in calls if (words := _split(call)) and words[0] in VERBS]


def _split(call: str) -> list[str]:
    try:
        return shlex.split(call, comments=True)
    except ValueError:  # a shell's own words, such as a quote that a here-document ends
        return []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_have_the_options_that_pages_give_them(page: Path) -> None:
    for words in commands(page):
        command, known = cli.get_command(click.Context(cli), words[0]), {"--help"}
        given = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
        while command is not None:
            known |= {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
            verbs = command.commands if isinstance(command, click.Group) else {}
            command = next((verbs[word] for word in words if word in verbs), None)
        assert given <= known, " ".join(words)


def test_pictures_are_small_and_all_of_them_are_shown() -> None:
    pictures = {path.name: path.stat().st_size for path in (DOCS / "pictures").iterdir()}
    assert all(size < LARGEST for size in pictures.values())
    shown = set(re.findall(r"\(pictures/([\w-]+\.\w+)\)", (DOCS / "gallery.md").read_text("utf-8")))
    assert shown == set(pictures) - {DRAWN_BY_HAND}, "make pictures, then show all of them in docs/gallery.md"


def test_pictures_of_the_platform_are_small_and_all_of_them_are_shown() -> None:
    pictures = {path.name: path.stat().st_size for path in (DOCS / "platform" / "pictures").iterdir()}
    assert all(size < LARGEST for size in pictures.values())
    pages = "".join(page.read_text("utf-8") for page in (DOCS / "platform").glob("*.md"))
    assert set(re.findall(r"!\[[^]]+\]\(pictures/([\w-]+\.png)\)", pages)) == set(pictures)


def test_the_readme_opens_with_a_picture_of_the_report() -> None:
    lines = [line for line in (ROOT / "README.md").read_text("utf-8").splitlines() if line]
    assert "(docs/pictures/report.png)" in lines[1]
