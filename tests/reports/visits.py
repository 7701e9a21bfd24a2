"""A page in a real browser, from a disk: what it complained about and what it asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class Visit:
    """A page that was opened, and what it complained about or asked for."""

    def __init__(self, browser: Any, page: Path, **how: Any) -> None:
        self.tab = browser.new_context(**how).new_page()
        self.complaints: list[str] = []
        self.address = page.as_uri()
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", self._note)

    def _note(self, request: Any) -> None:
        if request.url.split("#")[0] != self.address and not request.url.startswith(("data:", "blob:")):
            self.complaints.append(request.url)

    def open(self, fragment: str = "#explore?") -> Any:
        self.tab.goto(self.address + fragment)
        if fragment.startswith("#explore"):
            self.tab.wait_for_selector("#example header")
        return self.tab


def chosen(tab: Any) -> int:
    """How many examples the explorer's filters leave."""
    return int(tab.inner_text("#status").split()[0].replace(",", ""))


def until(tab: Any, holds: Callable[[str], bool]) -> None:
    """Wait for the status line; the page's policy lets no condition be evaluated inside."""
    for _ in range(100):
        if holds(tab.inner_text("#status")):
            return
        tab.wait_for_timeout(50)
    pytest.fail(f"still: {tab.inner_text('#status')}")
