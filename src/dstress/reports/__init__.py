"""The reports room: what was scored, in the forms that people read."""

from __future__ import annotations

from dstress.reports.tables import Table, latex, markdown

__all__ = ["Table", "latex", "markdown"]
