"""The suites room: published benchmarks, one TOML file each."""

from __future__ import annotations

from dstress.runs.suites.base import Across, Average, Column, Suite, load, names

__all__ = ["Across", "Average", "Column", "Suite", "load", "names"]
