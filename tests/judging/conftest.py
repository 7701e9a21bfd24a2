"""The judging page needs the browser that the report's tests use."""

from __future__ import annotations

from tests.reports.conftest import chromium

__all__ = ["chromium"]
