"""`make pictures`: the pictures of the documentation, made by the code that they show.

The demo runs; its plots are drawn as `dstress report --plots` draws them, and a browser takes pictures of its report,
of a server that people use, and of the viewer.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dstress.reports.charts import draw_svg
from dstress.reports.html import REPORT
from dstress.reports.plots import make_plots
from dstress.runs.folder import RunFolder
from dstress.storage.atomic import replacing
from website.pages import ROOT

FOLDER = ROOT / "docs" / "pictures"
PLATFORM = ROOT / "docs" / "platform" / "pictures"
DRAWN_BY_HAND = "mark.svg"


class View(NamedTuple):
    """A picture of the report: the fragment of its address, and the screen."""

    fragment: str = ""
    width: int = 1200
    height: int = 1100
    scheme: str = "light"


VIEWS = {
    "report": View(height=1000),
    "report-dark": View(height=800, scheme="dark"),
    "report-phone": View(width=390, height=844),
    "explorer": View("#explore?stressor=typos", height=800),
}


def draw_plots(run: Path) -> dict[str, bytes]:
    """Every plot of a run, by its file's name."""
    plots = make_plots(RunFolder.open(run).scores)
    return {f"{name}.svg": draw_svg(plot).encode() for name, plot in plots.items()}


def take_views(browser: Any, run: Path) -> Iterator[tuple[str, bytes]]:
    """A picture of each view of a run's report, with its file's name."""
    for name, view in VIEWS.items():
        screen = {"width": view.width, "height": view.height}
        with browser.new_context(viewport=screen, color_scheme=view.scheme, reduced_motion="reduce") as context:
            page = context.new_page()
            page.goto((run / REPORT).resolve().as_uri() + view.fragment)
            if view.fragment:
                page.wait_for_selector("#example header")
                page.locator("#explore").evaluate("section => section.scrollIntoView({behavior: 'instant'})")
            yield f"{name}.png", page.screenshot()


def take_stressed(browser: Any, place: Path) -> Iterator[tuple[str, bytes]]:
    """A picture of a stressed corpus without a run."""
    page = place / "before-after.html"
    call = [sys.executable, "-m", "dstress", "stress", "reminder:test", "--with", "entities,typos", "--html"]
    subprocess.run([*call, page], check=True, stdout=subprocess.DEVNULL)
    with browser.new_context(viewport={"width": 1200, "height": 760}, reduced_motion="reduce") as context:
        tab = context.new_page()
        tab.goto(f"{page.as_uri()}#explore?stressor=entities")
        tab.wait_for_selector("#example header")
        tab.locator("#explore").evaluate("section => section.scrollIntoView({behavior: 'instant'})")
        yield "before-after.png", tab.screenshot()


def save_pictures(folder: Path, pictures: Mapping[str, bytes]) -> None:
    """Keep these pictures in a folder, and no older ones."""
    for old in folder.iterdir():
        if old.name not in {*pictures, DRAWN_BY_HAND}:
            old.unlink()
    for name, picture in pictures.items():
        with replacing(folder / name) as out:
            out.write(picture)
        print(f"{name}: {len(picture) // 1000} kB")


if __name__ == "__main__":
    from playwright.sync_api import sync_playwright

    from website.platform_pictures import take_platform, take_playground, take_viewer

    with tempfile.TemporaryDirectory() as place, sync_playwright() as started:
        run = Path(place, "demo")
        subprocess.run([sys.executable, "-m", "dstress", "demo", "--out", run], check=True, stdout=subprocess.DEVNULL)
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        views = dict(take_views(browser, run)) | dict(take_stressed(browser, Path(place)))
        save_pictures(FOLDER, draw_plots(run) | views)
        pictures = dict(take_platform(browser, Path(place))) | dict(take_viewer(browser, Path(place)))
        save_pictures(PLATFORM, pictures | dict(take_playground(browser)))
        browser.close()
