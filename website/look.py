"""`python -m website.look FOLDER [PATTERN]`: a picture of every page of the built site, light, dark and on a phone.

To be looked through by a person after a change of style. A page that fetches anything from outside, or that is wider
than the screen, is named.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from website.pages import ROOT

SITE = ROOT / "build" / "website" / "site"
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}


def look(browser: Any, site: Path, pattern: str = "*", out: Path | None = None) -> Iterator[str]:
    """Open every page in every look; yields what is wrong with one."""
    for name, options in LOOKS.items():
        with browser.new_context(**options) as context:
            page = context.new_page()
            for path in (path for path in sorted(site.rglob("*.html")) if path.match(pattern)):
                shown = path.relative_to(site)
                yield from (f"{shown}, {name}: {problem}" for problem in _open(page, path))
                if out:
                    page.screenshot(path=out / f"{'-'.join(shown.with_suffix('').parts)}-{name}.png")


def _open(page: Any, path: Path) -> list[str]:
    """Open a page; what it fetches from outside, what its scripts complain about, whether it is too wide."""
    problems: list[str] = []

    def note(request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            problems.append(f"fetches {request.url}")

    def complain(error: Any) -> None:
        problems.append(str(error))

    page.on("request", note)
    page.on("pageerror", complain)
    page.goto(path.as_uri())
    if (wide := page.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
        problems.append(f"{wide} pixels too wide")
    page.remove_listener("request", note)
    page.remove_listener("pageerror", complain)
    return problems


if __name__ == "__main__":
    from playwright.sync_api import sync_playwright

    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for problem in look(browser, SITE, sys.argv[2] if sys.argv[2:] else "*", out):
            print(problem)
        browser.close()
