"""How long Chromium takes to open a report with many marks, beside one with few, in the same run."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.timing import report
from dstress.corpora import load
from dstress.pipeline.evaluate import evaluate
from dstress.runs.suites.base import Suite


def run() -> None:
    program = shutil.which("chromium")
    if program is None:
        print("left out: needs chromium")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        times = []
        for stressors in (12, 1):
            specs = tuple(f"typos(rate={rate / 100})" for rate in range(4, 4 + stressors))
            where = Path(folder, str(stressors))
            evaluate(Suite("opening", stressors=specs), "rules", load("reminder:test", limit=40), where, resamples=20)
            times.append(min(_open(browser, where / "report.html") for _ in range(5)))
        browser.close()
    report("a report with 12 stressors", times[0], "with one", times[1], at_most=6)


def _open(browser: Any, page: Path) -> float:
    tab = browser.new_page()
    tab.goto(page.as_uri())
    milliseconds = tab.evaluate("performance.getEntriesByType('navigation')[0].domComplete")
    tab.close()
    return float(milliseconds) / 1000
