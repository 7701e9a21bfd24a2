"""The site's pages, gathered into one folder: docs/, what it links to outside, and what the code says about itself.

Pages link to files of the repository (`../CONTRIBUTING.md`, `../results/`), and a repository's browser follows. The
site takes the files that are linked to along, under `repository/`: Markdown as pages, sources as pages that show them,
tables as tables, notebooks as what they say, folders as lists. Links are turned to where their targets are on the site.
"""

from __future__ import annotations

import csv
import posixpath
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from website.notebooks import read_notebook
from website.reference import reference_pages

ROOT = Path(__file__).resolve().parents[1]
DOCS, TAKEN = "docs", "repository"
_ALWAYS = ("CONTRIBUTING.md", "CHANGELOG.md")
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
_LABELLED_FENCE = re.compile(r"^(`{3,}\w+) (\S.*)$", re.MULTILINE)
_LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml", ".json": "json", ".jsonl": "json"}
_LONGEST = 30_000


def gather_pages(folder: Path) -> list[str]:
    """Write every page into an empty folder, with the pictures; their paths there."""
    shutil.copytree(ROOT / DOCS, folder, ignore=lambda _, names: [name for name in names if name.endswith(".md")])
    shutil.copy(ROOT / "website" / "site.css", folder)
    texts = {f"reference/{name}.md": text for name, text in reference_pages().items()}
    waiting = [*_ALWAYS, *(path.relative_to(ROOT).as_posix() for path in (ROOT / DOCS).rglob("*.md"))]
    while waiting:
        source = waiting.pop()
        if (page := _page_of(source)) not in texts:
            text = _read(ROOT / source)
            texts[page] = _turn_links(text, source, page)
            waiting += [target for target in _targets(text, source) if not target.startswith(f"{DOCS}/")]
    for page, text in texts.items():
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text(text, encoding="utf-8")
    return sorted(texts)


def _page_of(source: str) -> str:
    """Where the site has a file or a folder of the repository."""
    if source.startswith(f"{DOCS}/"):
        return source.removeprefix(f"{DOCS}/")
    if (ROOT / source).is_dir():
        return f"{TAKEN}/{source}/README.md"
    return f"{TAKEN}/{source}" if source.endswith(".md") else f"{TAKEN}/{source}.md"


def _target(source: str, link: str) -> str:
    """What a link of a file means in the repository; empty where there is no such thing."""
    base = source if (ROOT / source).is_dir() else posixpath.dirname(source)
    path = posixpath.normpath(posixpath.join(base, link))
    if not path.startswith(f"{DOCS}/"):
        path = path.removesuffix("/README.md")  # a folder's page has it, and lists the files beside it
    return path if (ROOT / path).exists() and not path.startswith("..") else ""


def _targets(text: str, source: str) -> Iterator[str]:
    return (target for link in _LINK.findall(text) if (target := _target(source, link)))


def _turn_links(text: str, source: str, page: str) -> str:
    def turned(match: re.Match[str]) -> str:
        target = _target(source, match[1])
        return posixpath.relpath(_page_of(target), posixpath.dirname(page) or ".") if target else match[1]

    return _LINK.sub(turned, text)


def _read(path: Path) -> str:
    """A file or a folder as Markdown."""
    if path.is_dir():
        return _list(path)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return _LABELLED_FENCE.sub(r'\1 title="\2"', text)  # the generator takes no other words after a language
    if path.suffix == ".ipynb":
        return read_notebook(text)
    if path.suffix == ".csv":
        return f"# {_as_text(path.relative_to(ROOT))}\n\n{_tabulate(text)}"
    part = text if len(text) <= _LONGEST else text[:_LONGEST].rpartition("\n")[0] + "\n..."
    return f"# {_as_text(path.relative_to(ROOT))}\n\n````{_LANGUAGES.get(path.suffix, 'text')}\n{part.rstrip()}\n````\n"


def _tabulate(text: str) -> str:
    head, *rows = ([cell.replace("|", r"\|") for cell in row] for row in csv.reader(text.splitlines()))
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def _list(folder: Path) -> str:
    """A folder: its README, and every file in it."""
    readme = folder / "README.md"
    head = readme.read_text(encoding="utf-8") if readme.exists() else f"# {folder.relative_to(ROOT).as_posix()}/\n"
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    names = [path.relative_to(folder).as_posix() for path in paths if path != readme]
    return f"{head}\n" + "".join(f"- [{_as_text(name)}]({name})\n" for name in names)


def _as_text(path: str | Path) -> str:
    """A path whose underscores are not marks."""
    return Path(path).as_posix().replace("_", r"\_")
