"""The site is built without a warning; every link and anchor leads somewhere; nothing is fetched from outside."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

from tests.parts import need
from website.navigation import UnplacedPagesError, navigate

LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
LOOKED_AT = ("index.html", "gallery.html", "papers.html", "tutorial.html", "suites.html")


class Page(HTMLParser):
    """What a page is linked by, links to, and loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.anchors |= {known.get("id", ""), known.get("name", "")}
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        if target := known.get(LOADED.get(tag, ""), ""):
            self.loaded.append(target)


read = cache(Page)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("zensical", "mkdocstrings")
    from website.__main__ import build

    return build(tmp_path_factory.mktemp("website") / "build")


def test_every_link_leads_somewhere(site: Path) -> None:
    lost = []
    for path in site.rglob("*.html"):
        if path.name == "404.html":
            continue  # shown under any address, so its links start at the site's root
        for link in (*read(path).links, *read(path).loaded):
            target, anchor = urldefrag(unquote(link))
            if target.startswith(("http:", "https:", "data:", "javascript:", "mailto:")):
                continue
            found = (path.parent / target).resolve() if target else path
            if found.is_dir():
                found /= "index.html"
            is_there = found.is_file() and (found.suffix != ".html" or anchor in read(found).anchors)
            lost += [] if is_there else [f"{path.relative_to(site)}: {link}"]
    assert lost == []


def test_nothing_is_loaded_from_outside(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 150
    assert {url for page in pages for url in read(page).loaded if url.startswith(("http:", "https:", "//"))} == set()


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_opens_offline_and_fits_the_screen(site: Path, name: str, chromium: Any) -> None:
    from website.look import look

    assert list(look(chromium, site, name)) == []


def test_the_code_is_on_the_site(site: Path) -> None:
    package = read(site / "reference" / "python.html")
    assert {"dstress.load", "dstress.evaluate", "dstress.Tracker"} <= package.anchors
    assert "dstress-run" in read(site / "reference" / "command-line.html").anchors
    assert "dstress.stressors.base.Rewriter" in read(site / "reference" / "stressors.html").anchors


def test_marks_and_brackets_are_read_and_not_shown(site: Path) -> None:
    shown = {page.relative_to(site).as_posix(): page.read_text("utf-8") for page in site.rglob("*.html")}
    assert [name for name, page in shown.items() if "<p>```" in page] == []
    assert "speech(snr=30)" in shown["stressors/speech.html"]
    assert "&lt;sos_b&gt;" in shown["reference/components.html"]
    assert "__init__.py" in shown["repository/examples/index.html"]


def test_a_new_page_comes_in_by_itself() -> None:
    sections = {"Home": ["README.md"], "Guides": ["runs.md", "*"], "Metrics": ["metrics/*"]}
    pages = ["README.md", "explain.md", "metrics/bias.md", "metrics/laws.md", "runs.md"]
    assert navigate(pages, sections) == [
        {"Home": "README.md"},
        {"Guides": ["runs.md", "explain.md"]},
        {"Metrics": ["metrics/bias.md", "metrics/laws.md"]},
    ]


def test_a_section_has_its_readme_first_and_parts_of_its_own() -> None:
    sections = {"Stressors": ["s/README.md", "s/*"], "Stressors/Sheets": ["s/*-sheet.md"]}
    pages = ["s/README.md", "s/typos-sheet.md", "s/typos.md"]
    expected = ["s/README.md", "s/typos.md", {"Sheets": ["s/typos-sheet.md"]}]
    assert navigate(pages, sections) == [{"Stressors": expected}]


def test_a_page_that_no_section_takes_is_named() -> None:
    with pytest.raises(UnplacedPagesError, match=r"takes attic/box\.md"):
        navigate(["README.md", "attic/box.md"], {"Home": ["README.md"], "Guides": ["*"]})
